"""Kernels whose counts are known by hand, and that the interpreter must confirm instruction by instruction."""

from __future__ import annotations

import pytest

from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.execution import Budget
from edgeperf.ptx.records import Launch
from tests.ptx.helpers import assert_agree, kernel_of, launch_of

SAXPY = """
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.s32 %r4, %r1, %r2, %r3;
	ld.param.u32 %r5, [k_n];
	setp.ge.s32 %p1, %r4, %r5;
	@%p1 bra $DONE;
	ld.param.u64 %rd1, [k_x];
	mul.wide.s32 %rd2, %r4, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	fma.rn.f32 %f2, %f1, %f1, %f1;
	st.global.f32 [%rd3], %f2;
$DONE:
	ret;
"""
SAXPY_PARAMETERS = ".param .u64 k_x, .param .u32 k_n"


def test_tail_guard_counts_the_threads_inside() -> None:
    kernel = kernel_of(SAXPY, parameters=SAXPY_PARAMETERS)
    count, _ = assert_agree(kernel, launch_of(grid=3, block=64, k_n=150))
    assert count.executed == 192 * 8 + 150 * 6
    # 150 threads fill four warps and 22 lanes of a fifth; the sixth is outside.
    assert count.warp_executed == 6 * 8 + 5 * 6
    assert count.opcodes["fma.rn.f32"] == 150
    assert count.categories["fma_f32"] == 150


def test_a_guard_on_a_parameter_is_refused_until_its_value_is_stated() -> None:
    kernel = kernel_of(SAXPY, parameters=SAXPY_PARAMETERS)
    with pytest.raises(Refused, match="k_n"):
        analyze(kernel, launch_of(grid=3, block=64))


def test_nested_loops_over_padding() -> None:
    """A 3 x 3 window around each of 8 x 8 pixels: (3·8 - 2)² taps lie inside."""
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, -1;
$ROWS:
	add.s32 %r4, %r2, %r3;
	mov.u32 %r5, -1;
$COLUMNS:
	add.s32 %r6, %r1, %r5;
	max.u32 %r7, %r4, %r6;
	setp.gt.u32 %p1, %r7, 7;
	@%p1 bra $NEXT;
	mul.f32 %f1, %f1, %f2;
$NEXT:
	add.s32 %r5, %r5, 1;
	setp.ne.s32 %p2, %r5, 2;
	@%p2 bra $COLUMNS;
	add.s32 %r3, %r3, 1;
	setp.ne.s32 %p3, %r3, 2;
	@%p3 bra $ROWS;
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=(8, 8, 1)))
    assert count.opcodes["mul.f32"] == 22 * 22


def test_divergent_loop_runs_as_long_as_the_slowest_lane() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, 0;
$LOOP:
	add.u32 %r2, %r2, 1;
	setp.le.u32 %p1, %r2, %r1;
	@%p1 bra $LOOP;
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=64))
    assert count.opcodes["setp.le.u32"] == sum(thread + 1 for thread in range(64))
    assert count.warp_opcodes["setp.le.u32"] == 32 + 64
    assert count.warp_opcodes["ret"] == 2


def test_both_sides_of_a_branch_are_issued_by_a_divergent_warp_and_join_after_it() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 1;
	setp.eq.u32 %p1, %r2, 0;
	@%p1 bra $EVEN;
	add.u32 %r3, %r1, 1;
	bra.uni $JOIN;
$EVEN:
	sub.u32 %r3, %r1, 1;
$JOIN:
	xor.b32 %r4, %r3, %r1;
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.warp_opcodes == {
        **dict.fromkeys(("mov.u32", "and.b32", "setp.eq.u32", "bra", "add.u32", "bra.uni", "sub.u32", "ret"), 1),
        "xor.b32": 1,
    }
    assert count.opcodes["add.u32"] == count.opcodes["sub.u32"] == 16


