"""Whole campaigns through a real sshd, and through everything that goes wrong on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeperf.profilers.store import Store
from tests.profilers.campaigns import COSTS, SIZES, run
from tests.profilers.fake_board import FakeBoard


def measured(out: Path) -> dict[str, float | None]:
    return {done.key: done.measurement.power_mw for done in Store(out).finished()}


def test_a_campaign_copies_measures_fetches_and_reads_the_truth(fake_board: FakeBoard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = run(out, fake_board.folder, input_sizes=SIZES[:2])
    assert (summary.finished, summary.failed) == (2, 0)
    for done in Store(out).finished():
        truth, found = COSTS[done.key], done.measurement
        assert found.status == "ok"
        assert found.latency_ms == pytest.approx(truth["ms"], rel=0.01)
        assert found.power_mw == pytest.approx(truth["mw"], abs=40)
        assert found.power_rail == "POM_5V_GPU"
        assert found.idle_power_mw == pytest.approx(80, abs=1)
        assert (found.memory_mib, found.memory_before_mib) == (1500, 900)
        assert found.device.board == "NVIDIA Jetson Nano Developer Kit"
        assert (found.device.power_mode, found.device.clocks_locked) == ("MAXN", True)
    assert fake_board.orphans() == []
    assert list((fake_board.workdir / "recordings").iterdir()) == []
