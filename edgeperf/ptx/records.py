"""The records between PTX text and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgeperf.errors import InvalidInput

Extent = tuple[int, int, int]
"""Sizes along x, y, z."""

WARP_SIZE = 32
MAX_THREADS_PER_BLOCK = 1024
MAX_GRID: Extent = (2**31 - 1, 65_535, 65_535)
"""CUDA C++ Programming Guide, technical specifications per compute capability."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction.

    Attributes:
        line: in the text, counted from 1.
        opcode: with all modifiers, e.g. ``"ld.global.nc.v4.b32"``.
        operands: as written, without blanks at the ends.
        guard: predicate register of ``@p``; None where the instruction is not predicated.
        negated: whether the guard is ``@!p``.
        position: where it begins in the text, its guard included.
    """

    line: int
    opcode: str
    operands: tuple[str, ...]
    guard: str | None = None
    negated: bool = False
    position: int = 0

    @property
    def name(self) -> str:
        """The opcode without modifiers, e.g. ``"ld"``."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One ``.entry`` function.

    Attributes:
        name: as in the text.
        parameters: name → type without the dot, in order.
        registers: register name → type; ranges such as ``%r<5>`` are in `register_ranges`.
        register_ranges: prefix → (how many, type).
        instructions: in text order.
        labels: name → index of the instruction that it stands before.
        variables: name → state space, of the kernel's own and the module's variables.
        functions: names with a body elsewhere in the module.
        required_block: ``.reqntid``; None where not stated.
        maximal_threads: product of ``.maxntid``; None where not stated.
    """

    name: str
    parameters: Mapping[str, str]
    registers: Mapping[str, str]
    register_ranges: Mapping[str, tuple[int, str]]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    variables: Mapping[str, str] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    required_block: Extent | None = None
    maximal_threads: int | None = None

    def type_of(self, register: str) -> str | None:
        """Declared type of a register, e.g. ``"b32"``; None where it is not declared."""
        declared = self.registers.get(register)
        if declared is not None:
            return declared
        prefix = register.rstrip("0123456789")
        number = register[len(prefix) :]
        count, kind = self.register_ranges.get(prefix, (0, ""))
        in_range = number != "" and int(number) < count and (number == "0" or number[0] != "0")
        return kind if in_range else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One PTX file.

    Attributes:
        version: of the PTX language, e.g. ``"8.8"``.
        target: e.g. ``"sm_53"``.
        kernels: name → kernel, in text order.
        header_end: position in the text after version, target and address size.
    """

    version: str
    target: str
    kernels: Mapping[str, Kernel]
    header_end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One kernel launch.

    Attributes:
        kernel: name of the kernel.
        grid: thread blocks along x, y, z.
        block: threads of a block along x, y, z.
        arguments: parameter name → integer, for parameters that decide branches; pointers are never needed.

    Raises:
        InvalidInput: the geometry is one that no GPU accepts.
    """

    kernel: str
    grid: Extent
    block: Extent
    arguments: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        too_many = self.block[0] * self.block[1] * self.block[2] > MAX_THREADS_PER_BLOCK
        outside = any(not 1 <= size <= limit for size, limit in zip(self.grid, MAX_GRID, strict=True))
        if min(self.block) < 1 or too_many or outside:
            raise InvalidInput(
                f"Kernel {self.kernel} cannot be launched with grid {self.grid} and block {self.block}. Expected 1 to "
                f"{MAX_THREADS_PER_BLOCK} threads in a block and a grid of at most {MAX_GRID}."
            )

    @property
    def threads(self) -> int:
        """Threads of the whole launch."""
        count = 1
        for size in (*self.grid, *self.block):
            count *= size
        return count