def test_shared_memory_reduction_with_barriers() -> None:
    """A tree over 128 threads: 64, 32, 16, ... threads add per round."""
    kernel = kernel_of("""
	.shared .align 4 .b8 buffer[512];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 2;
	mov.u32 %r3, buffer;
	add.u32 %r4, %r3, %r2;
	cvt.u64.u32 %rd1, %r2;
	mov.u64 %rd2, buffer;
	add.u64 %rd3, %rd2, %rd1;
	st.shared.u32 [%rd3], %r1;
	mov.u32 %r5, 64;
$ROUND:
	bar.sync 0;
	setp.ge.u32 %p1, %r1, %r5;
	@%p1 bra $SKIP;
	shl.b32 %r6, %r5, 2;
	cvt.u64.u32 %rd4, %r6;
	add.u64 %rd5, %rd3, %rd4;
	ld.shared.u32 %r7, [%rd5];
	ld.shared.u32 %r8, [%rd3];
	add.u32 %r9, %r7, %r8;
	st.shared.u32 [%rd3], %r9;
$SKIP:
	shr.u32 %r5, %r5, 1;
	setp.ne.u32 %p2, %r5, 0;
	@%p2 bra $ROUND;
	setp.ne.u32 %p3, %r1, 0;
	@%p3 bra $END;
	ld.shared.u32 %r10, [%rd3];
	ld.param.u64 %rd6, [out];
	st.global.u32 [%rd6], %r10;
$END:
	ret;
""", parameters=".param .u64 out")  # fmt: skip
    count, executed = assert_agree(kernel, launch_of(grid=2, block=128))
    assert count.opcodes["bar.sync"] == 2 * 7 * 128
    assert count.opcodes["add.u32"] == 2 * (127 + 128)
    assert executed.memory.load(1 << 40, 4) == sum(range(128))


def test_softmax_with_shuffles() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	ld.param.u64 %rd1, [x];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.b32 %r2, [%rd3];
	mov.u32 %r9, 16;
$MAX:
	shfl.sync.bfly.b32 %r3|%p1, %r2, %r9, 31, -1;
	mov.b32 %f1, %r2;
	mov.b32 %f2, %r3;
	max.f32 %f3, %f1, %f2;
	mov.b32 %r2, %f3;
	shr.u32 %r9, %r9, 1;
	setp.ne.u32 %p2, %r9, 0;
	@%p2 bra $MAX;
	ex2.approx.ftz.f32 %f4, %f3;
	rcp.approx.f32 %f5, %f4;
	@%p1 st.global.f32 [%rd3], %f5;
	ret;
""", parameters=".param .u64 x")  # fmt: skip
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.opcodes["shfl.sync.bfly.b32"] == 5 * 32
    assert count.guard_true is None


def test_predicated_instructions_count_and_their_guards_are_known() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p1, %r1, 5;
	mov.u32 %r2, 9;
	@%p1 add.u32 %r2, %r1, 1;
	@!%p1 mov.u32 %r2, 7;
	setp.eq.u32 %p2, %r2, 7;
	@%p2 ret;
	add.u32 %r3, %r2, %r2;
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.guard_true == 32
    assert count.opcodes["add.u32"] == 32 + 5


def test_a_predicate_that_was_never_written_is_unknown_and_nothing_else() -> None:
    kernel = kernel_of("add.u32 %r2, %r1, 1;\nsetp.lt.u32 %p1, %r2, 5;\n@%p1 mov.u32 %r3, 1;\nret;")
    count = analyze(kernel, launch_of(block=32))
    assert (count.executed, count.guard_true) == (4 * 32, None)


def test_early_exits_and_a_kernel_without_return() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p1, %r1, 3;
	@%p1 exit;
	mov.u32 %r2, %r1;
""")
    count, _ = assert_agree(kernel, launch_of(block=40))
    assert count.executed == 40 * 3 + 37
    assert count.warp_executed == 2 * 3 + 2


def test_loop_with_two_exits_reconverges_after_the_loop() -> None:
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, 0;
$LOOP:
	setp.eq.u32 %p1, %r2, %r1;
	@%p1 bra $FOUND;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, 20;
	@%p2 bra $LOOP;
	xor.b32 %r3, %r2, %r1;
$FOUND:
	not.b32 %r4, %r2;
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.warp_opcodes["not.b32"] == 1
    assert count.opcodes["xor.b32"] == 12


def test_unreachable_code_and_empty_kernels() -> None:
    count, _ = assert_agree(kernel_of("ret;\nadd.u32 %r1, %r1, 1;"), launch_of(block=7))
    assert count.executed == 7
    assert analyze(kernel_of(""), launch_of()).executed == 0


