"""Normalisations as they run at inference, when their statistics are constants or come from the image itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import Call, Kind, elements, same_shape


def _per_axis(call: Call) -> int:
    """Elements along the normalised axes."""
    return elements(tuple(call.input[axis] for axis in call.axes("axis")))


def _affine(call: Call) -> int:
    # Keras 3 before 3.10 scales by the root mean square on request, and then has no shift.
    shifted = call.flag("center") and not call.config.get("rms_scaling")
    return _per_axis(call) * (shifted + call.flag("scale"))


def _group_affine(call: Call) -> int:
    channels, groups = _per_axis(call), call.integer("groups", least=-1)
    if groups > 0 and channels % groups:
        raise InvalidInput(f"{channels} channels do not divide into {groups} groups")
    return _affine(call)


def _size(call: Call) -> int:
    return call.integer("size", least=1)


def _kind(per_element: int, params: Callable[[Call], int], parameters: Mapping[str, Any]) -> Kind:
    """A normalisation that takes `per_element` operations per element, besides two per MAC, of which it has none."""
    return Kind(
        parameters=parameters,
        shape=same_shape,
        params=params,
        flops=lambda call: per_element * elements(call.output),
        counts=f"{per_element} per element",
    )


_AFFINE = {"center": True, "scale": True}

NORMALIZATIONS: dict[str, Kind] = {
    # Statistics are constants at inference: one multiplication and one addition.
    "BatchNormalization": _kind(
        2,
        lambda call: _affine(call) + 2 * _per_axis(call),
        {"axis": -1, "momentum": 0.99, "epsilon": 0.001, **_AFFINE},
    ),
    # Mean (1), variance (3), normalisation (2), scale and shift (2).
    "LayerNormalization": _kind(8, _affine, {"axis": -1, "epsilon": 0.001, **_AFFINE, "rms_scaling": False}),
    "GroupNormalization": _kind(8, _group_affine, {"groups": 32, "axis": -1, "epsilon": 0.001, **_AFFINE}),
    # Square and sum (2), normalisation (1), scale (1).
    "RMSNormalization": _kind(4, _per_axis, {"axis": -1, "epsilon": 1e-6}),
    # Square and sum (2), normalisation (1).
    "UnitNormalization": _kind(3, lambda _: 0, {"axis": -1}),
    # Of every element: a square, a sum over `size` neighbours, a power and a division.
    "LocalResponseNormalization": Kind(
        parameters={"size": 5},
        shape=same_shape,
        flops=lambda call: (_size(call) + 3) * elements(call.output),
        counts="size + 3 per element",
    ),
}
