"""Kernel → basic blocks in the order in which warps run them.

A block ends at a branch, at a return, at a label and at a block-wide barrier. Blocks are numbered in a weak topological
order: every loop is contiguous, entered at its first block, and everything that follows a loop comes after it. A warp
that always runs its lowest-numbered waiting block reconverges as early as the order allows.

Reference: Bourdoncle, Efficient chaotic iteration strategies with widenings, FMPA 1993, section 3 (weak topological
order); Diamos et al., SIMD re-convergence at thread frontiers, MICRO 2011 (why the lowest block runs first).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeperf.ptx.errors import Refused
from edgeperf.ptx.opcodes import Opcode, opcode_of
from edgeperf.ptx.records import Instruction, Kernel

EXIT = -1
"""The successor of a block that ends the thread."""

_ENDS_THREAD = frozenset({"ret", "exit", "trap"})
_BARRIERS = frozenset({"bar", "barrier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Instructions that run one after another.

    Attributes:
        label: that stands before it; empty where there is none.
        first: index of its first instruction in the kernel.
        end: index after its last instruction.
        taken: block that follows where the last instruction branches, or always if `guard` is None; or `EXIT`.
        otherwise: block that follows where the guard is not met; `EXIT` too, and only read if there is a guard.
        guard: predicate register of the branch at the end; None where the block has one successor.
        negated: whether the branch is taken where the guard is false.
    """

    label: str
    first: int
    end: int
    taken: int
    otherwise: int = EXIT
    guard: str | None = None
    negated: bool = False

    @property
    def successors(self) -> tuple[int, ...]:
        """The blocks that may follow, without `EXIT`."""
        both = (self.taken,) if self.guard is None else (self.taken, self.otherwise)
        return tuple(dict.fromkeys(block for block in both if block != EXIT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A kernel's control flow.

    Attributes:
        kernel: whose.
        blocks: those that can be reached, in weak topological order; the first is the entry.
        opcodes: of every instruction of the kernel.
    """

    kernel: Kernel
    blocks: tuple[Block, ...]
    opcodes: tuple[Opcode, ...]

    def instructions(self, block: Block) -> tuple[Instruction, ...]:
        """The instructions of a block."""
        return self.kernel.instructions[block.first : block.end]


def is_predicated(instruction: Instruction) -> bool:
    """Whether an instruction runs only where a guard is met, and is no branch."""
    return instruction.guard is not None and instruction.name != "bra" and instruction.name not in _ENDS_THREAD


def control_flow(kernel: Kernel) -> Flow:
    """The kernel's blocks in the order in which warps run them.

    Raises:
        Refused: an opcode is not known, or where control goes cannot be read (``brx``, calls of functions with a body).
    """
    opcodes = tuple(opcode_of(instruction) for instruction in kernel.instructions)
    for instruction in kernel.instructions:
        _refuse_calls(kernel, instruction)
    blocks = _blocks(kernel)
    order = weak_topological_order([block.successors for block in blocks])
    number = {old: new for new, old in enumerate(order)}
    number[EXIT] = EXIT
    renumbered = tuple(_renumbered(blocks[old], number) for old in order)
    return Flow(kernel=kernel, blocks=renumbered, opcodes=opcodes)


def _refuse_calls(kernel: Kernel, instruction: Instruction) -> None:
    if instruction.name == "brx":
        raise Refused(instruction.line, f"'{instruction.opcode}' jumps to where a register says; it is not followed")
    if instruction.name == "call":
        called = next((operand for operand in instruction.operands if operand in kernel.functions), None)
        if called is not None:
            raise Refused(instruction.line, f"it calls {called}, whose own instructions would be missing")
        if any(operand.startswith("%") for operand in instruction.operands):
            raise Refused(instruction.line, "it calls a function through a register")


def _leaders(kernel: Kernel) -> list[int]:
    leaders = {0, *kernel.labels.values()}
    for index, instruction in enumerate(kernel.instructions):
        if instruction.name == "bra" or instruction.name in _ENDS_THREAD or instruction.name in _BARRIERS:
            leaders.add(index + 1)
    return sorted(leader for leader in leaders if leader < len(kernel.instructions))


def _blocks(kernel: Kernel) -> list[Block]:
    """Blocks in text order."""
    leaders = _leaders(kernel) or [0]
    at = {leader: index for index, leader in enumerate(leaders)}
    names = {index: name for name, index in kernel.labels.items()}
    blocks = []
    for index, (first, end) in enumerate(zip(leaders, [*leaders[1:], len(kernel.instructions)], strict=True)):
        following = index + 1 if index + 1 < len(leaders) else EXIT
        last = kernel.instructions[end - 1] if end > first else None
        taken = _taken(kernel, last, at, following)
        conditional = last is not None and last.guard is not None and taken != following
        blocks.append(
            Block(
                label=names.get(first, ""),
                first=first,
                end=end,
                taken=taken,
                otherwise=following,
                guard=last.guard if last is not None and conditional else None,
                negated=last is not None and conditional and last.negated,
            )
        )
    return blocks


def _taken(kernel: Kernel, last: Instruction | None, at: dict[int, int], following: int) -> int:
    """Where control goes from the last instruction of a block if its guard is met."""
    if last is not None and last.name == "bra":
        return _target(kernel, last, at)
    return EXIT if last is not None and last.name in _ENDS_THREAD else following


def _target(kernel: Kernel, branch: Instruction, at: dict[int, int]) -> int:
    label = branch.operands[0]
    if label not in kernel.labels:
        raise Refused(branch.line, f"it branches to {label!r}, which is no label")
    return at.get(kernel.labels[label], EXIT)


def _renumbered(block: Block, number: dict[int, int]) -> Block:
    return Block(
        label=block.label,
        first=block.first,
        end=block.end,
        taken=number[block.taken],
        otherwise=number.get(block.otherwise, EXIT) if block.guard is not None else EXIT,
        guard=block.guard,
        negated=block.negated,
    )


def weak_topological_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Nodes that can be reached from node 0, loops contiguous and before what follows them.

    >>> weak_topological_order([[1], [2, 3], [1], []])
    [0, 1, 2, 3]
    """
    depth_first = _reverse_postorder(successors, [0], set(range(len(successors))))
    position = {node: index for index, node in enumerate(depth_first)}
    order: list[int] = []
    work: list[int | set[int]] = [set(depth_first)]
    while work:
        item = work.pop()
        if isinstance(item, int):
            order.append(item)
            continue
        for component in _components(successors, item, position):
            head = min(component, key=position.__getitem__)
            rest = component - {head}
            if rest:
                work.append(rest)
            work.append(head)
    return order


def _reverse_postorder(successors: Sequence[Sequence[int]], roots: Iterable[int], inside: set[int]) -> list[int]:
    seen: set[int] = set()
    finished: list[int] = []
    for root in roots:
        stack: list[tuple[int, int]] = [] if root in seen else [(root, 0)]
        seen.add(root)
        while stack:
            node, next_child = stack.pop()
            children = successors[node]
            if next_child < len(children):
                stack.append((node, next_child + 1))
                child = children[next_child]
                if child in inside and child not in seen:
                    seen.add(child)
                    stack.append((child, 0))
            else:
                finished.append(node)
    return finished[::-1]


def _components(successors: Sequence[Sequence[int]], inside: set[int], position: dict[int, int]) -> list[set[int]]:
    """Strongly connected components of a subset, last first in topological order (Kosaraju)."""
    forward = _reverse_postorder(successors, sorted(inside, key=position.__getitem__), inside)
    backward: dict[int, list[int]] = {node: [] for node in inside}
    for node in inside:
        for child in successors[node]:
            if child in inside:
                backward[child].append(node)
    assigned: set[int] = set()
    components: list[set[int]] = []
    for root in forward:
        if root in assigned:
            continue
        component, stack = {root}, [root]
        assigned.add(root)
        while stack:
            for parent in backward[stack.pop()]:
                if parent not in assigned:
                    assigned.add(parent)
                    component.add(parent)
                    stack.append(parent)
        components.append(component)
    return components[::-1]
