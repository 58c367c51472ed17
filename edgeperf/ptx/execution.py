"""Steps + launch → how often every basic block runs, per thread and per warp.

All threads of a box of the launch walk together. Threads wait at blocks; the lowest waiting block runs next, for all of
its threads at once, as warps do that reconverge as early as possible. A block counts once per thread that is there, and
once per warp that has a thread there. Counts are exact integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeperf.ptx.errors import Refused
from edgeperf.ptx.flow import EXIT, Block, Flow, is_predicated
from edgeperf.ptx.lattice import Array, Lattice, scalar
from edgeperf.ptx.loops import CountedLoop, counted_loop, iterations
from edgeperf.ptx.operands import Registers, immediate
from edgeperf.ptx.program import Step
from edgeperf.ptx.slicing import Slice
from edgeperf.ptx.slicing import written as written_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Everything that running a kernel's slice needs.

    Attributes:
        flow: of the kernel.
        found: its slice.
        steps: per block.
        loops: per block, the closed form of the loop that is entered there, where there is one.
        guarded: per block, indices of predicated instructions other than the branch at its end.
    """

    flow: Flow
    found: Slice
    steps: tuple[tuple[Step, ...], ...]
    loops: tuple[CountedLoop | None, ...]
    guarded: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits that end the analysis of kernels that would run for ever.

    Attributes:
        block_runs: how many times a block may run for one part of the launch.
        numbers: how many numbers may be held by the masks of all block runs together.
    """

    block_runs: int = 200_000
    numbers: int = 2**33


class Tally:
    """What is counted.

    Attributes:
        threads: per block, how often threads ran it.
        warps: per block, how often warps ran it.
        guard_true: per predicated instruction, how often its guard was met; None where that is not known.
    """

    def __init__(self, program: Program) -> None:
        self.threads = [0] * len(program.flow.blocks)
        self.warps = [0] * len(program.flow.blocks)
        self.guard_true: dict[int, int | None] = {index: 0 for block in program.guarded for index in block}
        self.numbers = 0


def program_of(flow: Flow, found: Slice, steps: tuple[tuple[Step, ...], ...]) -> Program:
    """The program of a slice, with the closed forms of its loops."""
    instructions = flow.kernel.instructions
    guarded = tuple(
        tuple(index for index in range(block.first, block.end) if is_predicated(instructions[index]))
        for block in flow.blocks
    )
    predecessors = [0] * len(flow.blocks)
    for block in flow.blocks:
        for successor in block.successors:
            predecessors[successor] += 1
    loops = tuple(
        None if loop is None or _guards_vary(flow, found, loop, guarded) else loop
        for loop in (counted_loop(flow, found, number, predecessors) for number in range(len(flow.blocks)))
    )
    return Program(flow=flow, found=found, steps=steps, loops=loops, guarded=guarded)


def _guards_vary(flow: Flow, found: Slice, loop: CountedLoop, guarded: tuple[tuple[int, ...], ...]) -> bool:
    """Whether a predicate of an ordinary instruction in a loop is also written there."""
    blocks = (*loop.until_test, *loop.after_test)
    instructions = flow.kernel.instructions
    written = {name for block in blocks for index in found.members[block] for name in written_by(flow, index)}
    return any(str(instructions[index].guard) in written for block in blocks for index in guarded[block])


class _Mask:
    """The threads at a block, with their counts remembered."""

    __slots__ = ("_sums", "threads")

    def __init__(self, threads: Array) -> None:
        self.threads = threads
        self._sums: tuple[int, int] | None = None

    def sums(self, lattice: Lattice) -> tuple[int, int]:
        """Threads and warps."""
        if self._sums is None:
            self._sums = (lattice.thread_sum(self.threads), lattice.warp_sum(self.threads))
        return self._sums


class Walk:
    """Runs a program over one box of a launch and adds to a tally."""

    def __init__(self, program: Program, lattice: Lattice, tally: Tally, budget: Budget) -> None:
        self.program = program
        self.lattice = lattice
        self.tally = tally
        self.budget = budget
        self.registers: Registers = {}
        self.waiting: dict[int, _Mask] = {}
        self.block_runs = 0

    def run(self, special: set[str]) -> None:
        """Runs all threads to their end.

        Raises:
            Refused: a count cannot be known, or the budget is used up.
        """
        if not self.program.flow.blocks:
            return
        for name in special:
            self.registers[name] = self.lattice.special(name)
        self.waiting = {0: _Mask(scalar(1, np.bool_))}
        while self.waiting:
            number = min(self.waiting)
            mask = self.waiting.pop(number)
            self._spend(number)
            loop = self.program.loops[number]
            if loop is None or not self._run_counted(loop, mask):
                self._run_block(number, mask)

    def _spend(self, number: int) -> None:
        self.block_runs += 1
        if self.block_runs > self.budget.block_runs or self.tally.numbers > self.budget.numbers:
            block = self.program.flow.blocks[number]
            line = self.program.flow.kernel.instructions[block.first].line if block.end > block.first else 0
            raise Refused(line, f"still running after {self.budget.block_runs} block runs, or too many threads differ")

    def _run_block(self, number: int, mask: _Mask) -> None:
        threads, warps = mask.sums(self.lattice)
        self.tally.threads[number] += threads
        self.tally.warps[number] += warps
        self._run_steps(number, mask.threads, weights=mask.threads)
        self._leave(self.program.flow.blocks[number], mask)

    def _run_steps(self, number: int, threads: Array, *, weights: Array | None) -> None:
        """Runs the slice of a block once; counts met guards of ordinary instructions with these weights."""
        steps = self.program.steps[number]
        done = 0
        for index in self.program.guarded[number]:
            while done < len(steps) and steps[done].index < index:
                self._run_step(steps[done], threads)
                done += 1
            if weights is not None:
                self._count_guard(index, weights)
        for step in steps[done:]:
            self._run_step(step, threads)

    def _count_guard(self, index: int, weights: Array) -> None:
        instruction = self.program.flow.kernel.instructions[index]
        counted, value = self.tally.guard_true[index], self.registers.get(str(instruction.guard))
        if counted is None or value is None:
            self.tally.guard_true[index] = None
            return
        met = ~value if instruction.negated else value
        weighted = weights & met if weights.dtype == np.bool_ else np.where(met, weights, 0)
        self.tally.guard_true[index] = counted + self.lattice.thread_sum(weighted)

    def _run_step(self, step: Step, threads: Array) -> None:
        if step.divisor is not None:
            divisor = step.divisor(self.registers)
            if divisor is not None and bool((threads & (divisor == 0)).any()):
                raise Refused(
                    step.instruction.line, f"'{step.instruction.opcode}' divides by zero and decides a branch"
                )
        value = step.run(self.registers)
        self.tally.numbers += 0 if value is None else value.size
        if step.guard is not None:
            value = self._predicated(step, value)
        self._assign(step.writes, value, threads)

    def _predicated(self, step: Step, value: Array | None) -> Array | None:
        condition, old = self.registers.get(str(step.guard)), self.registers.get(step.writes)
        if condition is None or value is None:
            return None
        if old is None:
            return None if step.writes in self.registers else value
        return np.where(~condition if step.negated else condition, value, old)

    def _assign(self, register: str, value: Array | None, threads: Array) -> None:
        """Writes a register for the threads here, and keeps it for waiting threads that still read it."""
        if value is not None and register in self.registers and self._read_elsewhere(register):
            old = self.registers[register]
            value = None if old is None else np.where(threads, value, old)
        self.registers[register] = value

    def _read_elsewhere(self, register: str) -> bool:
        return any(register in self.program.found.live_in[number] for number in self.waiting)

    def _leave(self, block: Block, mask: _Mask) -> None:
        """Sends the threads to the blocks that follow."""
        if block.guard is None:
            self._arrive(block.taken, mask)
            return
        condition = self.registers[block.guard]
        if condition is None:
            line = self.program.flow.kernel.instructions[block.end - 1].line
            raise Refused(line, f"the value of {block.guard} is not known")
        condition = ~condition if block.negated else condition
        if condition.size == 1:
            # All threads agree, which most loops do: nothing as large as the launch is touched.
            self._arrive(block.taken if condition.item() else block.otherwise, mask)
            return
        self.tally.numbers += mask.threads.size
        taken = mask.threads & condition
        if not taken.any():
            self._arrive(block.otherwise, mask)
            return
        left = mask.threads & ~condition
        if not left.any():
            self._arrive(block.taken, mask)
            return
        self._arrive(block.taken, _Mask(taken))
        self._arrive(block.otherwise, _Mask(left))

    def _arrive(self, number: int, mask: _Mask) -> None:
        if number == EXIT:
            return
        already = self.waiting.get(number)
        if already is not None:
            together = already.threads | mask.threads
            mask = _Mask(scalar(1, np.bool_) if together.all() else together)
        self.waiting[number] = mask

    def _run_counted(self, loop: CountedLoop, mask: _Mask) -> bool:
        """Runs a loop by its closed form; False, with nothing changed, where that does not hold."""
        before = dict(self.registers)
        self._run_blocks(loop.until_test, mask.threads, weights=None)
        at_test = dict(self.registers) if loop.after_test else self.registers
        self._run_blocks(loop.after_test, mask.threads, weights=None)
        after, self.registers = self.registers, before
        steps = {name: _difference(after.get(name), before.get(name)) for name in loop.carried}
        bound = immediate(loop.bound, loop.kind)
        bound = at_test.get(loop.bound) if bound is None else bound
        counter, stride = at_test.get(loop.counter), steps[loop.origin]
        if counter is None or bound is None or stride is None or any(step is None for step in steps.values()):
            return False
        counts = iterations(loop, counter, bound, stride, mask.threads)
        if counts is None:
            return False
        again = np.maximum(counts - 1, 0)
        for name, step in steps.items():
            old = before[name]
            if old is not None and step is not None:
                self._assign(name, old + again.astype(old.dtype) * step, mask.threads)
        self._run_blocks(loop.until_test, mask.threads, weights=counts)
        self._count(loop.until_test, counts)
        self._count(loop.after_test, again)
        self._arrive(loop.leaves_to, mask)
        return True

    def _run_blocks(self, blocks: tuple[int, ...], threads: Array, *, weights: Array | None) -> None:
        for number in blocks:
            self._run_steps(number, threads, weights=weights)

    def _count(self, blocks: tuple[int, ...], counts: Array) -> None:
        threads, warps = self.lattice.thread_sum(counts), self.lattice.warp_sum(counts)
        for number in blocks:
            self.tally.threads[number] += threads
            self.tally.warps[number] += warps


def _difference(after: Array | None, before: Array | None) -> Array | None:
    return None if after is None or before is None else after - before