def test_arguments_may_be_negative_and_grids_three_dimensional() -> None:
    kernel = kernel_of("""
	ld.param.s32 %r1, [n];
	mov.u32 %r2, %ctaid.z;
	mov.u32 %r3, %ctaid.y;
	mad.lo.s32 %r4, %r2, 3, %r3;
	sub.s32 %r4, %r4, 4;
	setp.lt.s32 %p1, %r4, %r1;
	@%p1 ret;
	mov.u32 %r5, %tid.z;
	ret;
""", parameters=".param .s32 n")  # fmt: skip
    count, _ = assert_agree(kernel, Launch(kernel="k", grid=(2, 3, 4), block=(2, 2, 3), arguments={"n": -1}))
    assert count.opcodes["mov.u32"] == 24 * 12 * 2 + 2 * 9 * 12


def test_an_endless_loop_is_refused_within_the_budget() -> None:
    kernel = kernel_of("$LOOP:\nadd.u32 %r2, %tid.x, 1;\nsetp.gt.u32 %p1, %r2, 0;\n@%p1 bra $LOOP;\nret;")
    with pytest.raises(Refused, match="still running"):
        analyze(kernel, launch_of(), budget=Budget(block_runs=1000))


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("ld.global.u32 %r1, [%rd1];", "ld.global.u32"),
        ("ld.shared.u32 %r1, [%rd1];", "ld.shared.u32"),
        ("atom.global.add.u32 %r1, [%rd1], 1;", "atom.global.add.u32"),
        ("shfl.sync.down.b32 %r1, %r2, 1, 31, -1;", "shfl.sync.down.b32"),
        ("mov.u32 %r1, %clock;", "%clock"),
        ("mov.u32 %r1, %smid;", "%smid"),
        ("mov.u32 %r2, 1;\nadd.cc.u32 %r1, %r2, %r2;", "add.cc.u32"),
        ("mov.u32 %r2, 1;\naddc.u32 %r1, %r2, %r2;", "addc.u32"),
        ("mov.u32 %r2, 1;\nmad.hi.sat.s32 %r1, %r2, %r2, %r2;", "sat"),
        ("mov.u32 %r2, 0;\ndiv.u32 %r1, %r2, %r2;", "zero"),
        ("activemask.b32 %r1;", "activemask"),
        ("cvt.rn.f32.u32 %f1, %tid.x;\ncvt.rzi.u32.f32 %r1, %f1;", "f32"),
        ("", "%r1"),
    ],
)
def test_what_is_not_known_is_refused_by_name(body: str, names: str) -> None:
    tail = "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra $L;\nadd.u32 %r3, 1, 1;\n$L:\nret;"
    kernel = kernel_of(f"ld.param.u64 %rd1, [p];\n{body}\n{tail}", parameters=".param .u64 p")
    with pytest.raises(Refused, match=names):
        analyze(kernel, launch_of())


def test_data_that_decides_no_branch_is_no_reason_to_refuse() -> None:
    """The register that holds loaded data is used for an index elsewhere."""
    kernel = kernel_of("""
	ld.param.u64 %rd1, [p];
	ld.global.u32 %r1, [%rd1];
	st.global.u32 [%rd1], %r1;
	mov.u32 %r1, %tid.x;
	setp.gt.u32 %p1, %r1, 3;
	@%p1 ret;
	ret;
""", parameters=".param .u64 p")  # fmt: skip
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.executed == 32 * 6 + 4


@pytest.mark.parametrize("jump", ["brx.idx %r1, $T;", "call.uni device_function;", "call (%r2), %rd1;"])
def test_jumps_that_cannot_be_followed_are_refused(jump: str) -> None:
    from edgeperf.ptx.parser import parse
    from tests.ptx.helpers import HEADER, REGISTERS

    text = (
        f"{HEADER}.func device_function {{ ret; }}\n.visible .entry k()\n{{\n{REGISTERS}\nmov.u32 %r1, 0;\n"
        f"mov.u64 %rd1, 0;\n{jump}\n$T:\nret;\n}}\n"
    )
    with pytest.raises(Refused):
        analyze(parse(text).kernels["k"], launch_of())
