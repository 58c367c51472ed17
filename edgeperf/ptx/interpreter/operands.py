"""Operands → functions that read or write them for one thread."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from edgeperf.errors import InvalidInput
from edgeperf.ptx.interpreter.memory import (
    GLOBAL_VARIABLES,
    LOCAL_WINDOW,
    POINTER_STRIDE,
    SHARED_WINDOW,
    VARIABLE_STRIDE,
    Memory,
)
from edgeperf.ptx.interpreter.scalars import signed
from edgeperf.ptx.records import WARP_SIZE, Extent, Instruction, Kernel, Launch

Read = Callable[["Thread"], int]
Write = Callable[["Thread", int], None]
Run = Callable[["Thread"], None]

_LITERAL = re.compile(r"([+-]?)\s*(?:0[fF]([\da-fA-F]{8})|0[dD]([\da-fA-F]{16})|(0[xX][\da-fA-F]+|0[bB][01]+|\d+)U?)")
_ADDRESS = re.compile(r"\[\s*([^\]+,]+?)\s*(?:\+\s*([+-]?\s*\w+)\s*)?\]")


class Unsupported(InvalidInput):
    """The interpreter does not know an instruction."""

    def __init__(self, instruction: Instruction) -> None:
        text = f"{instruction.opcode} {', '.join(instruction.operands)}"
        super().__init__(f"The interpreter does not run '{text}' (line {instruction.line}).")


@dataclass(slots=True, eq=False)
class Thread:
    """One thread: where it stands and what it holds.

    Attributes:
        index: in its block, along x, y, z.
        block: index of its block, along x, y, z.
        lane: place in its warp.
        shared: its block's memory.
        memory: the launch's global memory.
        position: index of the instruction that runs next.
    """

    index: Extent
    block: Extent
    lane: int
    shared: Memory
    memory: Memory
    position: int = 0
    carry: int = 0
    waiting: bool = False
    registers: dict[str, int] = field(default_factory=dict)
    local: Memory = field(default_factory=Memory)

    def memory_at(self, address: int) -> Memory:
        """The memory that a generic address lies in."""
        if address >= LOCAL_WINDOW:
            return self.local
        return self.shared if address >= SHARED_WINDOW else self.memory


def width_of(kind: str) -> int:
    """Bits of a type."""
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind))


class Operands:
    """Reads operands of one kernel in one launch."""

    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        self.kernel = kernel
        self.launch = launch
        window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
        self.addresses = {
            name: window.get(space, GLOBAL_VARIABLES) + place * VARIABLE_STRIDE
            for place, (name, space) in enumerate(kernel.variables.items())
        }

    def reader(self, instruction: Instruction, operand: str, kind: str) -> Read:
        """Reads an operand as a number of a type; floating-point types as their bits."""
        width, is_signed = width_of(kind), kind.startswith("s")
        mask = (1 << width) - 1
        negated = operand.startswith("!")
        literal = parse_literal(operand)
        if literal is not None:
            constant = literal & mask if width > 1 else int(literal != 0)
            constant = signed(constant, width) if is_signed else constant
            return lambda _: constant
        raw = self._raw(instruction, operand.lstrip("!"))
        if negated:
            return lambda thread: 1 - raw(thread)
        if is_signed:
            return lambda thread: signed(raw(thread) & mask, width)
        return lambda thread: raw(thread) & mask

    def _raw(self, instruction: Instruction, name: str) -> Read:
        if self.kernel.type_of(name) is not None:
            return lambda thread: thread.registers.get(name, 0)
        if name in self.addresses:
            address = self.addresses[name]
            return lambda _: address
        return _special(instruction, name, self.launch)

    def writer(self, instruction: Instruction, name: str) -> Write:
        """Writes a register, wrapped around to its width."""
        if name == "_":
            return lambda _, __: None
        kind = self.kernel.type_of(name)
        if kind is None:
            raise Unsupported(instruction)
        mask = (1 << width_of(kind)) - 1

        def write(thread: Thread, value: int) -> None:
            thread.registers[name] = value & mask

        return write

    def address(self, instruction: Instruction, operand: str) -> Read:
        """Reads the address in brackets."""
        match = _ADDRESS.fullmatch(operand)
        if match is None:
            raise Unsupported(instruction)
        offset = parse_literal(match[2] or "0") or 0
        base = self.reader(instruction, match[1], "u64")
        return lambda thread: base(thread) + offset & (1 << 64) - 1

    def parameter(self, operand: str) -> int | None:
        """The value of a parameter in brackets; None where it is none."""
        match = _ADDRESS.fullmatch(operand)
        if match is None or match[1] not in self.kernel.parameters:
            return None
        offset = parse_literal(match[2] or "0") or 0
        place = list(self.kernel.parameters).index(match[1])
        return self.launch.arguments.get(match[1], (place + 1) * POINTER_STRIDE) + offset


def parse_literal(text: str) -> int | None:
    """The value or bits of a literal; None where the text is none."""
    match = _LITERAL.fullmatch(text)
    if match is None:
        return None
    if match[2] or match[3]:
        return int(match[2] or match[3], 16)
    digits = match[4]
    value = int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)
    return -value if match[1] == "-" else value


def _special(instruction: Instruction, name: str, launch: Launch) -> Read:
    register, _, axis = name.partition(".")
    place = "xyzw".find(axis) if axis else -1
    if place == 3:
        return lambda _: 0
    constants = {"%ntid": launch.block, "%nctaid": launch.grid}
    if register in constants:
        constant = constants[register][place]
        return lambda _: constant
    readers: dict[str, Read] = {
        "%tid": lambda thread: thread.index[place],
        "%ctaid": lambda thread: thread.block[place],
        "%laneid": lambda thread: thread.lane,
        "%lanemask_eq": lambda thread: 1 << thread.lane,
        "%lanemask_lt": lambda thread: (1 << thread.lane) - 1,
        "%lanemask_le": lambda thread: (2 << thread.lane) - 1,
        "%lanemask_gt": lambda thread: 0xFFFFFFFF & ~((2 << thread.lane) - 1),
        "%lanemask_ge": lambda thread: 0xFFFFFFFF & ~((1 << thread.lane) - 1),
        "WARP_SZ": lambda _: WARP_SIZE,
    }
    if register not in readers:
        raise Unsupported(instruction)
    return readers[register]
