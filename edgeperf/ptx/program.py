"""Slice → steps that run on whole arrays of threads.

Instructions that decide a branch must be known exactly: integer arithmetic, special registers, and parameters whose
value the launch states. Everything else is refused here, by name. With predicates of ordinary instructions the rule is
softer: what is not known makes that predicate unknown and nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgeperf.ptx import integers
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.flow import Flow
from edgeperf.ptx.lattice import Array, scalar
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.operands import Read, Registers, cut, immediate, is_computed_special, joined, negated, piece
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.slicing import Slice, names_in
from edgeperf.ptx.text import words
from edgeperf.ptx.words import UNSIGNED, resized, width_of

_INTEGER_TYPES = words("b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64")
_HARDWARE = "its value is the hardware's choice"

_MODIFIERS: dict[str, frozenset[str]] = {
    "mul": frozenset({"lo", "hi", "wide"}),
    "mad": frozenset({"lo", "hi", "wide"}),
    "shf": frozenset({"l", "r", "clamp", "wrap"}),
    "bfind": frozenset({"shiftamt"}),
    "setp": integers.COMPARISONS | {"and", "or", "xor"},
    "set": integers.COMPARISONS | {"and", "or", "xor"},
    "cvt": frozenset({"sat"}),
}
"""Modifiers that `edgeperf.ptx.integers` computes; opcodes that are not here take none."""

_SOURCE_TYPES: dict[str, Callable[[tuple[str, ...]], list[str]]] = {
    "shl": lambda types: [types[-1], "u32"],
    "shr": lambda types: [types[-1], "u32"],
    "shf": lambda types: [types[-1], types[-1], "u32"],
    "bfe": lambda types: [types[-1], "u32", "u32"],
    "bfi": lambda types: [types[-1], types[-1], "u32", "u32"],
    "selp": lambda types: [types[-1], types[-1], "pred"],
    "slct": lambda types: [types[0], types[0], types[1]],
    "setp": lambda types: [types[-1], types[-1], "pred"],
    "set": lambda types: [types[-1], types[-1], "pred"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction of the slice, ready to run.

    Attributes:
        index: of the instruction in the kernel.
        instruction: which.
        writes: register that it writes.
        width: bits of that register; 1 for predicates.
        run: registers → value, None where it is not known.
        guard: predicate of ``@p``; None where it always writes.
        negated: whether the guard is ``@!p``.
        divisor: reads the divisor of a division; None for other instructions.
    """

    index: int
    instruction: Instruction
    writes: str
    width: int
    run: Read
    guard: str | None
    negated: bool
    divisor: Read | None = None


def steps_of(flow: Flow, found: Slice, *, arguments: Mapping[str, int], strict: bool) -> tuple[tuple[Step, ...], ...]:
    """The steps of every block.

    Args:
        flow: of the kernel.
        found: its slice.
        arguments: parameter name → value.
        strict: whether an instruction that is not known is refused; else its result is unknown.

    Raises:
        Refused: an instruction decides a branch and is not known.
    """
    compiler = _Compiler(flow, arguments)
    return tuple(
        tuple(step for index in members for step in compiler.steps(index, strict=strict)) for members in found.members
    )


def special_registers(flow: Flow, found: Slice) -> set[str]:
    """Special registers and ``WARP_SZ`` that the slice reads."""
    names = (
        name
        for members in found.members
        for index in members
        for operand in flow.kernel.instructions[index].operands
        for name in names_in(operand)
    )
    return {name for name in names if flow.kernel.type_of(name) is None and (name[0] == "%" or name == "WARP_SZ")}


def _unknown(_: Registers) -> None:
    return None


