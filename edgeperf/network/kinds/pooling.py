"""Pooling: windows, global, adaptive; maximum and average, in one to three dimensions."""

from __future__ import annotations

from edgeperf.network.kinds.convolution import slide_all
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Padding, Shapes, Window, elements
from edgeperf.records import Shape


def _strides(call: Call, rank: int) -> Shape:
    return call.integers("strides" if call.config["strides"] is not None else "pool_size", rank)


def _pooling(rank: int, default: object) -> Kind:
    def sizes(call: Call) -> tuple[Shape, Padding]:
        dilation = call.integers("dilation_rate", rank)
        return slide_all(call, call.integers("pool_size", rank), _strides(call, rank), dilation)

    def window(call: Call) -> Window:
        return Window(
            kernel_size=call.integers("pool_size", rank),
            strides=_strides(call, rank),
            dilation=call.integers("dilation_rate", rank),
            padding=sizes(call)[1],
        )

    return Kind(
        parameters={
            "pool_size": default,
            "strides": None,
            "padding": "valid",
            "data_format": None,
            "dilation_rate": 1,
        },
        shape=lambda call: (call.image(sizes(call)[0], call.channels),),
        flops=lambda call: elements(call.integers("pool_size", rank)) * elements(call.output),
        counts="elements of the window per output element",
        window=window,
    )


def _global(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        call.spatial(rank)
        return (call.image((1,) * rank, call.channels) if call.flag("keepdims") else (call.channels,),)

    def window(call: Call) -> Window:
        size = call.spatial(rank)
        return Window(kernel_size=size, strides=size, dilation=(1,) * rank, padding=((0, 0),) * rank)

    return Kind(
        parameters={"data_format": None, "keepdims": False},
        shape=shape,
        flops=lambda call: elements(call.input),
        counts="1 per input element",
        window=window,
    )


def _adaptive(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        call.spatial(rank)
        return (call.image(call.integers("output_size", rank), call.channels),)

    return Kind(
        parameters={"output_size": REQUIRED, "data_format": None},
        shape=shape,
        flops=lambda call: elements(call.input),
        counts="1 per input element",
    )


POOLINGS: dict[str, Kind] = {
    **{f"MaxPooling{rank}D": _pooling(rank, 2) for rank in (1, 2, 3)},
    **{f"AveragePooling{rank}D": _pooling(rank, REQUIRED) for rank in (1, 2, 3)},
    **{f"Global{how}Pooling{rank}D": _global(rank) for how in ("Average", "Max") for rank in (1, 2, 3)},
    **{f"Adaptive{how}Pooling{rank}D": _adaptive(rank) for how in ("Average", "Max") for rank in (1, 2, 3)},
}
