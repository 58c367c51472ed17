"""Damaged PTX: a clear error within bounded work, or a count that the interpreter confirms; never anything else."""

from __future__ import annotations

import pytest

from edgeperf.errors import EdgePerfError
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.execution import Budget
from edgeperf.ptx.interpreter import TooLong, Unsupported, interpret
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Kernel, Launch
from tests.ptx.helpers import HEADER, per_instruction
from tests.ptx.mutations import mutated
from tests.ptx.random_kernels import random_kernel

BUDGET = Budget(block_runs=1_500, numbers=2**24)

CONVOLUTION = (
    HEADER
    + """
.visible .entry k(
	.param .u64 .ptr .align 16 k_param_0,
	.param .u64 .ptr .align 256 k_param_1
)
.reqntid 64, 1, 1
{
	.reg .pred 	%p<5>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<10>;
	ld.param.b64 	%rd1, [k_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	ld.param.b64 	%rd3, [k_param_1];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %tid.x;
	shr.u32 	%r3, %r2, 3;
	and.b32 	%r4, %r2, 7;
	mov.b32 	%r8, 0f00000000;
	mov.b32 	%r5, -1;
$L__BB0_1:
	add.s32 	%r6, %r3, %r5;
	setp.gt.u32 	%p1, %r6, 7;
	@%p1 bra 	$L__BB0_3;
	mov.b32 	%r7, -32;
$L__BB0_2:
	ld.global.nc.v4.b32 	{%r10, %r11, %r12, %r13}, [%rd2+16];
	mul.rn.f32 	%r9, %r10, %r11;
	add.rn.f32 	%r8, %r8, %r9;
	add.s32 	%r7, %r7, 32;
	setp.lt.u32 	%p2, %r7, 96;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	add.s32 	%r5, %r5, 1;
	setp.ne.b32 	%p3, %r5, 2;
	@%p3 bra 	$L__BB0_1;
	mad.lo.s32 	%r14, %r1, 64, %r2;
	setp.lt.u32 	%p4, %r14, 100;
	@!%p4 bra 	$L__BB0_4;
	mul.wide.u32 	%rd4, %r14, 4;
	add.s64 	%rd5, %rd3, %rd4;
	st.global.b32 	[%rd5], %r8;
$L__BB0_4:
	ret;

}
"""
)
LAUNCH = Launch(kernel="k", grid=(2, 1, 1), block=(64, 1, 1))


def examine(text: str, launch: Launch) -> str:
    """What becomes of a text; anything but an error of ours, or a confirmed count, fails the test."""
    try:
        kernel = parse(text).kernels.get(launch.kernel)
        if kernel is None:
            return "no such kernel"
        count = analyze(kernel, launch, budget=BUDGET)
    except EdgePerfError as error:
        return type(error).__name__ if str(error) else "an error without words"
    return confirmed(kernel, launch, per_instruction(kernel, count))


def confirmed(kernel: Kernel, launch: Launch, counts: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    try:
        executed = interpret(kernel, launch, limit=60_000)
    except Unsupported:
        return "counted, not interpreted"
    except TooLong:
        assert sum(counts[0]) > 30_000
        return "too long to interpret"
    assert counts == (executed.threads, executed.warps)
    return "confirmed"


def test_the_kernel_itself_is_confirmed() -> None:
    assert examine(CONVOLUTION, LAUNCH) == "confirmed"


@pytest.mark.parametrize("part", range(4))
def test_mutations_of_a_convolution(part: int) -> None:
    outcomes = [examine(mutated(CONVOLUTION, seed), LAUNCH) for seed in range(part * 500, part * 500 + 500)]
    assert outcomes.count("confirmed") > 50
    assert outcomes.count("MalformedPtx") > 100
    assert outcomes.count("Refused") > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_a_hundred_thousand_mutations(part: int) -> None:
    for seed in range(10_000 + part * 5_000, 10_000 + part * 5_000 + 5_000):
        if seed % 2:
            text, launch = random_kernel(seed % 997)
            examine(mutated(text, seed), launch)
        else:
            examine(mutated(CONVOLUTION, seed), LAUNCH)


@pytest.mark.parametrize("length", range(0, len(CONVOLUTION), 97))
def test_truncated_text_is_an_error(length: int) -> None:
    assert examine(CONVOLUTION[:length], LAUNCH) in ("MalformedPtx", "no such kernel")


def test_a_mutation_that_changes_control_flow_changes_the_count() -> None:
    base = analyze(parse(CONVOLUTION).kernels["k"], LAUNCH).executed
    for old, new in (("lt.u32 	%p2", "le.u32 	%p2"), (", 100;", ", 101;"), ("@!%p4", "@%p4"), ("-32;", "-64;")):
        changed = CONVOLUTION.replace(old, new)
        assert changed != CONVOLUTION
        assert analyze(parse(changed).kernels["k"], LAUNCH).executed != base, (old, new)
