"""Closed forms of counted loops: counters that wrap around, unsigned against signed, odd strides, late comparisons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.execution import Budget
from edgeperf.ptx.flow import control_flow
from edgeperf.ptx.interpreter import TooLong, interpret
from edgeperf.ptx.loops import counted_loop
from edgeperf.ptx.records import Kernel, Launch
from edgeperf.ptx.slicing import backward_slice
from tests.ptx.helpers import assert_agree, kernel_of, launch_of


def loop_kernel(start: int, step: int, word: str, kind: str, bound: int) -> Kernel:
    width = int(kind[1:])
    register, plain = {16: ("%rs1", "s16"), 32: ("%r1", "s32"), 64: ("%rd1", "s64")}[width]
    return kernel_of(
        f"mov.b{width} {register}, {start};\n$LOOP:\nadd.{plain} {register}, {register}, {step};\n"
        f"setp.{word}.{kind} %p1, {register}, {bound};\n@%p1 bra $LOOP;\nret;"
    )


def iterations(kernel: Kernel) -> int:
    return analyze(kernel, launch_of(block=1)).blocks[1].threads


def has_closed_form(kernel: Kernel) -> bool:
    flow = control_flow(kernel)
    predecessors = [sum(number in block.successors for block in flow.blocks) for number in range(len(flow.blocks))]
    return counted_loop(flow, backward_slice(flow, ordinary_guards=False), 1, predecessors) is not None


@pytest.mark.parametrize(
    ("start", "step", "word", "kind", "bound", "expected"),
    [
        (0, 1, "lt", "u32", 10, 10),
        (0, 3, "lt", "u32", 10, 4),
        (0, 3, "ne", "u32", 12, 4),
        (0, 3, "le", "s32", 12, 5),
        (10, -1, "gt", "s32", 0, 10),
        (10, -3, "ge", "s32", -2, 5),
        (-32, 32, "lt", "u32", 96, 4),  # as XLA writes it: wraps to zero before the first comparison
        (-4, 2, "ne", "u32", 6, 5),  # passes zero on its way: modular, not ordered
        (2**31 - 3, 1, "ne", "s32", -(2**31) + 2, 5),  # passes the largest signed number
        (2**31 - 3, 1, "lt", "u32", 2**31 + 2, 5),  # unsigned: no wrap there
        (0, -1, "gt", "u32", 0xFFFFFFF0, 16),  # counts down from the largest unsigned number
        (5, 1, "eq", "u32", 6, 2),
        (5, 1, "eq", "u32", 9, 1),
        (0, 1, "lt", "u64", 10**12, 10**12),
        (-5, 1, "lt", "s64", 10**9, 10**9 + 5),
        (32760, 4, "lt", "s16", 32766, 1),  # 32764 < 32766, then wraps to -32768: see below
        (0, 7, "lo", "u32", 100, 15),
        (0, 2**30, "ne", "u32", 0, 4),
    ],
)
def test_known_loops(start: int, step: int, word: str, kind: str, bound: int, expected: int) -> None:
    kernel = loop_kernel(start, step, word, kind, bound)
    assert has_closed_form(kernel)
    if kind == "s16":
        # 32764, -32768, -32764, ... up to 32764 again: the loop never ends, and neither tool may claim that it does.
        with pytest.raises(Refused, match="still running"):
            analyze(kernel, launch_of(block=1), budget=Budget(block_runs=2_000))
        return
    assert iterations(kernel) == expected


def test_the_closed_form_is_used_for_long_loops() -> None:
    """10^12 iterations would never end if they were run."""
    assert iterations(loop_kernel(0, 1, "ne", "u64", 10**12)) == 10**12


def test_sums_beyond_64_bits_are_exact() -> None:
    launch = Launch(kernel="k", grid=(2**31 - 1, 1, 1), block=(1024, 1, 1))
    found = analyze(loop_kernel(0, 1, "lt", "u64", 10**12), launch)
    assert found.blocks[1].threads == 10**12 * (2**31 - 1) * 1024
    assert found.blocks[1].warps == 10**12 * (2**31 - 1) * 32


def test_different_counts_per_thread() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	mul.lo.u32 %r2, %r1, 3;
	mov.u32 %r3, %ctaid.x;
	add.u32 %r2, %r2, %r3;
	mov.u32 %r4, 0;
	mov.u32 %r6, 5;
$LOOP:
	add.u32 %r5, %r4, 2;
	add.u32 %r6, %r6, 1;
	setp.lt.u32 %p1, %r5, %r2;
	mov.u32 %r4, %r5;
	@%p1 bra $LOOP;
	setp.gt.u32 %p2, %r6, 20;
	@%p2 ret;
	add.u32 %r7, %r6, 1;
	ret;
""")
    assert has_closed_form(kernel)
    assert_agree(kernel, launch_of(grid=3, block=70))


