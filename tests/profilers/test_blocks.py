"""Small models in one process: what is asked of the device, and what its recording says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.profilers import blocks, recordings
from edgeperf.profilers.bench import Access, Bench
from edgeperf.profilers.blocks import BlockPlan
from edgeperf.profilers.recipes import Recipe, from_definition
from edgeperf.profilers.runtimes import Runtime
from edgeperf.profilers.sensors import Sensor
from tests.profilers.fake_board import FakeBoard

NVML = Sensor(name="nvml", request={"argv": ["nvml"]}, settle_s=0.0)
MEASURED = [
    {"event": "before"},
    {"event": "times", "key": "a", "ms": [1.0, 2.0]},
    {"event": "times", "key": "a", "ms": [3.0]},
    {"event": "operation", "key": "a", "begin": 10.0, "end": 11.0, "calls": 30},
]


def recording(said: Sequence[dict[str, Any]], *, returncode: int = 0, **step: Any) -> dict[str, Any]:
    output = [[0.0, "EDGEPERF " + json.dumps(event)] for event in said] + [[1.0, "Killed"]]
    run = {"name": "run", "returncode": returncode, "timed_out": False, "output": output, "sensor": [], **step}
    return {"steps": [run], "state_before": {}, "state_after": {}}


def dense(units: int) -> Recipe:
    def define(layers: Any) -> Any:
        image = layers.Input((8,))
        return layers.Model(image, layers.Dense(units)(image), name="single")

    return from_definition(define)[1]


def access(board: FakeBoard, *, runtime: str) -> Access:
    given = {"sample_period_ms": 5.0, "ssh_config": board.ssh_config, "root": str(board.root)}
    return Access(device="jetson-nano", runtime=runtime, **given)


def test_times_of_all_lines_and_readings_of_the_window_are_kept():
    sensor = [[9.9, "power_mw=1"], [10.2, "power_mw=5000 gpu_mhz=900"], [11.1, "power_mw=1"]]
    found = blocks.runs(recording(MEASURED, sensor=sensor), ["a"], NVML)["a"]
    assert (found.status, found.timings_ms, found.calls) == ("ok", (1.0, 2.0, 3.0), 30)
    assert (found.powers_mw, found.clocks_mhz) == ((5000.0,), (900.0,))


@pytest.mark.parametrize(
    ("version", "told"),
    [({}, "keras 3.10.0 on jax"), ({"backend_version": "0.7.0"}, "keras 3.10.0 on jax 0.7.0")],
)
def test_a_recording_tells_the_framework(version: dict[str, str], told: str):
    before = {"event": "before", "keras": "3.10.0", "backend": "jax", **version}
    assert recordings.framework(recording([before])) == told
    assert recordings.framework(recording([])) is None


def test_a_process_that_dies_takes_one_model_with_it_and_the_rest_was_not_tried():
    found = blocks.runs(recording(MEASURED, returncode=-9), ["a", "b", "c"], NVML)
    assert {key: run.status for key, run in found.items()} == {"a": "ok", "b": "crashed"}
    assert "Killed" in found["b"].message


def test_models_that_left_no_times_are_not_tried_for_ever():
    found = blocks.runs(recording(MEASURED), ["a", "b"], NVML)
    assert (found["b"].status, found["b"].message) == ("crashed", "it left no times")


def test_failures_say_whether_memory_ran_out():
    failed = [
        {"event": "before"},
        {"event": "failed", "key": "a", "message": "OOM when allocating tensor with shape[9]"},
        {"event": "failed", "key": "b", "message": "no such kernel"},
    ]
    found = blocks.runs(recording(failed), ["a", "b"], NVML)
    assert {key: run.status for key, run in found.items()} == {"a": "oom", "b": "crashed"}


def test_a_device_without_keras_ends_the_campaign():
    with pytest.raises(InvalidInput, match=r"Keras does not start on the device: .*Killed"):
        blocks.runs(recording([], returncode=1), ["a"], NVML)


def test_a_sensor_that_says_nothing_leaves_times_without_power():
    found = blocks.runs(recording(MEASURED, sensor=[[10.5, "cannot open /dev/nvidiactl"]]), ["a"], NVML)["a"]
    assert (found.status, found.powers_mw) == ("ok", ())


def test_tensorrt_runs_no_recipes(tmp_path: Path):
    trtexec = Runtime(name="trtexec", trtexec="/usr/bin/trtexec")
    with pytest.raises(InvalidInput, match="runtime keras"):
        blocks.job("one", {}, tmp_path, batch_size=1, runtime=trtexec, sensor=NVML, plan=BlockPlan(), env={})


def test_a_board_tells_the_clock_that_it_offers_instead_and_keeps_its_own(fake_board: FakeBoard, tmp_path: Path):
    gpu = "sys/class/devfreq/57000000.gpu"
    fake_board.write(f"{gpu}/available_frequencies", "76800000 460800000 921600000\n")
    bench = Bench("nano", access(fake_board, runtime="auto"), workdir=tmp_path)
    done, remote = bench.record(blocks.clock_job(400.0))
    bench.forget(remote)
    assert blocks.set_clock(done) == 460.8
    assert done["state_before"][f"{gpu}/max_freq"].strip() == "460800000"
    assert {(fake_board.root / gpu / name).read_text().strip() for name in ("min_freq", "max_freq")} == {"921600000"}


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_models_run_one_after_the_other_on_a_board_while_its_sensor_is_read(
    training: bool, fake_board: FakeBoard, tmp_path: Path
):
    fake_board.install_keras()
    bench = Bench("nano", access(fake_board, runtime="keras"), workdir=tmp_path)
    plan = BlockPlan(training=training, least_s=0.3, least_timings=3, timeout_s=240.0)
    job = blocks.job(
        "one",
        {"small": dense(4), "large": dense(400)},
        tmp_path,
        batch_size=2,
        runtime=bench.runtime,
        sensor=bench.sensor,
        plan=plan,
        env={},
    )
    done, remote = bench.record(job)
    bench.forget(remote)
    found = blocks.runs(done, ["small", "large"], bench.sensor)
    assert {key: run.status for key, run in found.items()} == {"small": "ok", "large": "ok"}
    for run in found.values():
        assert len(run.timings_ms) >= 3
        assert min(run.timings_ms) > 0
        assert len(run.powers_mw) > 2
    assert fake_board.orphans() == []
