"""Loads, stores, atomics and packed moves → functions that run them for one thread."""

from __future__ import annotations

from collections.abc import Callable

from edgeperf.ptx.interpreter import floats, scalars
from edgeperf.ptx.interpreter.operands import Operands, Run, Thread, Unsupported, width_of
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.records import Instruction


def packed_move(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    """``mov`` between one wide register and several narrow ones."""
    target, source = instruction.operands
    parts = [part.strip() for part in (target if "{" in target else source).strip("{}").split(",")]
    width = width_of(opcode.types[-1]) // len(parts)
    if "{" in target:
        read = operands.reader(instruction, source, f"b{width * len(parts)}")
        writes = [operands.writer(instruction, part) for part in parts]

        def unpack(thread: Thread) -> None:
            value = read(thread)
            for place, write in enumerate(writes):
                write(thread, value >> width * place & (1 << width) - 1)

        return unpack
    reads = [operands.reader(instruction, part, f"b{width}") for part in parts]
    write = operands.writer(instruction, target)
    return lambda thread: write(thread, sum(read(thread) << width * place for place, read in enumerate(reads)))


def _vector(operand: str) -> list[str]:
    return [part.strip() for part in operand.strip("{}").split(",")]


def load(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    """``ld``, also of parameters."""
    kind = opcode.types[-1]
    size = max(width_of(kind) // 8, 1)
    writes = [operands.writer(instruction, name) for name in _vector(instruction.operands[0])]
    value = operands.parameter(instruction.operands[1])

    def widened(bits: int) -> int:
        return scalars.signed(bits, 8 * size) if kind.startswith("s") else bits

    if value is not None:
        return lambda thread: writes[0](thread, widened(value & (1 << 8 * size) - 1))
    address = operands.address(instruction, instruction.operands[1])

    def run(thread: Thread) -> None:
        at = address(thread)
        memory = thread.memory_at(at)
        for place, write in enumerate(writes):
            write(thread, widened(memory.load(at + place * size, size)))

    return run


def store(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    """``st``."""
    kind = opcode.types[-1]
    size = max(width_of(kind) // 8, 1)
    address = operands.address(instruction, instruction.operands[0])
    reads = [operands.reader(instruction, name, f"b{8 * size}") for name in _vector(instruction.operands[1])]

    def run(thread: Thread) -> None:
        at = address(thread)
        memory = thread.memory_at(at)
        for place, read in enumerate(reads):
            memory.store(at + place * size, size, read(thread))

    return run


def atomic(operands: Operands, instruction: Instruction, opcode: Opcode) -> Run:
    """``atom`` and ``red``."""
    kind = opcode.types[-1]
    size = width_of(kind) // 8
    returns = opcode.name == "atom"
    place, *values = instruction.operands[returns:]
    address = operands.address(instruction, place)
    reads = [operands.reader(instruction, value, kind) for value in values]
    write = operands.writer(instruction, instruction.operands[0]) if returns else None
    function = _ATOMIC.get(next((word for word in opcode.modifiers if word in _ATOMIC), ""))
    if function is None or kind in ("f16", "f64"):
        raise Unsupported(instruction)

    def run(thread: Thread) -> None:
        at = address(thread)
        memory = thread.memory_at(at)
        bits = memory.load(at, size)
        old = scalars.signed(bits, 8 * size) if kind.startswith("s") else bits
        given = [read(thread) for read in reads]
        if kind == "f32":
            new = floats.bits(floats.number(old, 32) + floats.number(given[0], 32), 32)
        else:
            new = function(old, *given)
        memory.store(at, size, new)
        if write is not None:
            write(thread, old)

    return run


_ATOMIC: dict[str, Callable[..., int]] = {
    "add": lambda old, value: old + value,
    "min": min,
    "max": max,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda _, value: value,
    "cas": lambda old, expected, value: value if old == expected else old,
    "inc": lambda old, bound: 0 if old >= bound else old + 1,
    "dec": lambda old, bound: bound if old == 0 or old > bound else old - 1,
}
