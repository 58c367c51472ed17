"""A launch → its threads as a grid of numbers that is only as large as what is read.

Every value is an array of four axes: thread blocks along z, y and x, and the threads of a block. An axis that a value
does not depend on has size 1, so the index of a thread in its block costs 1,024 numbers however large the grid is. An
axis may also hold one representative per class of indices that behave alike (`edgeperf.ptx.classes`); sums then weigh
each class with its members.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.ptx.records import WARP_SIZE, Launch

Array = npt.NDArray[Any]
"""Four axes: block z, block y, block x, thread; any of them may have size 1."""

AXES = ("z", "y", "x", "thread")
THREAD_AXIS = 3


def scalar(value: int, dtype: npt.DTypeLike) -> Array:
    """One number for all threads."""
    return np.full((1, 1, 1, 1), value, dtype=dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Indices along one axis.

    Attributes:
        start: first index, where the axis holds all indices in order.
        representatives: one index per class; None where the axis holds all indices in order.
        weights: members of each class; one number where all classes have as many.
        total: indices that the axis stands for.
    """

    start: int
    total: int
    representatives: Array | None = None
    weights: Array | int = 1

    @property
    def size(self) -> int:
        """Numbers along the axis."""
        return self.total if self.representatives is None else self.representatives.size

    def indices(self) -> Array:
        """The indices, as uint32."""
        if self.representatives is None:
            return np.arange(self.start, self.start + self.total, dtype=np.uint32)
        return self.representatives

    def summed(self, values: Array) -> Array:
        """Sum over the last axis of `values`, each index weighted with what it stands for."""
        if values.shape[-1] == 1:
            total: Array = _numbers(values[..., 0]) * self.total
        elif isinstance(self.weights, int):
            total = _sum_last(values) * self.weights
        else:
            total = values @ self.weights
        return total


def _sum_last(values: Array) -> Array:
    counted: Array = np.count_nonzero(values, axis=-1) if values.dtype == np.bool_ else values.sum(axis=-1)
    return counted


def _numbers(values: Array) -> Array:
    """Truth values as numbers that can be multiplied; numbers as they are."""
    return values.astype(np.int64) if values.dtype == np.bool_ else values


