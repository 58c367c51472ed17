"""Small pieces that the PTX tests share."""

from __future__ import annotations

from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.counts import KernelCount
from edgeperf.ptx.interpreter import Executed, interpret
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Extent, Kernel, Launch

HEADER = ".version 8.8\n.target sm_53\n.address_size 64\n"

REGISTERS = """
	.reg .pred %p<20>;
	.reg .b16 %rs<20>;
	.reg .b32 %r<100>;
	.reg .b64 %rd<40>;
	.reg .f32 %f<20>;
"""


def kernel_of(body: str, *, parameters: str = "", registers: str = REGISTERS) -> Kernel:
    """The kernel ``k`` with this body."""
    text = f"{HEADER}.visible .entry k({parameters})\n{{\n{registers}\n{body}\n}}\n"
    return parse(text).kernels["k"]


def launch_of(grid: int | Extent = 1, block: int | Extent = 32, **arguments: int) -> Launch:
    """A launch of ``k``."""
    return Launch(
        kernel="k",
        grid=(grid, 1, 1) if isinstance(grid, int) else grid,
        block=(block, 1, 1) if isinstance(block, int) else block,
        arguments=arguments,
    )


def per_instruction(kernel: Kernel, count: KernelCount) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Thread and warp counts of every instruction; 0 for those that are never reached."""
    threads, warps = [0] * len(kernel.instructions), [0] * len(kernel.instructions)
    for block in count.blocks:
        for index in range(block.first, block.end):
            threads[index], warps[index] = block.threads, block.warps
    return tuple(threads), tuple(warps)


def assert_agree(kernel: Kernel, launch: Launch) -> tuple[KernelCount, Executed]:
    """Analyzer and interpreter say the same of every instruction."""
    count, executed = analyze(kernel, launch), interpret(kernel, launch)
    threads, warps = per_instruction(kernel, count)
    assert threads == executed.threads
    assert warps == executed.warps
    assert count.guard_true in (None, executed.guard_true)
    assert sum(count.opcodes.values()) == executed.executed == sum(count.categories.values())
    return count, executed