class _Compiler:
    """Turns single instructions into steps."""

    def __init__(self, flow: Flow, arguments: Mapping[str, int]) -> None:
        self.flow = flow
        self.arguments = arguments
        self.index = 0

    def steps(self, index: int, *, strict: bool) -> list[Step]:
        instruction, opcode = self.flow.kernel.instructions[index], self.flow.opcodes[index]
        self.index = index
        try:
            return self._known(instruction, opcode)
        except Refused:
            if strict:
                raise
            names = names_in(instruction.operands[0])
            return [self._step(instruction, name, _unknown) for name in names]

    def _step(self, instruction: Instruction, writes: str, run: Read) -> Step:
        kind = self.flow.kernel.type_of(writes)
        if kind is None or kind not in _INTEGER_TYPES | {"pred", "f32", "f64"}:
            raise Refused(instruction.line, f"{writes} decides a branch and is of type {kind}, which is not computed")
        return Step(
            index=self.index,
            instruction=instruction,
            writes=writes,
            width=width_of(kind),
            run=run,
            guard=instruction.guard,
            negated=instruction.negated,
        )

    def _known(self, instruction: Instruction, opcode: Opcode) -> list[Step]:
        if opcode.name == "ld":
            return [self._parameter(instruction, opcode)]
        self._check(instruction, opcode)
        operands = instruction.operands
        if opcode.name == "mov" and any(operand.startswith("{") for operand in operands):
            return self._packed_move(instruction, opcode)
        special = _SOURCE_TYPES.get(opcode.name)
        kinds = special(opcode.types) if special is not None else [opcode.types[-1]] * (len(operands) - 1)
        if opcode.name == "mad" and "wide" in opcode.modifiers:
            kinds[2] = f"{opcode.types[-1][0]}{2 * width_of(opcode.types[-1])}"
        pairs = zip(operands[1:], kinds, strict=False)
        readers = [self._reader(instruction, operand, kind, opcode) for operand, kind in pairs]
        evaluate = integers.EVALUATE[opcode.name]

        def run(registers: Registers) -> Array | None:
            values = [read(registers) for read in readers]
            return None if any(value is None for value in values) else evaluate(opcode, *values)

        return self._results(instruction, opcode, run, readers)

    def _results(
        self,
        instruction: Instruction,
        opcode: Opcode,
        run: Read,
        readers: list[Read],
    ) -> list[Step]:
        """One step per register that is written; ``setp`` may also write the opposite."""
        signed = opcode.types[0].startswith("s")
        names = [name.strip() for name in instruction.operands[0].split("|")]
        steps = [self._sized(instruction, names[0], run, signed=signed)]
        if opcode.name in ("div", "rem"):
            steps = [dataclasses.replace(steps[0], divisor=readers[1])]
        if len(names) > 1:
            if len(opcode.modifiers) > 1 or opcode.name != "setp":
                raise Refused(instruction.line, f"'{instruction.opcode}' with two results decides a branch")
            steps.append(self._step(instruction, names[1], lambda registers: negated(run(registers))))
        return steps

    def _sized(self, instruction: Instruction, writes: str, run: Read, *, signed: bool) -> Step:
        """A step whose result is extended to the register's width."""
        step = self._step(instruction, writes, run)

        def extended(registers: Registers) -> Array | None:
            value = run(registers)
            return None if value is None else resized(value, step.width, signed=signed)

        return self._step(instruction, writes, extended)

    def _check(self, instruction: Instruction, opcode: Opcode) -> None:
        """Refuses what the tables of `edgeperf.ptx.integers` do not compute."""
        what = f"'{instruction.opcode} {', '.join(instruction.operands)}' decides a branch"
        gives_truth = opcode.name == "setp" or opcode.types[:1] == ("pred",)
        if any((self.flow.kernel.type_of(name) == "pred") != gives_truth for name in names_in(instruction.operands[0])):
            raise Refused(instruction.line, f"{what}; its result does not fit its register")
        if opcode.category.startswith(("load", "atomic", "texture", "warp")):
            raise Refused(instruction.line, f"{what}; it depends on data or on other threads")
        if opcode.name not in integers.EVALUATE or not opcode.types:
            raise Refused(instruction.line, f"{what}; this analyzer does not compute {opcode.name!r}")
        floating = [kind for kind in opcode.types if kind not in _INTEGER_TYPES and kind != "pred"]
        if floating and opcode.name not in ("mov", "selp"):
            raise Refused(instruction.line, f"{what}; this analyzer does not compute {floating[0]} values")
        if integers.SOURCES[opcode.name] not in (None, len(instruction.operands) - 1):
            raise Refused(instruction.line, f"{what}; this analyzer does not compute it with so many operands")
        allowed = _MODIFIERS.get(opcode.name, frozenset())
        unknown = [word for word in opcode.modifiers if word not in allowed]
        if unknown and opcode.name != "cvta":
            raise Refused(instruction.line, f"{what}; this analyzer does not compute '.{unknown[0]}'")
        if opcode.name in ("setp", "set") and not _well_formed_comparison(instruction, opcode):
            raise Refused(instruction.line, f"{what}; the comparison is not complete")
        if opcode.name == "cvt" and len(opcode.types) != 2:
            raise Refused(instruction.line, f"{what}; a conversion names two types")

    def _parameter(self, instruction: Instruction, opcode: Opcode) -> Step:
        names = names_in(instruction.operands[1])
        name = names[0] if names else instruction.operands[1]
        if "param" not in opcode.modifiers or name not in self.flow.kernel.parameters:
            what = f"'{instruction.opcode} {', '.join(instruction.operands)}'"
            raise Refused(instruction.line, f"a branch depends on data that {what} loads")
        if name not in self.arguments or instruction.operands[1].strip("[] ") != name:
            raise Refused(instruction.line, f"a branch depends on parameter {name}; state its value in the launch")
        width = width_of(opcode.types[-1])
        value = scalar(self.arguments[name] & (2**width - 1), UNSIGNED[width])
        signed = opcode.types[-1].startswith("s")
        return self._sized(instruction, instruction.operands[0], lambda _: value, signed=signed)

    def _packed_move(self, instruction: Instruction, opcode: Opcode) -> list[Step]:
        """``mov`` between one wide register and several narrow ones, the lowest bits first."""
        target, source = instruction.operands
        whole = width_of(opcode.types[-1])
        parts = [part.strip() for part in (target if target.startswith("{") else source).strip("{}").split(",")]
        width = whole // len(parts)
        if width not in UNSIGNED or (target.startswith("{") and source.startswith("{")):
            raise Refused(instruction.line, f"'{instruction.opcode}' decides a branch; its pieces have no known width")
        if target.startswith("{"):
            read = self._reader(instruction, source, f"b{whole}", opcode)
            return [
                self._step(instruction, part, piece(read, width, place))
                for place, part in enumerate(parts)
                if part != "_"
            ]
        pieces = [self._reader(instruction, part, f"b{width}", opcode) for part in parts]
        return [self._step(instruction, target, joined(pieces, width, whole))]

    def _reader(self, instruction: Instruction, operand: str, kind: str, opcode: Opcode) -> Read:
        """Reads one operand as a value of a type."""
        opposite = operand.startswith("!")
        name = operand.lstrip("!")
        constant = immediate(name, kind)
        if constant is not None:
            return lambda _: constant
        declared = self.flow.kernel.type_of(name)
        if declared is None and not is_computed_special(name):
            reason = _HARDWARE if name.startswith("%") else "addresses are not computed"
            raise Refused(instruction.line, f"a branch depends on {operand!r}; {reason}")
        width = 32 if declared is None else width_of(declared)
        wanted = width_of(kind)
        narrower = wanted > width and opcode.name not in ("cvt", "mov")
        if narrower or (wanted == 1) != (width == 1) or (opposite and wanted != 1):
            raise Refused(instruction.line, f"{operand!r} of {width} bits is read as {kind}")
        if opposite:
            return lambda registers: negated(registers.get(name))
        if wanted == width:
            return lambda registers: registers.get(name)
        signed = kind.startswith("s")
        return lambda registers: cut(registers.get(name), wanted, signed=signed)


def _well_formed_comparison(instruction: Instruction, opcode: Opcode) -> bool:
    words = opcode.modifiers
    combined = len(instruction.operands) == 4
    if not words or words[0] not in integers.COMPARISONS or len(words) != 1 + combined:
        return False
    ordered = words[0] not in ("eq", "ne")
    return not (ordered and opcode.types[-1].startswith(("b", "pred")))
