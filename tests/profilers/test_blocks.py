"""Small models in one process: what is asked of the device, and what its recording says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
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
from edgeperf.profilers.transport import OPERATIONS
from tests.profilers.fake_board import FakeBoard

NVML = Sensor(name="nvml", request={"argv": ["nvml"]}, settle_s=0.0)
SLOW = Sensor(name="nvml", request={"argv": ["nvml"]}, settle_s=1.0)
NONE = Sensor(name="none", request=None, settle_s=0.0)
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


def begun(key: str, t: float) -> dict[str, Any]:
    return {"event": "begin", "key": key, "t": t, "share_s": 5.0}


@pytest.mark.parametrize(
    ("began", "timed_out", "blamed"),
    [
        (10.0, False, {"b": "timeout"}),  # the process has ended itself
        (10.0, True, {"b": "timeout"}),
        (18.0, True, {}),
        (18.0, False, {"b": "crashed"}),
    ],
)
def test_only_a_model_that_used_up_its_own_share_is_too_slow(began: float, timed_out: bool, blamed: dict[str, str]):
    said = [MEASURED[0], begun("a", 1.0), *MEASURED[1:], begun("b", began)]
    done = recording(said, returncode=1, timed_out=timed_out, end=20.0)
    found = blocks.runs(done, ["a", "b", "c"], NVML)
    assert {key: run.status for key, run in found.items()} == {"a": "ok", **blamed}
    if began == 10.0:
        assert found["b"].message == "it did not end within 5 s"


def test_the_time_allowed_grows_with_models_and_the_time_that_each_is_measured_for(tmp_path: Path):
    plan, models = BlockPlan(least_s=2.0, timeout_s=14.0), {f"model-{n}": dense(4) for n in range(10)}
    keras = Runtime(name="keras")
    job = blocks.job("one", models, tmp_path, batch_size=1, runtime=keras, sensor=SLOW, plan=plan, env={})
    assert json.loads((tmp_path / "operations.json").read_text())["share_s"] == 17.0
    assert job.steps[0]["timeout_s"] == job.timeout_s == 11 * 17.0


CHILD = """
import sys, time, types
sys.path.insert(0, {folder!r})
import board_operations as child
keras = types.SimpleNamespace(__version__="3", backend=types.SimpleNamespace(clear_session=int))
child.load_keras = lambda: (time.sleep({start_s}), (keras, ""))[1]
child.measure = lambda each, *_: (time.sleep(each["recipe"]), child.say("failed", key=each["key"], message="slept"))
child.main("job.json")
"""


@pytest.mark.parametrize(("stuck_s", "ending"), [(0.3, ("crashed", "slept")), (60.0, ("timeout", "within 1 s"))])
def test_the_process_ends_itself_at_a_model_that_is_stuck(tmp_path: Path, stuck_s: float, ending: tuple[str, str]):
    seconds = {"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.3, "e": stuck_s}
    operations = [{"key": key, "recipe": recipe} for key, recipe in seconds.items()]
    (tmp_path / "job.json").write_text(json.dumps({"operations": operations, "share_s": 1.0}))
    found = blocks.runs(run_child(tmp_path, start_s=0.0), list(seconds), NONE)
    assert {run.message for key, run in found.items() if key != "e"} == {"slept"}
    assert len(found) == 5
    assert found["e"].status == ending[0]
    assert ending[1] in found["e"].message


def test_the_process_ends_itself_where_keras_does_not_start(tmp_path: Path):
    (tmp_path / "job.json").write_text(json.dumps({"operations": [], "share_s": 0.5}))
    with pytest.raises(InvalidInput, match=r"Keras does not start .*Timeout \(0:00:00\.500000\)"):
        blocks.runs(run_child(tmp_path, start_s=60.0), ["a"], NONE)


def run_child(folder: Path, *, start_s: float) -> dict[str, Any]:
    """What the agent would record of the process that carries out `folder`'s job with a made-up Keras."""
    code = CHILD.format(folder=str(OPERATIONS.parent), start_s=start_s)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=30)
    output = [[0.0, line] for line in done.stdout.splitlines()]
    return recording([], returncode=done.returncode, output=output, end=time.monotonic())


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


def test_the_step_of_the_sensor_is_told_with_its_readings():
    nano = Sensor(name="ina3221", request={"argv": ["nano"]}, settle_s=0.0)
    sensor = [[10.2, "POM_5V_GPU.mW=4000 POM_5V_CPU.mW=1000 POM_5V_IN.mW=6000"]]
    found = blocks.runs(recording(MEASURED, sensor=sensor), ["a"], nano)["a"]
    assert (found.powers_mw, found.power_quantum_mw) == ((4000.0,), 40.0)


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
