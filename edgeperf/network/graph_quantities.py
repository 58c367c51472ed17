"""A `Network` → sums over its layers of what a GPU spends time on: work, traffic, tiles and launches by class of layer.

Every quantity is additive: a network's value is the sum over its layers, so that a non-negative combination of them is
a cost in which each layer pays its own share. Classes follow the kernels that GPU libraries have for them, and the
quantities what is known to bound those kernels:

* `count`, `macs`, bytes read, written and of weights;
* `roof<r>`: max(MACs, r x bytes), the roofline at r multiply-accumulates per byte;
* `tile<m>x<n>`: MACs when a matrix product is cut into whole tiles of m pixels x n filters;
* `wave<s>_<t>`: the same when tiles of t x t also fill whole waves of s multiprocessors;
* `depth`: length of the sums, which no parallelism shortens.

Tensors are FP32. A fused bias or activation counts as the element-wise pass that it is in a frozen graph.

Reference:
    Williams, Waterman, Patterson: "Roofline", CACM 52(4), 2009, for `roof`. NVIDIA, "Matrix Multiplication Background
    User's Guide", sections on tile and wave quantization, for `tile` and `wave`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from edgeperf.records import Layer, Network, Shape

BYTES_PER_ELEMENT: Final = 4

MATRIX_CLASSES: Final = ("first", "pointwise", "conv3", "conv3_strided", "conv_small", "conv_large")
"""Convolutions that run as matrix products: with up to 4 input channels; 1x1; 3x3; 3x3 with stride; others by size."""
DEPTHWISE_CLASSES: Final = ("depthwise", "depthwise_strided")
DENSE_CLASS: Final = "dense"
CONV_CLASSES: Final = (*MATRIX_CLASSES, *DEPTHWISE_CLASSES, DENSE_CLASS)
PASS_CLASSES: Final = (
    "batch_norm", "relu", "smooth", "add", "multiply", "concat", "pad", "slice", "shuffle", "pool", "global_pool",
    "softmax", "bias", "other",
)  # fmt: skip
"""Layers that read and write tensors once; `smooth` are activations with an exponential."""

ROOFS: Final = (2, 5, 12, 30)
TILES: Final = ((32, 32), (64, 64), (128, 64), (128, 128))
WAVES: Final = tuple((processors, tile) for processors in (1, 2, 8) for tile in (64, 128))
LARGE_KERNEL: Final = 3
FEW_CHANNELS: Final = 4
SMALL_PASS_BYTES: Final = 100_000
"""A pass over less than this takes as long as one over this."""

_TRAFFIC = ("count", "macs", "bytes_in", "bytes_out", "bytes_weights", *(f"roof{ratio}" for ratio in ROOFS))
_MATRIX = (
    *(f"tile{rows}x{columns}" for rows, columns in TILES),
    *(f"wave{processors}_{tile}" for processors, tile in WAVES),
    "depth",
)
_DEPTHWISE = ("elements_in_large", "macs_large")
_PASS = ("count", "bytes", "bytes_floored")


def quantities_of(name: str) -> tuple[str, ...]:
    """What is summed for a class of layers, e.g. ``("count", "bytes", "bytes_floored")`` for ``"relu"``."""
    if name in MATRIX_CLASSES:
        return (*_TRAFFIC, *_MATRIX)
    if name in DEPTHWISE_CLASSES:
        return (*_TRAFFIC, *_DEPTHWISE)
    return _TRAFFIC if name == DENSE_CLASS else _PASS


QUANTITY_NAMES: Final[tuple[str, ...]] = (
    *(f"{name}_{quantity}" for name in (*CONV_CLASSES, *PASS_CLASSES) for quantity in quantities_of(name)),
    "bytes_input",
    "calls",
)
"""Names of all quantities, in the order of `graph_quantities`."""

_PLACE: Final = {name: place for place, name in enumerate(QUANTITY_NAMES)}

_PASS_OF_KIND: Final = {
    "BatchNormalization": "batch_norm", "LayerNormalization": "batch_norm", "GroupNormalization": "batch_norm",
    "UnitNormalization": "batch_norm", "RMSNormalization": "batch_norm", "Normalization": "add",
    "ReLU": "relu", "LeakyReLU": "relu", "PReLU": "relu", "ELU": "smooth", "Softmax": "softmax",
    "Add": "add", "ScaledAdd": "add", "Subtract": "add", "Average": "add", "Maximum": "add", "Minimum": "add",
    "Multiply": "multiply", "Scale": "multiply", "Rescaling": "multiply", "Concatenate": "concat",
    "SliceChannels": "slice", "ChannelShuffle": "shuffle", "Permute": "shuffle",
}  # fmt: skip
_PASS_OF_PREFIX: Final = (
    ("ZeroPadding", "pad"),
    ("Cropping", "slice"),
    ("CenterCrop", "slice"),
    ("Global", "global_pool"),
    ("MaxPooling", "pool"),
    ("AveragePooling", "pool"),
    ("Adaptive", "pool"),
    ("UpSampling", "pad"),
    ("Resizing", "pad"),
)
_PASS_OF_ACTIVATION: Final = {"relu": "relu", "relu6": "relu", "leaky_relu": "relu", "softmax": "softmax"}
_FREE: Final = "other"

Term = tuple[int, float]
"""(place in `QUANTITY_NAMES`, value)."""


def graph_quantities(network: Network) -> tuple[float, ...]:
    """Sums over all layers in the order of `QUANTITY_NAMES`: counts, multiply-accumulates, bytes, at batch size 1."""
    sums = [0.0] * len(QUANTITY_NAMES)
    for layer in network.layers:
        for place, value in _terms(
            layer.kind, layer.input_shapes, layer.output_shape, layer.kernel_size, layer.strides, layer.groups,
            layer.depth_multiplier, layer.macs, layer.use_bias, layer.activation,
        ):  # fmt: skip
            sums[place] += value
    return tuple(sums)


def layer_quantities(layer: Layer) -> dict[str, float]:
    """What one layer adds to the network's quantities; quantities to which it adds nothing are left out."""
    alone = Network(name=layer.name, inputs=(), outputs=(layer.name,), layers=(layer,))
    return {name: value for name, value in zip(QUANTITY_NAMES, graph_quantities(alone), strict=True) if value}


