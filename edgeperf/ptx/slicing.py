"""Control flow → the few instructions that decide it.

Walks backward from every guard and keeps the instructions that write what is read later on the way to a guard. The walk
follows control flow, so a register that is used for something else elsewhere does not join the slice, and text order
does not matter.

Reference: Weiser, Program slicing, IEEE TSE 1984; Metz et al., HyPA, the hybrid PTX analysis of CNNs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgeperf.ptx.errors import Refused
from edgeperf.ptx.flow import Flow
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.text import NAME

_NAMES = re.compile(rf"(?<![\w$%.])({NAME}(?:\.[xyzw](?!\w))?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What decides the control flow of one kernel.

    Attributes:
        members: per block, indices of the instructions in the slice, ascending.
        live_in: per block, registers that are read later on the way to a guard.
        live_out: the same at the end of the block.
    """

    members: tuple[tuple[int, ...], ...]
    live_in: tuple[frozenset[str], ...]
    live_out: tuple[frozenset[str], ...]

    @property
    def size(self) -> int:
        """Instructions in the slice."""
        return sum(map(len, self.members))


def names_in(operand: str) -> list[str]:
    """Names that an operand holds, e.g. registers, parameters and special registers with their axis.

    >>> names_in("[%rd4+16]"), names_in("{%r1, %r2}"), names_in("%tid.x"), names_in("0f3F800000")
    (['%rd4'], ['%r1', '%r2'], ['%tid.x'], [])
    """
    return _NAMES.findall(operand)


def written(flow: Flow, index: int) -> tuple[str, ...]:
    """Registers that an instruction writes."""
    operands = flow.kernel.instructions[index].operands
    if flow.opcodes[index].name == "call":
        return tuple(names_in(operands[0])) if operands[0].startswith("(") else ()
    if not flow.opcodes[index].writes or not operands or operands[0].startswith("["):
        return ()
    first = operands[0]
    return (first,) if first[-1].isalnum() and "|" not in first else tuple(names_in(first))


def read(flow: Flow, index: int) -> set[str]:
    """Registers that an instruction reads, its own guard included."""
    instruction = flow.kernel.instructions[index]
    skip = 1 if written(flow, index) else 0
    names = {name for operand in instruction.operands[skip:] for name in names_in(operand)}
    names = {name for name in names if flow.kernel.type_of(name) is not None}
    return names | {instruction.guard} if instruction.guard is not None else names


def is_unknowable(opcode: Opcode) -> bool:
    """Whether a result depends on data or on other threads, so that what it was computed from does not matter."""
    from_memory = opcode.category.startswith("load") and "param" not in opcode.modifiers
    return from_memory or opcode.category in ("atomic", "texture", "warp")


def backward_slice(flow: Flow, *, ordinary_guards: bool) -> Slice:
    """The instructions that decide branches, and with `ordinary_guards` also those that decide ``@p`` elsewhere."""
    walker = _Walker(flow, ordinary_guards)
    walker.walk()
    return Slice(
        members=tuple(tuple(sorted(block)) for block in walker.members),
        live_in=tuple(map(frozenset, walker.live_in)),
        live_out=tuple(
            frozenset().union(*(walker.live_in[successor] for successor in block.successors)) for block in flow.blocks
        ),
    )


class _Walker:
    """Runs the backward data-flow equations to their fixed point."""

    def __init__(self, flow: Flow, ordinary_guards: bool) -> None:
        self.flow = flow
        self.ordinary_guards = ordinary_guards
        self.writes = [
            [(index, written(flow, index)) for index in range(block.end - 1, block.first - 1, -1)]
            for block in flow.blocks
        ]
        self.members: list[set[int]] = [set() for _ in flow.blocks]
        self.live_in: list[set[str]] = [set() for _ in flow.blocks]

    def walk(self) -> None:
        predecessors: list[list[int]] = [[] for _ in self.flow.blocks]
        for number, block in enumerate(self.flow.blocks):
            for successor in block.successors:
                predecessors[successor].append(number)
        waiting = set(range(len(self.flow.blocks)))
        while waiting:
            number = max(waiting)
            waiting.remove(number)
            live = self._through(number)
            if live != self.live_in[number]:
                self.live_in[number] = live
                waiting.update(predecessors[number])

    def _through(self, number: int) -> set[str]:
        """Registers live before the block, given those live after it."""
        block = self.flow.blocks[number]
        live: set[str] = set()
        for successor in block.successors:
            live |= self.live_in[successor]
        if block.guard is not None:
            live.add(block.guard)
        instructions = self.flow.kernel.instructions
        for index, writes in self.writes[number]:
            guard = instructions[index].guard
            if guard is not None and self.ordinary_guards:
                live.add(guard)
            if live and any(register in live for register in writes):
                self.members[number].add(index)
                if guard is None:
                    live.difference_update(writes)
                if not is_unknowable(self.flow.opcodes[index]):
                    live |= read(self.flow, index)
        return live


def check_defined(flow: Flow, found: Slice) -> None:
    """Refuses a kernel in which a guard may read a register that was never written.

    Raises:
        Refused: there is such a register.
    """
    undefined = sorted(found.live_in[0]) if flow.blocks else []
    if undefined:
        reader = _first_reader(flow, undefined[0])
        raise Refused(reader.line, f"{undefined[0]} decides a branch but is not written on every way to here")


def _first_reader(flow: Flow, register: str) -> Instruction:
    for block in flow.blocks:
        for index in range(block.first, block.end):
            if register in read(flow, index):
                return flow.kernel.instructions[index]
    return flow.kernel.instructions[0]
