"""Kernel + launch → executed instructions, without running the kernel.

Parse, build the control flow, slice backward from every guard, run the slice alone over the launch, and multiply every
other instruction by how often its block runs.

Reference: Metz, Goli, Drechsler, Towards Neural Hardware Search: Power Estimation of CNNs for GPGPUs with Dynamic
Frequency Scaling (and HyPA, the hybrid PTX analyzer described there).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from edgeperf.errors import InvalidInput
from edgeperf.ptx.classes import WORTH_IT, exposure, merged
from edgeperf.ptx.counts import BlockCount, KernelCount
from edgeperf.ptx.execution import Budget, Program, Tally, Walk, program_of
from edgeperf.ptx.flow import Flow, control_flow, is_predicated
from edgeperf.ptx.lattice import AXES, Lattice, boxes, whole
from edgeperf.ptx.program import special_registers, steps_of
from edgeperf.ptx.records import Kernel, Launch
from edgeperf.ptx.slicing import backward_slice, check_defined

MOST_NUMBERS = 2**18
"""Threads whose values are held at once; larger launches are walked in parts."""


def analyze(kernel: Kernel, launch: Launch, *, budget: Budget | None = None) -> KernelCount:
    """Executed instructions of one launch.

    Args:
        kernel: parsed PTX.
        launch: geometry, and values of parameters that decide branches.
        budget: limits for kernels that would run for ever.

    Raises:
        Refused: the count depends on data, or on something that this analyzer does not compute.
        InvalidInput: the launch does not fit the kernel.
    """
    check_launch(kernel, launch)
    flow = control_flow(kernel)
    program = _program(flow, launch.arguments)
    special = special_registers(flow, program.found)
    tally = Tally(program)
    for box in _parts(program, launch, _axes(special)):
        Walk(program, box, tally, budget or Budget()).run(special)
    return _counted(flow, program, tally, launch)


def check_launch(kernel: Kernel, launch: Launch) -> None:
    """Compares a launch with what the kernel states about itself.

    Raises:
        InvalidInput: they do not fit.
    """
    x, y, z = launch.block
    if kernel.required_block is not None and launch.block != kernel.required_block:
        raise InvalidInput(
            f"Kernel {kernel.name} requires blocks of {kernel.required_block} threads, the launch has {launch.block}."
        )
    if kernel.maximal_threads is not None and x * y * z > kernel.maximal_threads:
        raise InvalidInput(
            f"Kernel {kernel.name} allows {kernel.maximal_threads} threads per block, the launch has {launch.block}."
        )
    unknown = sorted(set(launch.arguments) - set(kernel.parameters))
    if unknown:
        raise InvalidInput(f"Kernel {kernel.name} has no parameter {unknown[0]}; it has {list(kernel.parameters)}.")


def _program(flow: Flow, arguments: Mapping[str, int]) -> Program:
    decisive = backward_slice(flow, ordinary_guards=False)
    check_defined(flow, decisive)
    steps = steps_of(flow, decisive, arguments=arguments, strict=True)
    if any(map(is_predicated, flow.kernel.instructions)):
        both = backward_slice(flow, ordinary_guards=True)
        return program_of(flow, both, steps_of(flow, both, arguments=arguments, strict=False))
    return program_of(flow, decisive, steps)


def _parts(program: Program, launch: Launch, axes: frozenset[str]) -> Iterator[Lattice]:
    """The launch in parts of bounded size, with threads and blocks that behave alike merged where that pays."""
    box = whole(launch)
    if "thread" in axes and _volume(box, axes) > WORTH_IT:
        box = merged(box, exposure(program, "thread"), "thread")
    for part in boxes(box, axes, MOST_NUMBERS):
        if "x" in axes and _volume(part, axes) > WORTH_IT:
            part = merged(part, exposure(program, "x"), "x")
        yield part


def _volume(box: Lattice, axes: frozenset[str]) -> int:
    return math.prod(axis.size for name, axis in zip(AXES, box.axes, strict=True) if name in axes)


def _axes(special: set[str]) -> frozenset[str]:
    """Axes of the launch that the slice reads."""
    axes = {name.partition(".")[2] for name in special if name.startswith("%ctaid.")} - {"w"}
    if any(name.startswith(("%tid", "%lane")) for name in special):
        axes.add("thread")
    return frozenset(axes)


def _counted(flow: Flow, program: Program, tally: Tally, launch: Launch) -> KernelCount:
    threads: Counter[str] = Counter()
    warps: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    blocks = []
    for number, block in enumerate(flow.blocks):
        in_threads, in_warps = tally.threads[number], tally.warps[number]
        blocks.append(
            BlockCount(label=block.label, first=block.first, end=block.end, threads=in_threads, warps=in_warps)
        )
        if in_threads == 0:
            continue
        for index in range(block.first, block.end):
            name = flow.kernel.instructions[index].opcode
            threads[name] += in_threads
            warps[name] += in_warps
            categories[flow.opcodes[index].category] += in_threads
    return KernelCount(
        launch=launch,
        blocks=tuple(blocks),
        opcodes=dict(threads.most_common()),
        warp_opcodes=dict(warps.most_common()),
        categories=dict(categories.most_common()),
        guard_true=_guards_met(tally),
        slice_size=program.found.size,
    )


def _guards_met(tally: Tally) -> int | None:
    total = 0
    for met in tally.guard_true.values():
        if met is None:
            return None
        total += met
    return total
