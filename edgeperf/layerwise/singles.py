"""An `Operation` → a network of that one layer, to be measured or checked.

The definition is written against a namespace of layers, like the families of `edgeperf.zoo`.
"""

from __future__ import annotations

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
    """Shapes of the inputs without batch; a concatenation has equal parts."""
    channels = op.in_channels
    if op.in_width > 1 or op.kernel_height:
        shape: Shape = (op.in_height, op.in_width, channels)
    else:
        shape = (op.in_height, channels) if op.in_height > 1 else (channels,)
    return (shape,) * op.inputs


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
        return layers.DepthwiseConv2D(kernel, **settings)(x)
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
    **dict.fromkeys(("BatchNormalization", "LayerNormalization", "GlobalAveragePooling2D", "Identity"), _plain),
    **dict.fromkeys(("Add", "Multiply", "Concatenate"), _merge),
    **dict.fromkeys(("relu", "relu6", "swish", "gelu", "sigmoid", "tanh", "softmax", "hard_swish"), _activation),
}
