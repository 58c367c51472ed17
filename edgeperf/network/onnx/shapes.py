"""Shape rules of ONNX operators that move elements, for constants and for tensors that are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.records import Shape


def reshaped(source: Shape, target: Sequence[int], *, allow_zero: bool = False) -> Shape:
    """The shape that ONNX' Reshape gives: 0 copies a size, -1 takes what is left.

    >>> reshaped((1, 7, 7, 64), (0, -1, 64))
    (1, 49, 64)
    """
    if len(target) > 16:
        raise InvalidInput(f"it reshapes to {len(target)} dimensions")
    sizes = [
        source[at] if size == 0 and not allow_zero and at < len(source) else size for at, size in enumerate(target)
    ]
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known > 0:
        sizes[sizes.index(-1)] = math.prod(source) // known
    if min(sizes, default=0) < 0 or math.prod(sizes) != math.prod(source):
        raise InvalidInput(f"a tensor of shape {source} cannot become {tuple(target)}")
    return tuple(sizes)


def sliced(size: int, start: int, stop: int, step: int) -> range:
    """The positions that ONNX' Slice takes along one dimension."""
    if step == 0:
        raise InvalidInput("a slice has a step of 0")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start, stop = (max(min(each + size if each < 0 else each, high), low) for each in (start, stop))
    return range(start, stop, step)


def axis_of(axis: Any, rank: int) -> int:
    """An axis, counted from either end, as a position."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise InvalidInput(f"the axis {axis!r} does not exist in {rank} dimensions")
    return axis % rank


def squeezed(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """`shape` without the given axes, or without all of size 1."""
    gone = {axis_of(axis, len(shape)) for axis in axes} if axes is not None else None
    return tuple(size for axis, size in enumerate(shape) if (axis not in gone if gone is not None else size != 1))


def unsqueezed(shape: Shape, axes: Sequence[int]) -> Shape:
    """`shape` with a size of 1 at each of `axes` of the result."""
    rank = len(shape) + len(axes)
    places = {axis_of(axis, rank) for axis in axes}
    rest = iter(shape)
    return tuple(1 if axis in places else next(rest) for axis in range(rank))


def gathered(shape: Shape, indices: Shape, axis: int) -> Shape:
    """Shape of ONNX' Gather."""
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def place(at: Sequence[int], shape: Shape) -> int:
    """Where an element of a tensor of `shape` stands in its list of values."""
    found = 0
    for position, size in zip(at, shape, strict=True):
        found = found * size + position
    return found
