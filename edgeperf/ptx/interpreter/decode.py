"""Instruction → function that runs it for one thread."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

from edgeperf.ptx.interpreter import access, floats, scalars
from edgeperf.ptx.interpreter.operands import Operands, Read, Run, Thread, Unsupported, width_of
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.text import words

_BITWISE = words("shl shr shf bfe bfi bfind brev popc clz prmt lop3")
_NOTHING = words("membar fence prefetch prefetchu nanosleep pmevent discard applypriority griddepcontrol")
_FLOATING = frozenset({"f16", "f32", "f64"})
_ROUND: dict[str, Callable[[float], float]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def decode(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    """The function that runs an instruction.

    Raises:
        Unsupported: there is none.
    """
    if opcode.name in _NOTHING or opcode.name == "call":
        return lambda _: None
    if opcode.name in ("ld", "ldu"):
        return access.load(operands, instruction, opcode)
    if opcode.name == "st":
        return access.store(operands, instruction, opcode)
    if opcode.name in ("atom", "red"):
        return access.atomic(operands, instruction, opcode)
    if not opcode.types or any(kind in ("f16x2", "bf16", "bf16x2", "tf32", "b128") for kind in opcode.types):
        raise Unsupported(instruction)
    if opcode.name == "mov" and any("{" in operand for operand in instruction.operands):
        return access.packed_move(operands, instruction, opcode)
    for names, maker in _MAKERS:
        if opcode.name in names:
            return maker(operands, instruction, opcode)
    if opcode.types[-1] in _FLOATING and opcode.name in floats.FUNCTIONS:
        return _float(operands, instruction, opcode)
    if opcode.name in scalars.SIMPLE and (opcode.types[-1] not in _FLOATING or opcode.name in ("mov", "cvta")):
        return _integer(operands, instruction, opcode)
    raise Unsupported(instruction)


_SOURCES = {
    name: sum(
        parameter.default is inspect.Parameter.empty for parameter in inspect.signature(function).parameters.values()
    )
    for table in (floats.FUNCTIONS, scalars.SIMPLE)
    for name, function in table.items()
    if function not in (min, max)
}
"""Opcode → how many operands it reads."""


def _readers(operands: Operands, instruction: Instruction, *kinds: str) -> list[Read]:
    given = instruction.operands[1:]
    if len(given) != len(kinds):
        raise Unsupported(instruction)
    return [operands.reader(instruction, operand, kind) for operand, kind in zip(given, kinds, strict=True)]


def _integer(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind = opcode.types[-1]
    reads = _readers(operands, instruction, *[kind] * _SOURCES.get(opcode.name, 2))
    write = operands.writer(instruction, instruction.operands[0])
    function = scalars.SIMPLE[opcode.name]
    if "sat" in opcode.modifiers:
        width = width_of(kind)
        low, high = -(1 << width - 1), (1 << width - 1) - 1
        return lambda thread: write(thread, min(max(function(*(read(thread) for read in reads)), low), high))
    if len(reads) == 1:
        one = reads[0]
        return lambda thread: write(thread, function(one(thread)))
    if len(reads) == 2 and "cc" not in opcode.modifiers:
        first, second = reads
        return lambda thread: write(thread, function(first(thread), second(thread)))
    if "cc" in opcode.modifiers:
        raise Unsupported(instruction)
    return lambda thread: write(thread, function(*(read(thread) for read in reads)))


def _multiply(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind = opcode.types[-1]
    if kind in _FLOATING:
        return _float(operands, instruction, opcode)
    width = width_of(kind)
    kinds = [kind, kind]
    if opcode.name == "mad":
        kinds.append(f"{kind[0]}{2 * width}" if "wide" in opcode.modifiers else kind)
    reads = _readers(operands, instruction, *kinds)
    write = operands.writer(instruction, instruction.operands[0])
    down = width if "hi" in opcode.modifiers else 0
    if {"cc", "sat"} & set(opcode.modifiers):
        raise Unsupported(instruction)
    first, second, *third = reads
    if not third:
        return lambda thread: write(thread, first(thread) * second(thread) >> down)
    add = third[0]
    return lambda thread: write(thread, (first(thread) * second(thread) >> down) + add(thread))


def _bits(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind, name = opcode.types[-1], opcode.name
    width, is_signed = width_of(kind), kind.startswith("s")
    plain = f"b{width}"
    kinds = {
        "shl": (kind, "u32"),
        "shr": (kind, "u32"),
        "shf": ("u32", "u32", "u32"),
        "bfe": (plain, "u32", "u32"),
        "bfi": (plain, plain, "u32", "u32"),
        "prmt": ("u32", "u32", "u32"),
        "lop3": ("u32", "u32", "u32", "u32"),
    }.get(name, (plain,))
    reads = _readers(operands, instruction, *kinds)
    write = operands.writer(instruction, instruction.operands[0])
    right, clamp = "r" in opcode.modifiers, "clamp" in opcode.modifiers
    amount = "shiftamt" in opcode.modifiers
    functions: dict[str, Callable[..., int]] = {
        "shl": lambda a, b: scalars.shift_left(a, b, width),
        "shr": lambda a, b: scalars.shift_right(a, b, width),
        "shf": lambda a, b, c: scalars.funnel(a, b, c, right=right, clamp=clamp),
        "bfe": lambda a, b, c: scalars.extract(a, b, c, width, is_signed=is_signed),
        "bfi": lambda a, b, c, d: scalars.insert(a, b, c, d, width),
        "bfind": lambda a: scalars.find_leading(a, width, is_signed=is_signed, shift_amount=amount),
        "brev": lambda a: int(f"{a:0{width}b}"[::-1], 2),
        "popc": lambda a: a.bit_count(),
        "clz": lambda a: width - a.bit_length(),
        "prmt": scalars.permute,
        "lop3": scalars.lookup,
    }
    function = functions[name]
    return lambda thread: write(thread, function(*(read(thread) for read in reads)))


def _float(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind = opcode.types[-1]
    width = width_of(kind)
    reads = _readers(operands, instruction, *[kind] * (3 if opcode.name in ("fma", "mad") else _SOURCES[opcode.name]))
    write = operands.writer(instruction, instruction.operands[0])
    function = floats.FUNCTIONS[opcode.name]
    saturated = "sat" in opcode.modifiers

    def run(thread: Thread) -> None:
        value = function(*(floats.number(read(thread), width) for read in reads))
        write(thread, floats.bits(min(max(value, 0.0), 1.0) if saturated else value, width))

    return run


def _compare(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind, word = opcode.types[-1], opcode.modifiers[0] if opcode.modifiers else ""
    if word in scalars.UNSIGNED_WORDS:
        kind = f"u{width_of(kind)}"
    combined = len(instruction.operands) == 4
    reads = _readers(operands, instruction, kind, kind, *["pred"] * combined)
    truth = _truth(instruction, kind, word)
    combine = next((word for word in opcode.modifiers[1:] if word in ("and", "or", "xor")), None)
    if combined != (combine is not None):
        raise Unsupported(instruction)
    names = [name.strip() for name in instruction.operands[0].split("|")]
    writes = [operands.writer(instruction, name) for name in names]
    true = 1
    if opcode.name == "set":
        true = floats.bits(1.0, 32) if opcode.types[0] == "f32" else -1

    def run(thread: Thread) -> None:
        result = truth(reads[0](thread), reads[1](thread))
        for place, write in enumerate(writes):
            value = result if place == 0 else not result
            if combine:
                other = bool(reads[2](thread))
                value = {"and": value and other, "or": value or other, "xor": value != other}[combine]
            write(thread, true if value else 0)

    return run


def _truth(instruction: Instruction, kind: str, word: str) -> Callable[[int, int], bool]:
    if kind in _FLOATING:
        width = width_of(kind)
        return lambda a, b: floats.compare(word, floats.number(a, width), floats.number(b, width))
    if word not in scalars.COMPARE:
        raise Unsupported(instruction)
    return scalars.COMPARE[word]


def _select(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    kind = opcode.types[0].replace("f", "b")
    by_sign = opcode.name == "slct"
    third = opcode.types[-1] if by_sign else "pred"
    first, second, choice = _readers(operands, instruction, kind, kind, third)
    write = operands.writer(instruction, instruction.operands[0])
    if by_sign:
        return lambda thread: write(thread, first(thread) if choice(thread) >= 0 else second(thread))
    return lambda thread: write(thread, first(thread) if choice(thread) else second(thread))


def _convert(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    if len(opcode.types) != 2:
        raise Unsupported(instruction)
    to, source = opcode.types
    read = operands.reader(instruction, instruction.operands[1], source)
    write = operands.writer(instruction, instruction.operands[0])
    width = width_of(to)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if to.startswith("s") else (0, (1 << width) - 1)
    saturated = "sat" in opcode.modifiers
    rounding = next((_ROUND[word] for word in opcode.modifiers if word in _ROUND), None)

    def convert(value: int) -> int:
        if source in _FLOATING:
            real = floats.number(value, width_of(source))
            if rounding and math.isfinite(real):
                real = float(rounding(real))
            if to in _FLOATING:
                return floats.bits(min(max(real, 0.0), 1.0) if saturated else real, width)
            return floats.to_integer(real, low, high)
        if to in _FLOATING:
            return floats.bits(float(value), width)
        if saturated:
            return min(max(value, low), high)
        cut = value & (1 << width) - 1
        return scalars.signed(cut, width) if to.startswith("s") else cut

    return lambda thread: write(thread, convert(read(thread)))


_MAKERS: tuple[tuple[frozenset[str], Callable[[Operands, Instruction, Opcode], Run]], ...] = (
    (frozenset({"mul", "mad"}), _multiply),
    (_BITWISE, _bits),
    (frozenset({"setp", "set"}), _compare),
    (frozenset({"selp", "slct"}), _select),
    (frozenset({"cvt"}), _convert),
)
