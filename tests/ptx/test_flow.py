"""Control flow: order of blocks, reconvergence, text order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.flow import EXIT, control_flow, weak_topological_order
from tests.ptx.helpers import assert_agree, kernel_of, launch_of


def test_loops_are_contiguous_and_come_before_what_follows_them() -> None:
    # 0 → 1 (head) → {4 (after), 2}, 2 → {3, 4}, 3 → 1: the exit leaves from two blocks.
    order = weak_topological_order([[1], [4, 2], [3, 4], [1], []])
    assert order == [0, 1, 2, 3, 4]


def test_nested_loops() -> None:
    # 1 is the outer head, 2 the inner one; 5 follows the inner loop, 6 the outer one.
    order = weak_topological_order([[1], [6, 2], [5, 3], [4], [2], [1], []])
    assert order == [0, 1, 2, 3, 4, 5, 6]


def test_nodes_that_cannot_be_reached_are_left_out() -> None:
    assert weak_topological_order([[2], [2], []]) == [0, 2]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n))
)
def test_an_edge_back_leads_into_a_loop_that_holds_both_ends(successors: list[list[int]]) -> None:
    order = weak_topological_order(successors)
    position = {node: index for index, node in enumerate(order)}
    assert sorted(order) == sorted(reachable(successors, 0))
    for node in order:
        for child in successors[node]:
            if position[child] <= position[node]:
                assert node in reachable(successors, child)


def reachable(successors: list[list[int]], start: int) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for child in successors[stack.pop()]:
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return seen


def test_blocks_and_their_successors() -> None:
    flow = control_flow(
        kernel_of("mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@!%p1 bra $A;\nbar.sync 0;\n$A:\nret;")
    )
    first, barrier, last = flow.blocks
    assert (first.guard, first.negated, first.taken, first.otherwise) == ("%p1", True, 2, 1)
    assert barrier.successors == (2,)
    assert (last.label, last.taken) == ("$A", EXIT)


def test_definitions_may_stand_after_their_uses_in_the_text() -> None:
    kernel = kernel_of("""
	bra.uni $START;
$USE:
	setp.lt.u32 %p1, %r1, 5;
	@%p1 bra $END;
	bra.uni $DEFINE;
$START:
	mov.u32 %r1, %tid.x;
	bra.uni $USE;
$DEFINE:
	shr.u32 %r1, %r1, 1;
	bra.uni $USE;
$END:
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.opcodes["shr.u32"] == 5 * 1 + 10 * 2 + 12 * 3


def test_threads_that_jump_out_of_both_sides_meet_at_the_earliest_common_block() -> None:
    """An unstructured graph: the post-dominator of the branch is the end, yet both ways pass through $SHARED."""
    kernel = kernel_of("""
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 3;
	setp.lt.u32 %p1, %r2, 2;
	@%p1 bra $LEFT;
	setp.eq.u32 %p2, %r2, 2;
	@%p2 bra $SHARED;
	bra.uni $END;
$LEFT:
	setp.eq.u32 %p3, %r2, 0;
	@%p3 bra $END;
$SHARED:
	add.u32 %r3, %r1, 1;
$END:
	ret;
""")
    count, _ = assert_agree(kernel, launch_of(block=32))
    assert count.opcodes["add.u32"] == 16
    assert count.warp_opcodes["add.u32"] == 1


def test_deep_nests_of_loops_do_not_exhaust_the_stack() -> None:
    depth = 1500
    heads = "".join(f"$H{level}:\n" for level in range(depth))
    tails = "".join(f"@%p1 bra $H{level};\n" for level in reversed(range(depth)))
    kernel = kernel_of(f"setp.ne.u32 %p1, %tid.x, %tid.x;\n{heads}add.u32 %r1, 1, 1;\n{tails}ret;")
    assert analyze(kernel, launch_of(block=1)).executed == depth + 3
