"""A loop whose counter moves by the same amount each time → how often every thread runs it.

The loops meant here are one chain of blocks with a single test: ``do { } while``, ``while``, and anything between.
Such a loop ends when a register ``x``, which grows by ``s`` per iteration, no longer compares with a bound ``y`` that
stays. The number of iterations follows from ``x``, ``s`` and ``y`` alone. Registers wrap around, so the closed form is
used only where all values on the way provably stay inside the type's range (or, for ``!=``, where the modular equation
has its smallest solution in plain sight). In every other case the loop is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeperf.ptx.flow import Block, Flow
from edgeperf.ptx.lattice import Array
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.slicing import Slice, names_in
from edgeperf.ptx.words import SIGNED, UNSIGNED, as_signed, width_of

SAFE = 2**60
"""Magnitudes below this leave room for the arithmetic here in 64-bit numbers."""

LONGEST_CHAIN = 16
"""Blocks; longer chains are run."""

MOST_ITERATIONS = 2**40
"""Per thread; beyond this no sum over threads would be safe, and no such loop ever ends in practice."""

_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}

CONSTANT = ""
"""Form of a register that holds the same number in every iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedLoop:
    """What the closed form needs to know of a loop.

    Attributes:
        until_test: blocks from the entry to the test, in order; they run once per iteration.
        after_test: blocks from the test back to the entry; they run once less.
        leaves_to: block that follows the loop, or `edgeperf.ptx.flow.EXIT`.
        counter: register whose value at the test is compared.
        origin: loop-carried register that it is a constant distance from, so that both move alike.
        bound: operand that it is compared with.
        comparison: the loop goes on while ``counter comparison bound``; ``"lt"``, ``"ne"`` and so on.
        kind: type of the comparison.
        carried: registers that every iteration moves by an amount that stays.
    """

    until_test: tuple[int, ...]
    after_test: tuple[int, ...]
    leaves_to: int
    counter: str
    origin: str
    bound: str
    comparison: str
    kind: str
    carried: frozenset[str]


def counted_loop(flow: Flow, found: Slice, number: int, predecessors: Sequence[int]) -> CountedLoop | None:
    """The closed form of the loop that is entered at a block; None where it has none.

    Args:
        flow: of the kernel.
        found: its slice.
        number: the block.
        predecessors: of every block, how many blocks lead to it.
    """
    chain = _chain(flow, number, predecessors)
    if chain is None:
        return None
    until_test, after_test = chain
    body = _Body(flow, found, number, (*until_test, *after_test))
    for block in until_test:
        body.follow(block)
    test = flow.blocks[until_test[-1]]
    following = after_test[0] if after_test else number
    compared = _compared(flow, test, body, continues_if_taken=test.taken == following)
    for block in after_test:
        body.follow(block)
    if compared is None or any(body.forms[register] != register for register in body.carried):
        return None
    counter, bound, comparison, kind = compared
    origin = body.origin_at_test
    if origin is None or origin not in body.carried:
        return None
    return CountedLoop(
        until_test=until_test,
        after_test=after_test,
        leaves_to=test.otherwise if test.taken == following else test.taken,
        counter=counter,
        origin=origin,
        bound=bound,
        comparison=comparison,
        kind=kind,
        carried=frozenset(body.carried),
    )


