"""An `Operation` → a network of that one layer, to be measured or checked.

The definition is written against a namespace of layers, like the families of `edgeperf.zoo`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import Operation
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network, Shape

Tensor = Any
_Build = Callable[[Any, Operation, list[Tensor]], Tensor]


def single_network(op: Operation) -> Network:
    """The network of that one operation; Keras is not imported.

    Raises:
        InvalidInput: operations of this kind cannot be built alone.
    """
    network: Network = single(LayerNamespace(), op)
    return network


def single(layers: Any, op: Operation) -> Any:
    """What `layers.Model` makes of that one operation.

    Raises:
        InvalidInput: operations of this kind cannot be built alone.
    """
    if op.kind not in _BUILDERS:
        raise InvalidInput(f"Cannot build {op.kind} alone. Kinds that can: {', '.join(_BUILDERS)}.")
    tensors = [layers.Input(shape) for shape in input_shapes(op)]
    output = _BUILDERS[op.kind](layers, op, tensors)
    return layers.Model(tensors if len(tensors) > 1 else tensors[0], output, name="single")


def input_shapes(op: Operation) -> tuple[Shape, ...]:
    """Shapes of the inputs without batch.

    An operation knows its first input and how much it reads in all. The other parts of a concatenation share its
    remaining channels evenly; another factor is as large as the output, or one number per channel.
    """
    first = _shape(op, op.in_height, op.in_width, op.in_channels)
    further = op.inputs - 1
    if not further:
        return (first,)
    if op.kind == "Concatenate":
        share, left = divmod(op.out_channels - op.in_channels, further)
        return (first, *((*first[:-1], share + (part < left)) for part in range(further)))
    elements = (op.input_elements // op.batch_size - math.prod(first)) // further
    whole = _shape(op, op.out_height, op.out_width, op.out_channels)
    narrow = (*(1 for _ in whole[:-1]), op.out_channels)
    if first != whole and math.prod(first) == op.out_channels:
        first = narrow
    return (first, *(narrow if elements == op.out_channels else whole for _ in range(further)))


def _shape(op: Operation, height: int, width: int, channels: int) -> Shape:
    if width > 1 or op.kernel_height:
        return height, width, channels
    return (height, channels) if height > 1 else (channels,)


def _padded(layers: Any, op: Operation, x: Tensor) -> tuple[Tensor, str]:
    """The input and the padding argument; padding that "same" does not give becomes a layer."""
    if not (op.pad_height or op.pad_width):
        return x, "valid"
    extent = op.dilation * (op.kernel_height - 1) + 1, op.dilation * (op.kernel_width - 1) + 1
    same = (
        max(0, (op.out_height - 1) * op.stride + extent[0] - op.in_height),
        max(0, (op.out_width - 1) * op.stride + extent[1] - op.in_width),
    )
    if (op.pad_height, op.pad_width) == same and op.out_height == -(-op.in_height // op.stride):
        return x, "same"
    rows, columns = op.pad_height // 2, op.pad_width // 2
    pads = ((rows, op.pad_height - rows), (columns, op.pad_width - columns))
    return layers.ZeroPadding2D(pads)(x), "valid"


def _conv(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    x, padding = _padded(layers, op, tensors[0])
    kernel = (op.kernel_height, op.kernel_width)
    bias = op.weights > op.kernel_height * op.kernel_width * op.in_channels // op.groups * op.out_channels
    settings = {"strides": op.stride, "padding": padding, "dilation_rate": op.dilation, "use_bias": bias}
    if op.kind == "DepthwiseConv2D":
        return layers.DepthwiseConv2D(kernel, depth_multiplier=op.out_channels // op.in_channels, **settings)(x)
    return layers.Conv2D(op.out_channels, kernel, groups=op.groups, **settings)(x)


def _pool(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    x, padding = _padded(layers, op, tensors[0])
    window = (op.kernel_height, op.kernel_width)
    return getattr(layers, op.kind)(window, strides=op.stride, padding=padding)(x)


def _dense(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    bias = op.weights > op.in_channels * op.out_channels
    return layers.Dense(op.out_channels, use_bias=bias)(tensors[0])


def _plain(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    return getattr(layers, op.kind)()(tensors[0])


def _batch_normalization(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    """Means and variances are always there; one more number per channel is an offset, two are a factor too."""
    numbers = op.weights // op.in_channels if op.weights else 4
    return layers.BatchNormalization(center=numbers > 2, scale=numbers > 3)(tensors[0])


def _merge(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    return getattr(layers, op.kind)()(tensors)


def _activation(layers: Any, op: Operation, tensors: list[Tensor]) -> Tensor:
    return layers.Activation(op.kind)(tensors[0])


_BUILDERS: dict[str, _Build] = {
    "Conv2D": _conv,
    "DepthwiseConv2D": _conv,
    "MaxPooling2D": _pool,
    "AveragePooling2D": _pool,
    "Dense": _dense,
    "BatchNormalization": _batch_normalization,
    **dict.fromkeys(("LayerNormalization", "GlobalAveragePooling2D", "GlobalMaxPooling2D", "Identity"), _plain),
    **dict.fromkeys(("Add", "Multiply", "Concatenate"), _merge),
    **dict.fromkeys(
        ("relu", "relu6", "swish", "gelu", "sigmoid", "tanh", "softmax", "hard_swish", "hard_sigmoid"), _activation
    ),
}