@lru_cache(maxsize=65536)
def _terms(
    kind: str,
    inputs: tuple[Shape, ...],
    output: Shape,
    kernel: Shape,
    strides: Shape,
    groups: int,
    depth_multiplier: int,
    macs: int,
    use_bias: bool,
    activation: str,
) -> tuple[Term, ...]:
    terms = [(_PLACE["calls"], 1.0)]
    if not inputs:
        terms.append((_PLACE["bytes_input"], float(_bytes(output))))
        return tuple(terms)
    source = inputs[0]
    if kind.startswith("SeparableConv"):
        between = (*output[:-1], source[-1] * depth_multiplier)
        terms += _convolution(_depthwise_class(strides), source, between, kernel, 1)
        terms += _convolution("pointwise", between, output, (1,) * len(kernel), between[-1])
    elif kind.startswith("DepthwiseConv"):
        terms += _convolution(_depthwise_class(strides), source, output, kernel, 1)
    elif "Transpose" in kind:
        # One product of the input's pixels with every position of the window; the sums overlap afterwards.
        spread = (*source[:-1], output[-1] * math.prod(kernel))
        terms += _convolution(_matrix_class(source[-1], (1,), (1,)), source, spread, (1,) * len(kernel), source[-1])
    elif kernel and macs:
        terms += _convolution(_matrix_class(source[-1], kernel, strides), source, output, kernel, source[-1] // groups)
    elif macs:
        terms += _dense(source, output, macs)
    else:
        terms += _pass(_pass_class(kind, activation), sum(map(_bytes, inputs)) + _bytes(output))
        return tuple(terms)
    if use_bias:
        terms += _pass("bias", 2 * _bytes(output))
    if activation != "linear":
        terms += _pass(_PASS_OF_ACTIVATION.get(activation, "smooth"), 2 * _bytes(output))
    return tuple(terms)


def _convolution(name: str, source: Shape, output: Shape, kernel: Shape, depth: int) -> Iterator[Term]:
    """Terms of a convolution in which every output sums over `depth` channels of the window."""
    pixels, filters, terms_per_sum = math.prod(output[:-1]), output[-1], math.prod(kernel) * depth
    macs = pixels * filters * terms_per_sum
    yield from _traffic(name, macs, _bytes(source), _bytes(output), filters * terms_per_sum * BYTES_PER_ELEMENT)
    if name in DEPTHWISE_CLASSES:
        if max(kernel) > LARGE_KERNEL:
            yield _PLACE[f"{name}_elements_in_large"], float(math.prod(source))
            yield _PLACE[f"{name}_macs_large"], float(macs)
        return
    for rows, columns in TILES:
        whole = -(-pixels // rows) * rows * -(-filters // columns) * columns
        yield _PLACE[f"{name}_tile{rows}x{columns}"], float(whole * terms_per_sum)
    for processors, tile in WAVES:
        waves = -(-(-(-pixels // tile) * -(-filters // tile)) // processors)
        yield _PLACE[f"{name}_wave{processors}_{tile}"], float(waves * processors * tile * tile * terms_per_sum)
    yield _PLACE[f"{name}_depth"], float(terms_per_sum)


def _dense(source: Shape, output: Shape, macs: int) -> Iterator[Term]:
    vectors = math.prod(output[:-1])
    return _traffic(DENSE_CLASS, macs, _bytes(source), _bytes(output), macs // vectors * BYTES_PER_ELEMENT)


def _traffic(name: str, macs: int, read: int, written: int, weights: int) -> Iterator[Term]:
    moved = read + written + weights
    values = (1, macs, read, written, weights, *(max(macs, ratio * moved) for ratio in ROOFS))
    for quantity, value in zip(_TRAFFIC, values, strict=True):
        yield _PLACE[f"{name}_{quantity}"], float(value)


def _pass(name: str, moved: int) -> Iterator[Term]:
    """Terms of one pass over tensors; views such as Flatten and Reshape count without bytes."""
    moved = 0 if name == _FREE else moved
    for quantity, value in zip(_PASS, (1, moved, max(moved, SMALL_PASS_BYTES)), strict=True):
        yield _PLACE[f"{name}_{quantity}"], float(value)


def _matrix_class(channels: int, kernel: Shape, strides: Shape) -> str:
    if channels <= FEW_CHANNELS:
        return "first"
    if max(kernel) == 1:
        return "pointwise"
    if set(kernel) == {3}:
        return "conv3" if max(strides) == 1 else "conv3_strided"
    return "conv_small" if max(kernel) <= LARGE_KERNEL else "conv_large"


def _depthwise_class(strides: Shape) -> str:
    return "depthwise" if max(strides) == 1 else "depthwise_strided"


def _pass_class(kind: str, activation: str) -> str:
    if kind == "Activation":
        return _PASS_OF_ACTIVATION.get(activation, "smooth")
    if kind in _PASS_OF_KIND:
        return _PASS_OF_KIND[kind]
    return next((name for prefix, name in _PASS_OF_PREFIX if kind.startswith(prefix)), _FREE)


def _bytes(shape: Shape) -> int:
    return math.prod(shape) * BYTES_PER_ELEMENT