def _chain(flow: Flow, number: int, predecessors: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The blocks of a loop up to its only test, and those after it; None where it is no such chain."""
    blocks, test, current = [number], None, number
    while True:
        block = flow.blocks[current]
        inside = [successor for successor in block.successors if successor == number or successor > current]
        if block.guard is not None:
            if test is not None:
                return None
            test = len(blocks)
            inside = [successor for successor in inside if _leads_back(flow, successor, number)]
        if len(inside) != 1:
            return None
        current = inside[0]
        if current == number:
            return None if test is None else (tuple(blocks[:test]), tuple(blocks[test:]))
        if predecessors[current] != 1 or len(blocks) >= LONGEST_CHAIN:
            return None
        blocks.append(current)


def _leads_back(flow: Flow, block: int, number: int) -> bool:
    """Whether a straight line of blocks leads from a block to the loop's entry."""
    for _ in range(LONGEST_CHAIN):
        if block == number:
            return True
        if block < number or flow.blocks[block].guard is not None or not flow.blocks[block].successors:
            return False
        block = flow.blocks[block].successors[0]
    return False


class _Body:
    """Follows which registers an iteration moves by a constant.

    Attributes:
        forms: register that the loop has written so far → the loop-carried register that it is a constant distance
            from, or `CONSTANT`; None where it is anything else.
        last_write: register → the instruction that wrote it.
        origin_at_test: form of the counter where it is compared.
    """

    def __init__(self, flow: Flow, found: Slice, number: int, blocks: tuple[int, ...]) -> None:
        self.flow = flow
        self.found = found
        self.written = {
            name
            for block in blocks
            for index in found.members[block]
            for name in names_in(flow.kernel.instructions[index].operands[0])
        }
        self.carried = self.written & found.live_in[number]
        self.forms: dict[str, str | None] = {}
        self.last_write: dict[str, Instruction] = {}
        self.origin_at_test: str | None = None
        self._order: dict[int, int] = {}

    def follow(self, block: int) -> None:
        """Takes in the slice of a block."""
        for index in self.found.members[block]:
            instruction = self.flow.kernel.instructions[index]
            self._order[id(instruction)] = len(self._order)
            form = None if instruction.guard else self._form(instruction)
            for name in names_in(instruction.operands[0]):
                self.forms[name] = form
                self.last_write[name] = instruction

    def form(self, operand: str) -> str | None:
        """What an operand is a constant distance from."""
        if operand in self.forms:
            return self.forms[operand]
        if operand in self.carried:
            return operand
        varies = any(name in self.written for name in names_in(operand))
        return None if varies else CONSTANT

    def rewritten(self, reader: Instruction, operands: tuple[str, ...]) -> bool:
        """Whether an operand is written after that instruction has read it."""
        writers = (self.last_write.get(operand) for operand in operands)
        return any(writer is not None and self._order[id(writer)] > self._order[id(reader)] for writer in writers)

    def _form(self, instruction: Instruction) -> str | None:
        forms = [self.form(operand) for operand in instruction.operands[1:]]
        if all(form == CONSTANT for form in forms):
            return CONSTANT
        if not self._same_width(instruction):
            return None
        if instruction.name == "mov":
            return None if "{" in instruction.operands[0] else forms[0]
        if instruction.name == "add" and instruction.opcode.count(".") == 1 and CONSTANT in forms:
            return forms[1] if forms[0] == CONSTANT else forms[0]
        if instruction.name == "sub" and instruction.opcode.count(".") == 1 and forms[1] == CONSTANT:
            return forms[0]
        return None

    def _same_width(self, instruction: Instruction) -> bool:
        width = width_of(instruction.opcode.rpartition(".")[2])
        kinds = [self.flow.kernel.type_of(operand) for operand in instruction.operands]
        return all(kind is None or width_of(kind) == width for kind in kinds)


def _compared(flow: Flow, test: Block, body: _Body, *, continues_if_taken: bool) -> tuple[str, str, str, str] | None:
    """Counter, bound, comparison and type of the test that decides whether the loop goes on."""
    comparison = body.last_write.get(test.guard or "")
    if comparison is None or comparison.name != "setp" or comparison.guard or len(comparison.operands) != 3:
        return None
    _, word, kind = comparison.opcode.split(".")
    target, x, y = comparison.operands
    if target != test.guard or not kind.startswith(("u", "s", "b")) or body.rewritten(comparison, (x, y)):
        return None
    if word in _UNSIGNED_NAMES:
        word, kind = _UNSIGNED_NAMES[word], f"u{width_of(kind)}"
    if test.negated == continues_if_taken:
        word = _OPPOSITE[word]
    if body.form(y) != CONSTANT:
        x, y, word = y, x, _SWAPPED[word]
    body.origin_at_test = body.form(x)
    if body.form(y) != CONSTANT or body.written & set(names_in(y)):
        return None
    widths = {width_of(declared) for declared in map(flow.kernel.type_of, (x, y)) if declared is not None}
    # Special registers are left to the slice, which knows their width.
    special = any(flow.kernel.type_of(name) is None for name in names_in(y))
    fits = flow.kernel.type_of(x) is not None and widths == {width_of(kind)} and not special
    return (x, y, word, kind) if fits else None


def iterations(loop: CountedLoop, x: Array, y: Array, step: Array, active: Array) -> Array | None:
    """How often each thread runs the block, as int64; None where the closed form does not hold for some thread.

    Args:
        loop: the block's closed form.
        x: the counter at the end of the first iteration, unsigned bits.
        y: the bound, unsigned bits.
        step: what an iteration adds to the counter, unsigned bits.
        active: the threads that run the loop.
    """
    signed = loop.kind.startswith("s")
    a, b, stride = _wide(x, signed=signed), _wide(y, signed=signed), _wide(step, signed=True)
    if a is None or b is None or stride is None:
        return None
    if loop.comparison in ("eq", "ne"):
        count, valid = _until_equality(loop.comparison, x, y, stride)
    else:
        count, valid = _until_order(loop, a, b, stride)
    valid = valid & (count < MOST_ITERATIONS)
    return None if bool((active & ~valid).any()) else np.where(active, count, np.int64(0))


def _wide(value: Array, *, signed: bool) -> Array | None:
    """The number as int64; None where one is too large for the arithmetic here."""
    if value.itemsize < 8:
        return (as_signed(value) if signed else value).astype(np.int64)
    wide = as_signed(value)
    too_large = (wide > SAFE) | (wide < -SAFE) if signed else value > np.uint64(SAFE)
    return None if bool(too_large.any()) else wide


def _until_order(loop: CountedLoop, x: Array, y: Array, stride: Array) -> tuple[Array, Array]:
    """Iterations while ``x < y`` and its three relatives, and where that holds without wrapping around."""
    kind = SIGNED if loop.kind.startswith("s") else UNSIGNED
    bounds = np.iinfo(kind[width_of(loop.kind)])
    greatest = min(int(bounds.max), 2 * SAFE)
    if loop.comparison in ("gt", "ge"):
        x, y, stride, greatest = -x, -y, -stride, min(-int(bounds.min), 2 * SAFE)
    if loop.comparison in ("le", "ge"):
        y = y + 1
    further = -((x - y) // np.maximum(stride, 1))
    count = np.where(x < y, 1 + further, 1)
    last = x + (count - 1) * stride
    return count, (x >= y) | ((stride > 0) & (last <= greatest))


def _until_equality(comparison: str, x: Array, y: Array, stride: Array) -> tuple[Array, Array]:
    """Iterations while ``x == y`` or ``x != y``, and where that is the first solution of the modular equation."""
    if comparison == "eq":
        return np.where(x == y, 2, 1).astype(np.int64), (x != y) | (stride != 0)
    distance = np.where(stride > 0, y - x, x - y)
    pace = np.maximum(np.abs(stride), 1)
    small = distance <= distance.dtype.type(min(SAFE, int(np.iinfo(distance.dtype).max)))
    steps = np.where(small, distance, 0).astype(np.int64)
    valid = (distance == 0) | (small & (stride != 0) & (steps % pace == 0))
    return 1 + steps // pace, valid
