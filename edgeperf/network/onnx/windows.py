"""ONNX operators that slide a window over channels-first images → convolutions and poolings of the kind table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.convolution import slide
from edgeperf.network.onnx.values import Emission, Op, Value, recorded
from edgeperf.records import Shape

Pairs = tuple[tuple[int, int], ...]


def _spatial(op: Op) -> Shape:
    shape = op.data.shape
    if not 3 <= len(shape) <= 5:
        raise InvalidInput(f"its input has shape {shape}, expected a batch, channels and 1 to 3 spatial sizes")
    return shape[2:]


def _per_axis(op: Op, name: str, default: int) -> Shape:
    """An attribute with one value per spatial dimension."""
    rank = len(_spatial(op))
    value = op.attribute(name, (default,) * rank)
    if (
        not isinstance(value, tuple)
        or len(value) != rank
        or not all(isinstance(item, int) and item > 0 for item in value)
    ):
        raise InvalidInput(f"{name} is {value!r}, expected {rank} positive integers")
    return value


def _padding(op: Op, kernel: Shape, strides: Shape, dilation: Shape) -> Pairs:
    """Elements added (before, after) every spatial dimension."""
    rule = op.attribute("auto_pad", "NOTSET")
    if rule in ("SAME_UPPER", "SAME_LOWER"):
        pairs = [slide(*each, "same")[1] for each in zip(_spatial(op), kernel, strides, dilation, strict=True)]
        return tuple(pair[::-1] if rule == "SAME_LOWER" else pair for pair in pairs)
    rank = len(kernel)
    pads = op.attribute("pads", (0,) * 2 * rank)
    if not isinstance(pads, tuple) or len(pads) != 2 * rank:
        raise InvalidInput(f"pads is {pads!r}, expected {2 * rank} integers")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def _image(op: Op, kind: str, config: dict[str, Any], weight: str | None = None) -> Emission:
    """One layer on the channels-first image; its output shape is what the kind's rule tells."""
    return Emission(kind, config, ((op.data, recorded(op.data.shape, True)),), (), True, weight)


def _weights(op: Op, at: int = 1) -> tuple[Shape, str]:
    """Shape and name of the kernel."""
    edge = op.inputs[at] if at < len(op.inputs) else None
    if edge is None:
        raise InvalidInput("its weights are missing")
    if isinstance(edge, Value):
        raise InvalidInput("its weights are computed from the data")
    return edge.shape, op.node.inputs[at]


