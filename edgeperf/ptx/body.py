"""The statements between a kernel's braces → registers, labels and instructions.

Nested scopes (inline assembly) may declare a name again; such names get a suffix, so that a kernel's names are unique.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field

from edgeperf.ptx.errors import MalformedPtx
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.text import NAME, Text, words

MAX_REGISTER_RANGE = 1_000_000

REGISTER_TYPES = words("pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64")
SPECIAL_REGISTERS = words(
    "%laneid %warpid %nwarpid %smid %nsmid %gridid %clock %clock_hi %clock64 %globaltimer "
    "%globaltimer_lo %globaltimer_hi %lanemask_eq %lanemask_le %lanemask_lt %lanemask_ge %lanemask_gt "
    "%total_smem_size %dynamic_smem_size %aggr_smem_size %is_explicit_cluster %cluster_ctarank "
    "%cluster_nctarank WARP_SZ _"
)
_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
_SPECIAL_COMPONENTS = frozenset(f"%{vector}.{axis}" for vector in _VECTORS for axis in "xyzw")

_STATEMENT = re.compile(
    rf"\s*(?:(?:@(?P<negated>!?)\s*(?P<guard>{NAME})\s+)?"
    rf"(?P<opcode>[a-z]\w*(?:(?:\.|::)\w+)*)(?![\w$]*\s*:)(?P<operands>[^;]*);|"
    rf"(?P<label>{NAME})\s*:(?!:)|(?P<open>\{{)|(?P<close>\}})|(?P<line>\.(?:loc|file)\b[^\n]*)|"
    rf"(?P<directive>\.\w+[^;{{}}]*);)"
)
_REGISTERS = re.compile(rf"\.reg\s+\.(\w+)\s+({NAME}(?:<\d+>)?(?:\s*,\s*{NAME}(?:<\d+>)?)*)\s*")
_ARRAY = re.compile(rf"\.(?:local|shared|param)\s+(?:\.align\s+\d+\s+)?\.\w+\s+({NAME})\s*(?:\[\s*\d*\s*\]\s*)*")
_NUMBER = r"[+-]?\s*(?:0[fF][\da-fA-F]{8}|0[dD][\da-fA-F]{16}|0[xX][\da-fA-F]+U?|0[bB][01]+U?|\d+U?)(?![\w$.])"
_WORD = rf"(?:[!-]?{NAME}(?:\.[xyzw](?!\w))?(?:\s*\+\s*{_NUMBER})?|{_NUMBER})"
_LIST = rf"\s*{_WORD}\s*(?:,\s*{_WORD}\s*)*"
_ADDRESS = rf"\[\s*{_WORD}\s*(?:,\s*(?:{_WORD}|\{{{_LIST}\}})\s*)*\]"
_OPERAND = re.compile(
    rf"\s*((?:\{{{_LIST}\}}|{_ADDRESS}|\((?:{_LIST})?\)|{_WORD})(?:\s*\|\s*(?:{NAME}))?)\s*(?:,(?!\s*$)|$)"
)
_IDENTIFIER = re.compile(rf"(?<![\w$%.])({NAME}(?:\.[xyzw](?!\w))?)")


@dataclass(slots=True)
class _Scope:
    """What one pair of braces declares."""

    suffix: str
    names: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, tuple[int, str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def type_of(self, name: str) -> str | None:
        if name in self.names:
            return self.names[name]
        prefix = name.rstrip("0123456789")
        digits = name[len(prefix) :]
        count, kind = self.ranges.get(prefix, (0, ""))
        return kind if digits and len(digits) < 9 and digits == str(int(digits)) and int(digits) < count else None


class Body:
    """Reads one kernel's body.

    Attributes:
        instructions: in text order.
        labels: name → index of the instruction that follows.
        variables: name → state space.
        registers: name → type, of the kernel's own scope and of renamed inner ones.
        ranges: prefix → (how many, type).
    """

    def __init__(self, source: Text, outside: set[str]) -> None:
        self._source = source
        self._outside = outside
        self._scopes = [_Scope(suffix="")]
        self._scope_count = 0
        self._valid_operands: set[str] = set()
        self._open_references: list[tuple[int, str, tuple[str, ...]]] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.variables: dict[str, str] = {}
        self.registers: dict[str, str] = self._scopes[0].names
        self.ranges: dict[str, tuple[int, str]] = self._scopes[0].ranges

    def read(self, start: int, end: int) -> None:
        """Reads all statements between two positions.

        Raises:
            MalformedPtx: a statement cannot be read, or a name is not declared.
        """
        end = start + len(self._source.text[start:end].rstrip())
        position = start
        while position < end:
            match = _STATEMENT.match(self._source.text, position, end)
            if match is None:
                raise self._source.unreadable(position, end)
            if match["opcode"]:
                self._instruction(match)
            else:
                self._other(match)
            position = match.end()
        if len(self._scopes) != 1:
            raise MalformedPtx(self._source.line(end), "a brace inside the kernel is never closed")
        self._resolve_labels()

    def _other(self, match: re.Match[str]) -> None:
        line = self._source.line(match.start(match.lastgroup or 0))
        if match["label"]:
            self._label(match["label"], line)
        elif match["directive"]:
            self._directive(match["directive"], line)
        elif match["open"]:
            self._scope_count += 1
            self._scopes.append(_Scope(suffix=f"$${self._scope_count}"))
        elif match["close"]:
            if len(self._scopes) == 1:
                raise MalformedPtx(line, "a brace closes that was never opened")
            self._scopes.pop()

    def _label(self, name: str, line: int) -> None:
        name += self._scopes[-1].suffix
        if name in self.labels:
            raise MalformedPtx(line, f"label {name} stands twice")
        self.labels[name] = len(self.instructions)

    def _directive(self, text: str, line: int) -> None:
        word = text.split(maxsplit=1)[0]
        if word == ".reg":
            self._declare_registers(text, line)
        elif word in (".local", ".shared", ".param"):
            found = _ARRAY.fullmatch(text)
            if found is None:
                raise MalformedPtx(line, f"cannot read {text.strip()[:60]!r}")
            self._scopes[-1].variables[found[1]] = self.variables[found[1]] = word[1:]
        elif word not in (".pragma", ".branchtargets", ".callprototype", ".calltargets"):
            raise MalformedPtx(line, f"directive {word} is not known")

    def _declare_registers(self, text: str, line: int) -> None:
        found = _REGISTERS.fullmatch(text)
        if found is None or found[1] not in REGISTER_TYPES:
            raise MalformedPtx(line, f"cannot read {text.strip()[:60]!r}")
        scope = self._scopes[-1]
        for declared in found[2].split(","):
            name, _, count = declared.strip().rstrip(">").partition("<")
            if name in scope.names or name in scope.ranges:
                raise MalformedPtx(line, f"register {name} is declared twice")
            if not count:
                scope.names[name] = found[1]
            elif len(count) > len(str(MAX_REGISTER_RANGE)) or int(count) > MAX_REGISTER_RANGE:
                raise MalformedPtx(line, f"{count} registers in one declaration; at most {MAX_REGISTER_RANGE} are read")
            else:
                scope.ranges[name] = (int(count), found[1])

    def _instruction(self, match: re.Match[str]) -> None:
        line = self._source.line(match.start("opcode"))
        operands = self._operands(match["operands"], line)
        guard = match["guard"]
        if guard is not None:
            guard = self._resolve(guard, line)
            if self._scopes[0].type_of(guard) != "pred":
                raise MalformedPtx(line, f"guard {guard} is not a declared predicate register")
        position = match.start("opcode") if guard is None else self._source.text.index("@", match.start())
        negated = match["negated"] == "!"
        self.instructions.append(Instruction(line, match["opcode"], operands, guard, negated, position))

    def _operands(self, text: str, line: int) -> tuple[str, ...]:
        operands: list[str] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _OPERAND.match(text, position, end)
            if match is None:
                raise MalformedPtx(line, f"cannot read the operands {text.strip()[:60]!r}")
            operands.append(self._operand(match[1], line))
            position = match.end()
        return tuple(operands)

    def _operand(self, operand: str, line: int) -> str:
        """The operand with every name checked; renamed where an inner scope declares the name."""
        if operand in self._valid_operands:
            return operand
        if len(self._scopes) == 1 and self._scopes[0].type_of(operand) is not None:
            # A plain register, which most operands are.
            self._valid_operands.add(operand)
            return operand
        references = len(self._open_references)
        renamed = _IDENTIFIER.sub(lambda match: self._resolve(match[1], line), operand)
        if renamed == operand and len(self._scopes) == 1 and len(self._open_references) == references:
            self._valid_operands.add(operand)
        return renamed

    def _resolve(self, name: str, line: int) -> str:
        """The unique form of a name; a name that is not declared yet must turn out to be a label."""
        for scope in reversed(self._scopes):
            kind = scope.type_of(name)
            if kind is not None:
                if scope.suffix:
                    self.registers[name + scope.suffix] = kind
                return name + scope.suffix
            if name in scope.variables:
                return name
        if name in SPECIAL_REGISTERS or name in _SPECIAL_COMPONENTS or name in self._outside:
            return name
        suffixes = tuple(scope.suffix for scope in reversed(self._scopes))
        self._open_references.append((line, name, suffixes))
        return name

    def _resolve_labels(self) -> None:
        """Checks that every other name is a label, and gives labels of inner scopes their unique form."""
        renames: dict[tuple[int, str], str] = {}
        for line, name, suffixes in self._open_references:
            found = next((name + suffix for suffix in suffixes if name + suffix in self.labels), None)
            if found is None:
                raise MalformedPtx(line, f"{name!r} is not declared")
            if found != name:
                renames[line, name] = found
        self.instructions = (
            [_renamed(instruction, renames) for instruction in self.instructions] if renames else (self.instructions)
        )


def _renamed(instruction: Instruction, renames: dict[tuple[int, str], str]) -> Instruction:
    operands = tuple(renames.get((instruction.line, operand), operand) for operand in instruction.operands)
    return dataclasses.replace(instruction, operands=operands)
