"""Convolutions: plain, grouped, dilated, depthwise, separable and transposed, in one to three dimensions."""

from __future__ import annotations

from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Padding, Shapes, Window, as_integer, elements
from edgeperf.records import Shape

Pad = str | tuple[int, int]
"""How one dimension is padded: by a rule's name, or (before, after)."""


def slide(size: int, kernel: int, stride: int, dilation: int, padding: Pad) -> tuple[int, tuple[int, int]]:
    """Outputs along one dimension, and the padding before and after it.

    Reference: TensorFlow's padding rule; an odd total puts the extra element after.

    >>> slide(224, 3, 2, 1, "same"), slide(224, 3, 2, 1, (1, 1))
    ((112, (0, 1)), (112, (1, 1)))
    """
    extent = (kernel - 1) * dilation + 1
    if not isinstance(padding, str):
        return (size + sum(padding) - extent) // stride + 1, padding
    if padding == "valid":
        return (size - extent) // stride + 1, (0, 0)
    outputs = -(-size // stride)
    if padding == "causal":
        return outputs, (extent - 1, 0)
    total = max((outputs - 1) * stride + extent - size, 0)
    return outputs, (total // 2, total - total // 2)


def paddings(call: Call, rank: int) -> tuple[Pad, ...]:
    """How every spatial dimension is padded: ``"valid"``, ``"same"``, ``"causal"``, or pairs as ONNX states them."""
    stated = call.config["padding"]
    if isinstance(stated, tuple) and len(stated) == rank:
        return tuple((as_integer(before, "padding"), as_integer(after, "padding")) for before, after in stated)
    if not isinstance(stated, str) or stated.lower() not in ("valid", "same", "causal"):
        raise InvalidInput(f"padding is {stated!r}, expected 'valid', 'same' or 'causal'")
    return (stated.lower(),) * rank


def slide_all(call: Call, kernel: Shape, strides: Shape, dilation: Shape) -> tuple[Shape, Padding]:
    """Output sizes and padding of every spatial dimension of the first input."""
    rank = len(kernel)
    pairs = [
        slide(*each) for each in zip(call.spatial(rank), kernel, strides, dilation, paddings(call, rank), strict=True)
    ]
    return tuple(size for size, _ in pairs), tuple(pad for _, pad in pairs)


def _window(rank: int) -> Any:
    def window(call: Call) -> Window:
        kernel, strides = call.integers("kernel_size", rank), call.integers("strides", rank)
        dilation = call.integers("dilation_rate", rank)
        return Window(
            kernel_size=kernel,
            strides=strides,
            dilation=dilation,
            padding=slide_all(call, kernel, strides, dilation)[1],
        )

    return window


def _kernel(call: Call) -> int:
    """Elements of one filter plane."""
    rank = len(call.input) - 1
    return elements(call.integers("kernel_size", rank))


def _spatial_sizes(call: Call, rank: int) -> Shape:
    kernel, strides = call.integers("kernel_size", rank), call.integers("strides", rank)
    return slide_all(call, kernel, strides, call.integers("dilation_rate", rank))[0]


def _output_pixels(call: Call) -> int:
    return elements(call.output) // (call.output[0] if call.channels_first else call.output[-1])


def _filters(call: Call) -> int:
    return call.integer("filters", least=1)


def _groups(call: Call) -> int:
    groups = call.integer("groups", least=1)
    if call.channels % groups or _filters(call) % groups:
        raise InvalidInput(f"{call.channels} channels and {_filters(call)} filters do not divide into {groups} groups")
    return groups


def _conv(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        call.spatial(rank)
        return (call.image(_spatial_sizes(call, rank), _filters(call)),)

    def weights(call: Call) -> int:
        return _kernel(call) * (call.channels // _groups(call)) * _filters(call)

    return Kind(
        parameters={"filters": REQUIRED, **_common(rank), "dilation_rate": 1, "groups": 1, **_TAIL},
        shape=shape,
        params=lambda call: weights(call) + call.flag("use_bias") * _filters(call),
        macs=lambda call: weights(call) * _output_pixels(call),
        window=_window(rank),
        filters=_filters,
        groups=_groups,
    )


def _multiplied(call: Call) -> int:
    return call.channels * call.integer("depth_multiplier", least=1)


def _depthwise(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        call.spatial(rank)
        return (call.image(_spatial_sizes(call, rank), _multiplied(call)),)

    common = _common(rank)
    data_format = common.pop("data_format")
    return Kind(
        parameters={**common, "depth_multiplier": 1, "data_format": data_format, "dilation_rate": 1, **_TAIL},
        shape=shape,
        params=lambda call: (_kernel(call) + call.flag("use_bias")) * _multiplied(call),
        macs=lambda call: _kernel(call) * elements(call.output),
        window=_window(rank),
        filters=_multiplied,
        groups=lambda call: call.channels,
    )


def _separable(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        call.spatial(rank)
        return (call.image(_spatial_sizes(call, rank), _filters(call)),)

    def params(call: Call) -> int:
        bias = call.flag("use_bias") * _filters(call)
        return _kernel(call) * _multiplied(call) + _multiplied(call) * _filters(call) + bias

    return Kind(
        parameters={"filters": REQUIRED, **_common(rank), "dilation_rate": 1, "depth_multiplier": 1, **_TAIL},
        shape=shape,
        params=params,
        macs=lambda call: _multiplied(call) * (_kernel(call) + _filters(call)) * _output_pixels(call),
        window=_window(rank),
        filters=_filters,
    )


def _transposed_size(size: int, kernel: int, stride: int, dilation: int, padding: Pad, extra: int | None) -> int:
    """Outputs of a transposed convolution along one dimension.

    Reference: Keras 3, ``keras.src.backend.common.backend_utils.compute_conv_transpose_output_shape``.
    """
    extent = (kernel - 1) * dilation + 1
    if not isinstance(padding, str):
        return (size - 1) * stride + extent - sum(padding) + (extra or 0)
    if extra is None:
        return size * stride + (max(extent - stride, 0) if padding == "valid" else 0)
    trimmed = 0 if padding == "valid" else 2 * (extent // 2)
    return (size - 1) * stride + extent - trimmed + extra


def _transposed(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        _groups(call)
        given = call.config["output_padding"]
        extra = (None,) * rank if given is None else call.integers("output_padding", rank, least=0)
        sizes = tuple(
            _transposed_size(*each)
            for each in zip(
                call.spatial(rank),
                call.integers("kernel_size", rank),
                call.integers("strides", rank),
                call.integers("dilation_rate", rank),
                paddings(call, rank),
                extra,
                strict=True,
            )
        )
        return (call.image(sizes, _filters(call)),)

    def window(call: Call) -> Window:
        return Window(
            kernel_size=call.integers("kernel_size", rank),
            strides=call.integers("strides", rank),
            dilation=call.integers("dilation_rate", rank),
        )

    common = _common(rank)
    data_format = common.pop("data_format")
    order = (
        {"data_format": data_format, "output_padding": None}
        if rank == 3
        else {"output_padding": None, "data_format": data_format}
    )
    return Kind(
        parameters={"filters": REQUIRED, **common, **order, "dilation_rate": 1, **_TAIL, "groups": 1},
        shape=shape,
        params=lambda call: (
            _kernel(call) * (call.channels // _groups(call)) * _filters(call) + call.flag("use_bias") * _filters(call)
        ),
        # Every input element meets every weight of its channel once; what falls outside the output is counted too.
        macs=lambda call: _kernel(call) * elements(call.input) * (_filters(call) // _groups(call)),
        window=window,
        filters=_filters,
        groups=_groups,
    )


def _common(rank: int) -> dict[str, Any]:
    return {"kernel_size": REQUIRED, "strides": (1,) * rank, "padding": "valid", "data_format": None}


_TAIL = {"activation": None, "use_bias": True}

CONVOLUTIONS: dict[str, Kind] = {
    **{f"Conv{rank}D": _conv(rank) for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": _depthwise(rank) for rank in (1, 2)},
    **{f"SeparableConv{rank}D": _separable(rank) for rank in (1, 2)},
    **{f"Conv{rank}DTranspose": _transposed(rank) for rank in (1, 2, 3)},
}
