"""Whole campaigns through a real sshd, and through everything that goes wrong on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgeperf.errors import IncompatibleData, MissingExtra
from edgeperf.profilers import profile
from edgeperf.profilers.store import Store
from tests.profilers.campaigns import COSTS, MODELS, PLAN, SIZES, run
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


def test_a_campaign_goes_on_with_the_board_and_environment_that_began_it_alone(
    fake_board: FakeBoard, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(out, fake_board.folder, input_sizes=SIZES[:1])
    noted = json.loads((out / "campaign.json").read_text())["measured_by"]
    nano = "NVIDIA Jetson Nano Developer Kit"
    assert noted == {"machine": nano, "system": "L4T 32.7.1", "framework": "TensorRT 8201"}
    with pytest.raises(IncompatibleData, match=r"env differs \(\{\} and .*NUMBER"):
        run(out, fake_board.folder, env={"NUMBER": "1"})
    fake_board.write("proc/device-tree/model", "Another board")
    with pytest.raises(IncompatibleData, match=f"machine differs \\('{nano}' and 'Another board'\\)"):
        run(out, fake_board.folder)
    assert len(measured(out)) == 1


@pytest.mark.slow
def test_a_network_is_rebuilt_with_keras_on_the_board_and_timed_by_nvprof(
    fake_board: FakeBoard, tmp_path: Path
) -> None:
    fake_board.install_keras()
    run(tmp_path, fake_board.folder, input_sizes=[32], plan=replace(PLAN, timeout_s=240.0))
    (done,) = Store(tmp_path).finished()
    found = done.measurement
    assert (found.status, found.latency_method) == ("ok", "sum of GPU kernel times (nvprof)")
    assert found.latency_ms == pytest.approx(3.0)
    assert found.power_mw == pytest.approx(80, abs=1)  # the simulated GPU stays idle
    assert found.idle_loaded_power_mw == pytest.approx(80, abs=1)
    assert found.energy_mj == pytest.approx(3.0 * 80 / 1000, rel=0.02)
    assert (found.device.runtime, found.memory_mib) == ("keras", 900)
    assert fake_board.orphans() == []


@pytest.mark.slow
def test_a_missing_extra_ends_the_campaign_with_what_to_install(fake_board: FakeBoard, tmp_path: Path) -> None:
    (fake_board.folder / "absent").mkdir()
    (fake_board.folder / "absent" / "tf2onnx.py").write_text("raise ModuleNotFoundError(\"No module named 'tf2onnx'\")")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(fake_board.folder / "absent"))
        with pytest.raises(MissingExtra, match=r"edgeperf\[onnx\]"):
            profile(
                MODELS,
                device="jetson-nano",
                boards=["nano"],
                out=tmp_path,
                ssh_config=fake_board.ssh_config,
                root=str(fake_board.root),
            )
    assert list(Store(tmp_path).finished()) == []