@dataclass(frozen=True, slots=True, kw_only=True)
class Warps:
    """Warps of a block that hold the same classes of threads.

    Attributes:
        classes: places along the thread axis.
        count: how many warps there are of this kind.
    """

    classes: Array
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """A box of thread blocks of one launch.

    Attributes:
        launch: whose.
        axes: one per name in `AXES`.
        warps: kinds of warps in a block; None where the thread axis holds all threads in order.
    """

    launch: Launch
    axes: tuple[Axis, Axis, Axis, Axis]
    warps: tuple[Warps, ...] | None = None

    def special(self, register: str) -> Array | None:
        """The value of a special register for every thread; None where the hardware decides it."""
        name, _, axis = register.partition(".")
        if name in ("%ntid", "%nctaid", "%tid", "%ctaid"):
            return self._indexed(name, "xyzw".index(axis))
        if name == "%laneid":
            return self._lanes()
        if name.startswith("%lanemask_"):
            return _lane_mask(name.removeprefix("%lanemask_"), self._lanes())
        return scalar(WARP_SIZE, np.uint32) if name == "WARP_SZ" else None

    def _indexed(self, name: str, axis: int) -> Array:
        if axis == 3:
            return scalar(0, np.uint32)
        block, grid = self.launch.block, self.launch.grid
        if name == "%ntid":
            return scalar(block[axis], np.uint32)
        if name == "%nctaid":
            return scalar(grid[axis], np.uint32)
        if name == "%ctaid":
            shape = [1, 1, 1, 1]
            shape[2 - axis] = -1
            return self.axes[2 - axis].indices().reshape(shape)
        stride = (1, block[0], block[0] * block[1])[axis]
        return self._threads() // np.uint32(stride) % np.uint32(block[axis])

    def _threads(self) -> Array:
        return self.axes[THREAD_AXIS].indices().reshape(1, 1, 1, -1)

    def _lanes(self) -> Array:
        return self._threads() % np.uint32(WARP_SIZE)

    def thread_sum(self, values: Array) -> int:
        """Sum of a number per thread over all threads of the box."""
        return self._summed(self.axes[THREAD_AXIS].summed(self._exact(values)))

    def warp_sum(self, values: Array) -> int:
        """Sum over all warps of the greatest number in the warp."""
        return self._summed(self._warp_totals(self._exact(values)))

    def _exact(self, values: Array) -> Array:
        """The values as Python integers where sums over the box could exceed 64 bits."""
        if values.dtype == np.bool_:
            return values
        greatest = int(values.max(initial=0)) * math.prod(axis.total for axis in self.axes)
        return values.astype(object) if greatest >= 2**62 else values

    def _summed(self, per_block: Array) -> int:
        for axis in self.axes[2::-1]:
            per_block = axis.summed(per_block)
        return int(per_block)

    def _warp_totals(self, values: Array) -> Array:
        """Sum of the warps' greatest numbers, per block."""
        threads = self.axes[THREAD_AXIS].total
        if values.shape[THREAD_AXIS] == 1:
            alike: Array = _numbers(values[..., 0]) * -(-threads // WARP_SIZE)
            return alike
        if self.warps is not None:
            kinds = (_numbers(values[..., kind.classes].max(axis=-1)) * kind.count for kind in self.warps)
            return np.asarray(sum(kinds))
        count = -(-threads // WARP_SIZE)
        if threads % WARP_SIZE:
            values = np.pad(values, ((0, 0), (0, 0), (0, 0), (0, count * WARP_SIZE - threads)))
        lanes = values.reshape(*values.shape[:THREAD_AXIS], count, WARP_SIZE)
        return _sum_last(_any_lane(lanes) if lanes.dtype == np.bool_ else lanes.max(axis=-1))


def _any_lane(lanes: Array) -> Array:
    """Whether any of the 32 lanes is true; eight truth values are looked at at once."""
    return np.asarray(np.ascontiguousarray(lanes).view(np.uint64).any(axis=-1))


def _lane_mask(which: str, lanes: Array) -> Array:
    bit = np.left_shift(np.uint64(1), lanes.astype(np.uint64))
    below = bit - np.uint64(1)
    everything = np.uint64(2**WARP_SIZE - 1)
    masks = {"eq": bit, "lt": below, "le": below | bit, "ge": everything & ~below, "gt": everything & ~(below | bit)}
    masked: Array = masks[which].astype(np.uint32)
    return masked


def whole(launch: Launch) -> Lattice:
    """All threads of a launch."""
    x, y, z = (Axis(start=0, total=size) for size in launch.grid)
    threads = Axis(start=0, total=launch.block[0] * launch.block[1] * launch.block[2])
    return Lattice(launch=launch, axes=(z, y, x, threads))


def boxes(box: Lattice, axes: frozenset[str], limit: int) -> Iterator[Lattice]:
    """The box in parts of at most about `limit` numbers per value.

    Args:
        box: what is split; its axes of blocks hold all indices in order.
        axes: names of the axes that are read.
        limit: greatest number of elements of one value, unless a single block has more.
    """
    stack = [box]
    while stack:
        part = stack.pop()
        sizes = {name: axis.size for name, axis in zip(AXES, part.axes, strict=True) if name in axes}
        volume = 1
        for size in sizes.values():
            volume *= size
        splittable = {name: size for name, size in sizes.items() if name != "thread" and size > 1}
        if volume <= limit or not splittable:
            yield part
        else:
            stack.extend(_halves(part, AXES.index(max(splittable, key=splittable.__getitem__))))


def _halves(box: Lattice, place: int) -> Iterator[Lattice]:
    axis = box.axes[place]
    first = axis.total // 2
    for half in (
        Axis(start=axis.start + first, total=axis.total - first),
        Axis(start=axis.start, total=first),
    ):
        z, y, x, threads = (half if index == place else other for index, other in enumerate(box.axes))
        yield Lattice(launch=box.launch, axes=(z, y, x, threads), warps=box.warps)