def test_a_stride_that_only_the_launch_knows() -> None:
    """The usual loop over a grid: i += blocks * threads."""
    kernel = kernel_of("""
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mad.lo.u32 %r3, %r1, %r2, %tid.x;
	mul.lo.u32 %r4, %r2, %nctaid.x;
$LOOP:
	add.u32 %r3, %r3, %r4;
	setp.lt.u32 %p1, %r3, 1000;
	@%p1 bra $LOOP;
	ret;
""")
    assert has_closed_form(kernel)
    count, _ = assert_agree(kernel, launch_of(grid=3, block=32))
    assert count.opcodes["setp.lt.u32"] == 1000


@pytest.mark.parametrize(
    "body",
    [
        # compares before it counts
        "setp.lt.u32 %p1, %r1, 9;\nadd.u32 %r1, %r1, 2;",
        # the bound moves too
        "add.u32 %r1, %r1, 3;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r1, %r2;",
        # doubles
        "shl.b32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 900;",
        # compares with its own past
        "add.u32 %r3, %r1, 48;\nsetp.gt.u32 %p1, %r3, %r1;\nmov.u32 %r1, %r3;\nsetp.lt.u32 %p1, %r3, 100;",
        # saturates
        "add.u32 %r1, %r1, 7;\nmin.u32 %r1, %r1, 50;\nsetp.ne.u32 %p1, %r1, 50;",
        # a predicate from the iteration before
        "mov.pred %p1, %p2;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 5;",
        # the counter is written twice
        "add.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 2;\nsetp.le.u32 %p1, %r1, 30;",
        # a predicated step
        "setp.lt.u32 %p3, %r1, 4;\n@%p3 add.u32 %r1, %r1, 1;\n@!%p3 add.u32 %r1, %r1, 5;\nsetp.lt.u32 %p1, %r1, 40;",
        # narrower than its register
        "add.u32 %r1, %r1, 9000;\ncvt.u16.u32 %rs1, %r1;\nsetp.lt.u16 %p1, %rs1, 60000;",
        # the halves of a wide counter
        "add.s64 %rd2, %rd2, 1073741824;\nmov.b64 {%r5, %r6}, %rd2;\nsetp.lt.u32 %p1, %r6, 3;",
        "add.s64 %rd2, %rd2, 1073741824;\nmov.b64 {%r5, %r6}, %rd2;\nsetp.ne.u32 %p1, %r5, 0;",
        # counts and stores under a predicate that varies
        (
            "add.u32 %r1, %r1, 1;\nand.b32 %r4, %r1, 1;\nsetp.eq.u32 %p4, %r4, 0;\n"
            "@%p4 st.global.u32 [%rd1], %r1;\nsetp.lt.u32 %p1, %r1, 11;"
        ),
        # counts and stores under a predicate that stays
        "add.u32 %r1, %r1, 1;\n@%p5 st.global.u32 [%rd1], %r1;\nsetp.lt.u32 %p1, %r1, 11;",
    ],
)  # fmt: skip
@pytest.mark.parametrize("negated", [False, True])
def test_loops_of_every_shape(body: str, negated: bool) -> None:
    kernel = kernel_of(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 20;\nmov.u32 %r4, 0;\nsetp.eq.u32 %p1, %r1, 77;\nsetp.lt.u32 %p2, %r1, 9;\n"
        "setp.lt.u32 %p5, %r1, 3;\ncvt.u64.u32 %rd2, %r1;\nshl.b64 %rd2, %rd2, 30;\nld.param.u64 %rd1, [out];\n"
        f"$LOOP:\n{body}\n" + ("@!%p1 bra $END;\nbra.uni $LOOP;\n" if negated else "@%p1 bra $LOOP;\n") + "$END:\nret;",
        parameters=".param .u64 out",
    )
    assert_agree(kernel, launch_of(grid=2, block=40))


@settings(max_examples=200, deadline=None)
@given(
    start=st.one_of(st.integers(-40, 40), st.integers(2**31 - 40, 2**31 + 40), st.integers(2**32 - 40, 2**32 - 1)),
    step=st.one_of(st.integers(-9, 9), st.sampled_from([2**31, 2**30, -(2**30), 2**29 + 1])),
    word=st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]),
    kind=st.sampled_from(["u32", "s32"]),
    bound=st.one_of(st.integers(-40, 40), st.integers(2**31 - 40, 2**31 + 40), st.integers(2**32 - 40, 2**32 - 1)),
)
def test_any_counter_agrees_with_running_it(start: int, step: int, word: str, kind: str, bound: int) -> None:
    kernel = loop_kernel(start, step, word, kind, bound)
    try:
        executed = interpret(kernel, launch_of(block=1), limit=600)
    except TooLong:
        try:
            assert iterations_within(kernel, 300) * 3 > 590
        except Refused:
            return
        return
    assert iterations(kernel) == executed.threads[1]


def iterations_within(kernel: Kernel, runs: int) -> int:
    return analyze(kernel, launch_of(block=1), budget=Budget(block_runs=runs)).blocks[1].threads
