"""A launch → its threads as a grid of numbers that is only as large as what is read.

Every value is an array of four axes: thread blocks along z, y and x, and the threads of a block in hardware order (x
fastest). An axis that a value does not depend on has size 1, so the index of a thread in its block costs 1,024 numbers
however large the grid is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.ptx.records import WARP_SIZE, Extent, Launch

Array = npt.NDArray[Any]
"""Four axes: block z, block y, block x, thread; any of them may have size 1."""

THREAD_AXIS = 3


def scalar(value: int, dtype: npt.DTypeLike) -> Array:
    """One number for all threads."""
    return np.full((1, 1, 1, 1), value, dtype=dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """A box of thread blocks of one launch.

    Attributes:
        launch: whose.
        start: first block along x, y, z.
        stop: block after the last along x, y, z.
    """

    launch: Launch
    start: Extent
    stop: Extent

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Sizes of the four axes."""
        x, y, z = (stop - start for start, stop in zip(self.start, self.stop, strict=True))
        block = self.launch.block
        return (z, y, x, block[0] * block[1] * block[2])

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
            return np.arange(self.start[axis], self.stop[axis], dtype=np.uint32).reshape(shape)
        linear = np.arange(self.shape[THREAD_AXIS], dtype=np.uint32).reshape(1, 1, 1, -1)
        stride = (1, block[0], block[0] * block[1])[axis]
        return linear // np.uint32(stride) % np.uint32(block[axis])

    def _lanes(self) -> Array:
        return np.arange(self.shape[THREAD_AXIS], dtype=np.uint32).reshape(1, 1, 1, -1) % np.uint32(WARP_SIZE)

    def thread_sum(self, values: Array) -> int:
        """Sum of a number per thread over all threads of the box."""
        total = int(np.count_nonzero(values)) if values.dtype == np.bool_ else int(values.sum(dtype=np.int64))
        return total * self._repeats(values.shape)

    def warp_sum(self, values: Array) -> int:
        """Sum over all warps of the greatest number in the warp."""
        threads = self.shape[THREAD_AXIS]
        warps = -(-threads // WARP_SIZE)
        if values.shape[THREAD_AXIS] == 1:
            per_thread_value = self.thread_sum(values)
            return per_thread_value // threads * warps
        if threads % WARP_SIZE:
            values = np.pad(values, ((0, 0), (0, 0), (0, 0), (0, warps * WARP_SIZE - threads)))
        lanes = values.reshape(*values.shape[:THREAD_AXIS], warps, WARP_SIZE)
        if lanes.dtype == np.bool_:
            return int(np.count_nonzero(_any_lane(lanes))) * self._repeats(values.shape[:THREAD_AXIS])
        return int(lanes.max(axis=-1).sum(dtype=np.int64)) * self._repeats(values.shape[:THREAD_AXIS])

    def _repeats(self, shape: tuple[int, ...]) -> int:
        """How many threads stand behind one number of an array of this shape."""
        repeats = 1
        for have, whole in zip(shape, self.shape, strict=False):
            repeats *= whole if have == 1 else 1
        return repeats


def _any_lane(lanes: Array) -> Array:
    """Whether any of the 32 lanes is true; eight truth values are looked at at once."""
    any_lane: Array = np.ascontiguousarray(lanes).view(np.uint64).any(axis=-1)
    return any_lane


def _lane_mask(which: str, lanes: Array) -> Array:
    bit = np.left_shift(np.uint64(1), lanes.astype(np.uint64))
    below = bit - np.uint64(1)
    everything = np.uint64(2**WARP_SIZE - 1)
    masks = {"eq": bit, "lt": below, "le": below | bit, "ge": everything & ~below, "gt": everything & ~(below | bit)}
    masked: Array = masks[which].astype(np.uint32)
    return masked


def boxes(launch: Launch, axes: frozenset[str], limit: int) -> Iterator[Lattice]:
    """The launch in boxes of at most about `limit` numbers per value.

    Args:
        launch: which.
        axes: what is read: any of ``"x"``, ``"y"``, ``"z"`` (of the block index) and ``"thread"``.
        limit: greatest number of elements of one value, unless a single block has more threads.
    """
    whole = Lattice(launch=launch, start=(0, 0, 0), stop=launch.grid)
    stack = [whole]
    while stack:
        box = stack.pop()
        sizes = dict(zip(("z", "y", "x", "thread"), box.shape, strict=True))
        volume = 1
        for axis in axes:
            volume *= sizes[axis]
        splittable = [axis for axis in axes if axis != "thread" and sizes[axis] > 1]
        if volume <= limit or not splittable:
            yield box
            continue
        stack.extend(_halves(box, "xyz".index(max(splittable, key=sizes.__getitem__))))


def _halves(box: Lattice, axis: int) -> tuple[Lattice, Lattice]:
    middle = (box.start[axis] + box.stop[axis]) // 2
    stop = tuple(middle if index == axis else value for index, value in enumerate(box.stop))
    start = tuple(middle if index == axis else value for index, value in enumerate(box.start))
    return (
        Lattice(launch=box.launch, start=start, stop=box.stop),  # type: ignore[arg-type] # three values each
        Lattice(launch=box.launch, start=box.start, stop=stop),  # type: ignore[arg-type]
    )
