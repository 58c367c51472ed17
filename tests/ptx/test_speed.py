"""Work that must not grow: counted, not timed."""

from __future__ import annotations

import pytest

from edgeperf.ptx import analysis
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.counts import KernelCount
from edgeperf.ptx.execution import Budget, Tally
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.records import Kernel, Launch
from tests.ptx.helpers import kernel_of
from tests.ptx.test_networks import COMPILED


def numbers_held(kernel: Kernel, launch: Launch, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many numbers the analysis of a launch computes."""
    tallies: list[Tally] = []

    class Watched(Tally):
        def __init__(self, program: object) -> None:
            super().__init__(program)  # type: ignore[arg-type]
            tallies.append(self)

    monkeypatch.setattr(analysis, "Tally", Watched)
    analyze(kernel, launch)
    return tallies[0].numbers


BY_THREAD = """
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 7;
$LOOP:
	setp.lt.u32 %p1, %r2, 3;
	@%p1 bra $SKIP;
	add.u32 %r4, %r1, 1;
$SKIP:
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, 20;
	@%p2 bra $LOOP;
	ret;
"""


def test_the_grid_costs_nothing_where_only_the_thread_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(BY_THREAD)
    small = Launch(kernel="k", grid=(8, 1, 1), block=(128, 1, 1))
    large = Launch(kernel="k", grid=(2_000_000_000, 1, 1), block=(128, 1, 1))
    assert numbers_held(kernel, small, monkeypatch) == numbers_held(kernel, large, monkeypatch)
    assert analyze(kernel, large).executed == analyze(kernel, small).executed // 8 * 2_000_000_000


def test_threads_that_behave_alike_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen threads share each value of ``tid >> 4``: the walk holds a sixteenth of the threads."""
    body = """
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %tid.x;
	shr.u32 %r3, %r2, {shift};
	add.u32 %r4, %r3, %r1;
	setp.gt.u32 %p1, %r4, 500;
	@%p1 ret;
	add.u32 %r5, %r4, 1;
	ret;
"""
    launch = Launch(kernel="k", grid=(1000, 1, 1), block=(128, 1, 1))
    merged = numbers_held(kernel_of(body.format(shift=4)), launch, monkeypatch)
    apart = numbers_held(kernel_of(body.format(shift=0)), launch, monkeypatch)
    assert merged * 8 < apart


def test_a_repeated_launch_is_analyzed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import edgeperf.ptx.network as network

    launches: list[Launch] = []

    def watched(kernel: Kernel, launch: Launch, *, budget: Budget | None) -> KernelCount:
        launches.append(launch)
        return analyze(kernel, launch, budget=budget)

    monkeypatch.setattr(network, "analyze", watched)
    found = count_bundle(read_bundle(COMPILED / "VGG16-sm_53.tar.xz"))
    assert found.launches == 34
    assert len(launches) == len({(launch.kernel, launch.grid) for launch in launches}) < 30


def test_slices_are_small() -> None:
    found = count_bundle(read_bundle(COMPILED / "MobileNetV2-sm_53.tar.xz"))
    static = sum(block.instructions for count, _ in found.counts for block in count.blocks)
    assert sum(count.slice_size for count, _ in found.counts) < 0.12 * static
