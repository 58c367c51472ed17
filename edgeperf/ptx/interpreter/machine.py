"""Kernel + launch → every instruction of every thread, run and counted one by one.

Threads of a warp that stand at the same block run together, instruction by instruction; the warp always continues at
its lowest-numbered block. Blocks of threads run one after another, their warps in turn until they meet at a barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgeperf.errors import InvalidInput
from edgeperf.ptx.flow import EXIT, control_flow
from edgeperf.ptx.interpreter.decode import decode
from edgeperf.ptx.interpreter.memory import GLOBAL_VARIABLES, Memory
from edgeperf.ptx.interpreter.operands import Operands, Read, Run, Thread, Unsupported
from edgeperf.ptx.records import WARP_SIZE, Instruction, Kernel, Launch

_CROSS_LANE = frozenset({"shfl", "vote", "activemask", "elect"})
_CONTROL = frozenset({"bra", "ret", "exit", "trap"})


class TooLong(InvalidInput):
    """A kernel runs more instructions than the caller allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What ran.

    Attributes:
        threads: per instruction of the kernel, how often threads ran it.
        warps: per instruction, how often warps ran it.
        guard_true: predicated instructions other than branches whose guard was met.
        memory: global memory at the end.
        variables: address of every variable of the module.
    """

    threads: tuple[int, ...]
    warps: tuple[int, ...]
    guard_true: int
    memory: Memory
    variables: dict[str, int]

    @property
    def executed(self) -> int:
        """Instructions, summed over threads."""
        return sum(self.threads)

    @property
    def warp_executed(self) -> int:
        """Instructions, summed over warps."""
        return sum(self.warps)


def interpret(kernel: Kernel, launch: Launch, *, limit: int = 50_000_000) -> Executed:
    """Runs all threads of a launch.

    Args:
        kernel: parsed PTX.
        launch: geometry and arguments.
        limit: most instructions, summed over threads.

    Raises:
        Unsupported: there is an instruction that the interpreter does not know.
        TooLong: the limit is reached.
    """
    machine = _Machine(kernel, launch, limit)
    for block in _indices(launch.grid):
        machine.run_block(block)
    return Executed(
        threads=tuple(machine.threads),
        warps=tuple(machine.warps),
        guard_true=machine.guard_true,
        memory=machine.memory,
        variables=machine.operands.addresses,
    )


def _indices(extent: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """All places of a box, x fastest."""
    return ((x, y, z) for z in range(extent[2]) for y in range(extent[1]) for x in range(extent[0]))


class _Machine:
    def __init__(self, kernel: Kernel, launch: Launch, limit: int) -> None:
        self.kernel = kernel
        self.launch = launch
        self.limit = limit
        self.flow = control_flow(kernel)
        self.operands = Operands(kernel, launch)
        self.memory = Memory(zeroed_from=GLOBAL_VARIABLES)
        self.threads = [0] * len(kernel.instructions)
        self.warps = [0] * len(kernel.instructions)
        self.guard_true = 0
        self.steps = 0
        self.runs = {
            index: self._decoded(index)
            for block in self.flow.blocks
            for index in range(block.first, block.end)
            if kernel.instructions[index].name not in _CONTROL
        }
        self.guards = {
            index: self.operands.reader(instruction, instruction.guard, "pred")
            for index, instruction in enumerate(kernel.instructions)
            if instruction.guard is not None and instruction.name not in _CONTROL
        }

    def _decoded(self, index: int) -> Run | None:
        instruction = self.kernel.instructions[index]
        if instruction.name in _CROSS_LANE or instruction.name in ("bar", "barrier"):
            if any(word in instruction.opcode for word in (".red", ".arrive", "vote.any.", "elect")):
                raise Unsupported(instruction)
            return None
        return decode(self.operands, instruction, self.flow.opcodes[index])

    def run_block(self, block: tuple[int, int, int]) -> None:
        """Runs one block of threads to its end."""
        shared = Memory()
        threads = [
            Thread(index=index, block=block, lane=number % WARP_SIZE, shared=shared, memory=self.memory)
            for number, index in enumerate(_indices(self.launch.block))
        ]
        if not self.flow.blocks:
            return
        warps = [threads[start : start + WARP_SIZE] for start in range(0, len(threads), WARP_SIZE)]
        alive = True
        while alive:
            for warp in warps:
                self._run_warp(warp)
            for thread in threads:
                thread.waiting = False
            alive = any(thread.position != EXIT for thread in threads)

    def _run_warp(self, warp: list[Thread]) -> None:
        """Runs a warp until all its threads are done or wait at a barrier."""
        while True:
            ready = [thread for thread in warp if thread.position != EXIT and not thread.waiting]
            if not ready:
                return
            number = min(thread.position for thread in ready)
            self._run_basic_block(number, [thread for thread in ready if thread.position == number])

    def _run_basic_block(self, number: int, group: list[Thread]) -> None:
        block = self.flow.blocks[number]
        self.steps += len(group) * max(block.end - block.first, 1)
        if self.steps > self.limit:
            raise TooLong(f"Kernel {self.kernel.name} runs more than {self.limit} instructions.")
        for index in range(block.first, block.end):
            self.threads[index] += len(group)
            self.warps[index] += 1
            self._run_instruction(index, group)
        for thread in group:
            thread.position = block.taken
            if block.guard is not None:
                met = bool(thread.registers.get(block.guard, 0)) != block.negated
                thread.position = block.taken if met else block.otherwise

    def _run_instruction(self, index: int, group: list[Thread]) -> None:
        instruction = self.kernel.instructions[index]
        guard = self.guards.get(index)
        if guard is not None:
            group = [thread for thread in group if bool(guard(thread)) != instruction.negated]
            self.guard_true += len(group)
        run = self.runs.get(index)
        if run is not None:
            for thread in group:
                run(thread)
        elif instruction.name in ("bar", "barrier"):
            for thread in group:
                thread.waiting = ".warp." not in instruction.opcode
        elif instruction.name in _CROSS_LANE:
            self._exchange(instruction, group)

    def _exchange(self, instruction: Instruction, group: list[Thread]) -> None:
        """Instructions in which lanes of a warp read each other."""
        target = instruction.operands[0].split("|")
        write = self.operands.writer(instruction, target[0].strip())
        if instruction.name == "shfl":
            self._shuffle(instruction, group)
            return
        if instruction.name == "activemask":
            values = {thread.lane: sum(1 << other.lane for other in group) for thread in group}
        else:
            values = self._vote(instruction, group)
        for thread in group:
            write(thread, values[thread.lane])

    def _vote(self, instruction: Instruction, group: list[Thread]) -> dict[int, int]:
        read = self.operands.reader(instruction, instruction.operands[1], "pred")
        ballot = sum(1 << thread.lane for thread in group if read(thread))
        everyone = sum(1 << thread.lane for thread in group)
        results = {
            ".ballot": ballot,
            ".all": int(ballot == everyone),
            ".any": int(ballot != 0),
            ".uni": int(ballot in (0, everyone)),
        }
        result = next((value for word, value in results.items() if word in instruction.opcode), None)
        if result is None:
            raise Unsupported(instruction)
        return dict.fromkeys((thread.lane for thread in group), result)

    def _shuffle(self, instruction: Instruction, group: list[Thread]) -> None:
        """``shfl``: each lane reads another one's register (PTX ISA 8.8, section 9.7.9.6)."""
        target, source, *rest = instruction.operands
        names = [name.strip() for name in target.split("|")]
        writes = [self.operands.writer(instruction, name) for name in names]
        read = self.operands.reader(instruction, source, "b32")
        amounts: list[Read] = [self.operands.reader(instruction, operand, "u32") for operand in rest[:2]]
        values = {thread.lane: read(thread) for thread in group}
        mode = next(word for word in ("up", "down", "bfly", "idx") if f".{word}." in instruction.opcode)
        for thread in group:
            lane, inside = _shuffled(mode, thread.lane, amounts[0](thread) & 31, amounts[1](thread))
            writes[0](thread, values.get(lane, values[thread.lane]) if inside else values[thread.lane])
            if len(writes) > 1:
                writes[1](thread, int(inside))


def _shuffled(mode: str, lane: int, distance: int, clamp_and_mask: int) -> tuple[int, bool]:
    """The lane that a lane reads, and whether that is inside its segment."""
    mask, clamp = clamp_and_mask >> 8 & 31, clamp_and_mask & 31
    most, least = lane & mask | clamp & ~mask, lane & mask
    if mode == "up":
        source = lane - distance
        return source, source >= most
    sources = {"idx": least | distance & ~mask, "down": lane + distance, "bfly": lane ^ distance}
    return sources[mode], sources[mode] <= most
