"""Normalisations as they run at inference, when their statistics are constants or come from the image itself."""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import Call, Kind, elements, same_shape


def _per_axis(call: Call) -> int:
    """Elements along the normalised axes."""
    return elements(tuple(call.input[axis] for axis in call.axes("axis")))


def _affine(call: Call) -> int:
    return _per_axis(call) * (call.flag("center") + call.flag("scale"))


def _group_affine(call: Call) -> int:
    channels, groups = _per_axis(call), call.integer("groups", least=-1)
    if groups > 0 and channels % groups:
        raise InvalidInput(f"{channels} channels do not divide into {groups} groups")
    return _affine(call)


def _times(factor: int) -> dict[str, object]:
    return {"flops": lambda call: factor * elements(call.output), "counts": f"{factor} per element"}


NORMALIZATIONS: dict[str, Kind] = {
    # Statistics are constants at inference: one multiplication and one addition.
    "BatchNormalization": Kind(
        parameters={"axis": -1, "momentum": 0.99, "epsilon": 0.001, "center": True, "scale": True},
        shape=same_shape,
        params=lambda call: _affine(call) + 2 * _per_axis(call),
        **_times(2),  # type: ignore[arg-type]
    ),
    # Mean (1), variance (3), normalisation (2), scale and shift (2).
    "LayerNormalization": Kind(
        parameters={"axis": -1, "epsilon": 0.001, "center": True, "scale": True, "rms_scaling": False},
        shape=same_shape,
        params=_affine,
        **_times(8),  # type: ignore[arg-type]
    ),
    "GroupNormalization": Kind(
        parameters={"groups": 32, "axis": -1, "epsilon": 0.001, "center": True, "scale": True},
        shape=same_shape,
        params=_group_affine,
        **_times(8),  # type: ignore[arg-type]
    ),
    # Square and sum (2), normalisation (1), scale (1).
    "RMSNormalization": Kind(
        parameters={"axis": -1, "epsilon": 1e-6},
        shape=same_shape,
        params=_per_axis,
        **_times(4),  # type: ignore[arg-type]
    ),
    # Of every element: a square, a sum over `size` neighbours, a power and a division.
    "LocalResponseNormalization": Kind(
        parameters={"size": 5},
        shape=same_shape,
        flops=lambda call: (call.integer("size", least=1) + 3) * elements(call.output),
        counts="size + 3 per element",
    ),
    # Square and sum (2), normalisation (1).
    "UnitNormalization": Kind(parameters={"axis": -1}, shape=same_shape, **_times(3)),  # type: ignore[arg-type]
}