def _conv(op: Op) -> Emission:
    shape, name = _weights(op)
    rank, channels, groups = len(_spatial(op)), op.data.shape[1], op.attribute("group", 1)
    kernel = shape[2:]
    if len(kernel) != rank or not isinstance(groups, int) or groups < 1 or shape[1] * groups != channels:
        raise InvalidInput(f"a kernel of shape {shape} in {groups} groups does not fit an input of {op.data.shape}")
    strides, dilation = _per_axis(op, "strides", 1), _per_axis(op, "dilations", 1)
    config = {
        "kernel_size": kernel,
        "strides": strides,
        "dilation_rate": dilation,
        "padding": _padding(op, kernel, strides, dilation),
        "use_bias": len(op.inputs) > 2 and op.inputs[2] is not None,
    }
    if groups == channels > 1 and rank < 3:
        return _image(op, f"DepthwiseConv{rank}D", {**config, "depth_multiplier": shape[0] // channels}, name)
    return _image(op, f"Conv{rank}D", {**config, "filters": shape[0], "groups": groups}, name)


def _conv_transpose(op: Op) -> Emission:
    shape, name = _weights(op)
    rank, groups = len(_spatial(op)), op.attribute("group", 1)
    kernel, strides, dilation = shape[2:], _per_axis(op, "strides", 1), _per_axis(op, "dilations", 1)
    if len(kernel) != rank or not isinstance(groups, int) or groups < 1 or shape[0] != op.data.shape[1]:
        raise InvalidInput(f"a kernel of shape {shape} does not fit an input of {op.data.shape}")
    extra = op.attribute("output_padding", (0,) * rank)
    stated = op.attribute("output_shape")
    if stated is not None or op.attribute("auto_pad", "NOTSET").startswith("SAME"):
        wanted = stated or tuple(size * stride for size, stride in zip(_spatial(op), strides, strict=True))
        padding = _padding_for(op, wanted, kernel, strides, dilation, extra)
    else:
        padding = _padding(op, kernel, strides, dilation)
    config = {
        "filters": shape[1] * groups,
        "kernel_size": kernel,
        "strides": strides,
        "dilation_rate": dilation,
        "padding": padding,
        "output_padding": extra,
        "groups": groups,
        "use_bias": len(op.inputs) > 2 and op.inputs[2] is not None,
    }
    return _image(op, f"Conv{rank}DTranspose", config, name)


def _padding_for(op: Op, wanted: Shape, kernel: Shape, strides: Shape, dilation: Shape, extra: Shape) -> Pairs:
    """The padding with which a transposed convolution has the `wanted` size."""
    each = zip(_spatial(op), wanted[-len(kernel) :], kernel, strides, dilation, extra, strict=True)
    totals = [(size - 1) * stride + (k - 1) * d + 1 + more - goal for size, goal, k, stride, d, more in each]
    return tuple((total // 2, total - total // 2) for total in totals)


def _pool(function: str) -> Callable[[Op], Emission]:
    def emitted(op: Op) -> Emission:
        kernel, strides = _per_axis(op, "kernel_shape", 1), _per_axis(op, "strides", 1)
        dilation = _per_axis(op, "dilations", 1)
        padding = _padding(op, kernel, strides, dilation)
        if op.attribute("ceil_mode", 0):
            padding = tuple(map(_ceiled, _spatial(op), kernel, strides, dilation, padding))
        config = {"pool_size": kernel, "strides": strides, "padding": padding, "dilation_rate": dilation}
        return _image(op, f"{function}Pooling{len(kernel)}D", config)

    return emitted


def _ceiled(size: int, kernel: int, stride: int, dilation: int, pair: tuple[int, int]) -> tuple[int, int]:
    """Padding such that a last, incomplete window counts, unless it would start beyond the input and its padding.

    Reference: PyTorch, ``pooling_output_shape_pad_lr``; ONNX Runtime does the same at every opset.
    """
    before, after = pair
    room = size + before + after - (kernel - 1) * dilation - 1
    missing = -room % stride
    last_start = (room + missing) // stride * stride
    return (before, after + missing) if last_start < size + before else pair


def _global_pool(function: str) -> Callable[[Op], Emission]:
    return lambda op: _image(op, f"Global{function}Pooling{len(_spatial(op))}D", {"keepdims": True})


def _batch_norm(op: Op) -> Emission:
    wide = len(op.data.shape) > 2
    view = recorded(op.data.shape, wide)
    return Emission("BatchNormalization", {}, ((op.data, view),), (op.data.shape,), wide, op.node.inputs[1])


def _instance_norm(op: Op) -> Emission:
    return _image(op, "GroupNormalization", {"groups": op.data.shape[1]}, op.node.inputs[1])


def _group_norm(op: Op) -> Emission:
    return _image(op, "GroupNormalization", {"groups": op.attribute("num_groups", 1)}, op.node.inputs[1])


def _local_response(op: Op) -> Emission:
    return _image(op, "LocalResponseNormalization", {"size": op.attribute("size", 5)})


def _prelu(op: Op) -> Emission:
    slope = op.constant(1)
    if slope is None:
        raise InvalidInput("its slopes are computed from the data")
    view = recorded(op.data.shape, True)
    shared = tuple(range(1, len(view))) if sum(size > 1 for size in slope.shape) else tuple(range(1, len(view) + 1))
    return Emission("PReLU", {"shared_axes": shared}, ((op.data, view),), (op.data.shape,), True, op.node.inputs[1])


def _block(kind: str) -> Callable[[Op], Emission]:
    return lambda op: _image(op, kind, {"block_size": op.attribute("blocksize", 1)})


def _resize(op: Op) -> Emission:
    shape = op.data.shape
    target = _resized(op)
    spatial = target[2:]
    modes = {"nearest": "nearest", "linear": "bilinear", "bilinear": "bilinear", "cubic": "bicubic"}
    config: dict[str, Any] = {"interpolation": modes.get(op.attribute("mode", "nearest"), "bilinear")}
    if len(shape) == 4 and target[:2] == shape[:2]:
        return _image(op, "Resizing", {**config, "height": spatial[0], "width": spatial[1]})
    factors = tuple(new // old for new, old in zip(spatial, shape[2:], strict=True))
    if len(shape) in (3, 5) and all(
        new == old * factor for new, old, factor in zip(spatial, shape[2:], factors, strict=True)
    ):
        return _image(op, f"UpSampling{len(spatial)}D", {**config, "size": factors})
    raise InvalidInput(f"it resizes {shape} to {target}, which is no image resize")


def _resized(op: Op) -> Shape:
    """Output sizes from the sizes or the scales that the operator is given."""
    shape = op.data.shape
    old = op.node.operator == "Upsample" or len(op.inputs) == 2
    scales, sizes = (op.numbers(1, "scales"), None) if old else (op.numbers(2), op.numbers(3))
    axes = op.attribute("axes") or tuple(range(len(shape)))
    target = list(shape)
    for axis, value in zip(axes, sizes or scales or (), strict=True):
        target[axis] = int(value) if sizes else int(shape[axis] * value + 1e-6)
    return tuple(target)


WINDOWS: Final[Mapping[str, Callable[[Op], Emission]]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _pool("Max"),
    "AveragePool": _pool("Average"),
    "GlobalAveragePool": _global_pool("Average"),
    "GlobalMaxPool": _global_pool("Max"),
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "LRN": _local_response,
    "PRelu": _prelu,
    "DepthToSpace": _block("DepthToSpace"),
    "SpaceToDepth": _block("SpaceToDepth"),
    "Resize": _resize,
    "Upsample": _resize,
}
"""Operators whose input is an image with its channels behind the batch."""
