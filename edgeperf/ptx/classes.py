"""Threads and blocks that no guard can tell apart → one representative each.

Kernels often use the index of a thread only through something like ``tid >> 4``. The first block of the slice computes
such values from one index alone; indices for which all of them agree behave alike, so one of them stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeperf.ptx.execution import Program
from edgeperf.ptx.lattice import AXES, THREAD_AXIS, Array, Axis, Lattice, Warps
from edgeperf.ptx.operands import Registers
from edgeperf.ptx.program import Step
from edgeperf.ptx.records import WARP_SIZE
from edgeperf.ptx.slicing import names_in

WORTH_IT = 2**13
"""Numbers per value below which finding classes costs more than it saves."""

_CONSTANT = ("%ntid.", "%nctaid.", "WARP_SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """How an index enters the slice.

    Attributes:
        special: special registers of the axis that are read outside of `steps`, and so tell all indices apart.
        steps: instructions of the first block that compute from this index alone.
        visible: of each step, whether anything else reads its result.
    """

    special: frozenset[str]
    steps: tuple[Step, ...]
    visible: tuple[bool, ...]


def exposure(program: Program, axis: str) -> Exposure:
    """How the index of an axis (one of `AXES`) enters the slice of a program."""
    own: set[str] = set()
    steps: list[Step] = []
    for step in program.steps[0] if program.steps else ():
        names = _names(step)
        if step.guard is None and all(_enters(name, axis) or name in own or _is_constant(name) for name in names):
            steps.append(step)
            own.add(step.writes)
        else:
            own.discard(step.writes)
    inside = {step.index for step in steps}
    read = {name for block in program.steps for step in block if step.index not in inside for name in _names(step)}
    instructions = program.flow.kernel.instructions
    read |= {str(block.guard) for block in program.flow.blocks}
    read |= {str(instructions[index].guard) for block in program.guarded for index in block}
    return Exposure(
        special=frozenset(name for name in read if _enters(name, axis)),
        steps=tuple(steps),
        visible=tuple(step.writes in read for step in steps),
    )


def _names(step: Step) -> set[str]:
    """Everything that a step reads, special registers included."""
    names = {name for operand in step.instruction.operands[1:] for name in names_in(operand)}
    return names | {step.guard} if step.guard is not None else names


def _enters(name: str, axis: str) -> bool:
    if axis == "thread":
        return name.startswith(("%tid.", "%lane"))
    return name == f"%ctaid.{axis}"


def _is_constant(name: str) -> bool:
    return name.startswith(_CONSTANT)


def merged(box: Lattice, found: Exposure, axis: str) -> Lattice:
    """The box with one representative per class of indices along an axis; the same box where all differ."""
    if found.special:
        return box
    place = AXES.index(axis)
    codes = _codes(box, found, place)
    first, inverse, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)[1:]
    old = box.axes[place]
    if first.size == old.size:
        return box
    weights: Array | int = int(counts[0]) if bool((counts == counts[0]).all()) else counts
    new = Axis(start=old.start, total=old.total, representatives=(first + old.start).astype(np.uint32), weights=weights)
    z, y, x, threads = (new if index == place else other for index, other in enumerate(box.axes))
    warps = _warps(inverse) if place == THREAD_AXIS else box.warps
    return Lattice(launch=box.launch, axes=(z, y, x, threads), warps=warps)


def _codes(box: Lattice, found: Exposure, place: int) -> Array:
    """A number per index; equal where all visible values agree."""
    registers: Registers = {}
    for step in found.steps:
        for name in _names(step):
            if (name.startswith("%") and "." in name) or name.startswith("%lane") or name == "WARP_SZ":
                registers.setdefault(name, box.special(name))
    codes = np.zeros(box.axes[place].size, dtype=np.int64)
    for step, visible in zip(found.steps, found.visible, strict=True):
        value = step.run(registers)
        registers[step.writes] = value
        if visible and value is not None and value.size > 1:
            inverse = np.unique(value.reshape(-1), return_inverse=True)[1]
            codes = np.unique(codes * (int(inverse.max()) + 1) + inverse, return_inverse=True)[1]
    return codes


def _warps(class_of_thread: Array) -> tuple[Warps, ...]:
    """Kinds of warps by the classes of their threads."""
    kinds: dict[tuple[int, ...], int] = {}
    for start in range(0, class_of_thread.size, WARP_SIZE):
        classes = tuple(np.unique(class_of_thread[start : start + WARP_SIZE]).tolist())
        kinds[classes] = kinds.get(classes, 0) + 1
    return tuple(Warps(classes=np.asarray(classes), count=count) for classes, count in kinds.items())
