from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.layerwise.measurements import filtered_mean, of_device, read_measured, reduce_run
from edgeperf.layerwise.measuring import PER_JOB, profile_operations
from edgeperf.layerwise.operations import COLUMNS, Operation
from edgeperf.layerwise.sampling import sample
from edgeperf.layerwise.singles import single, single_network
from edgeperf.layerwise.workloads import EAGER, workloads
from edgeperf.network import read_network
from edgeperf.profilers.blocks import BlockPlan, BlockRun
from edgeperf.profilers.board_inference import build
from edgeperf.profilers.recipes import from_definition
from edgeperf.profilers.runtimes import Runtime
from edgeperf.profilers.sensors import Sensor
from tests.layerwise.networks import convolution, relu, small_network

QUICK = BlockPlan(least_s=0.02, least_timings=3, warmup_blocks=1)
SENSOR = Sensor(name="nvml", request={"argv": ["nvml"]}, settle_s=0.0)


OFFERED_MHZ = (307.2, 921.6)


class MadeUpBench:
    """Stands for a board with two clocks on which a call takes 2 ms per image at 5 W; some operations fail there."""

    runtime = Runtime(name="keras")
    sensor = SENSOR
    machine = "Jetson Nano"
    keras = "3.10.0"

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        self._jobs = jobs

    def record(self, job: Any) -> tuple[dict[str, Any], str]:
        found = None if job.gpu_mhz is None else min(OFFERED_MHZ, key=lambda clock: abs(clock - job.gpu_mhz))
        if not job.steps:
            return {"steps": [], "gpu_mhz": found}, "recordings/clock"
        asked = json.loads(job.files["operations.json"].read_text())
        self._jobs.append({**asked, "gpu_mhz": job.gpu_mhz})
        lines, readings, now = [{"event": "before", "keras": self.keras, "backend": "jax"}], [], 0.0
        for each in asked["operations"]:
            key = each["key"]
            if key.startswith("tanh") and asked["batch_size"] > 1:
                lines.append({"event": "failed", "key": key, "message": "OOM when allocating tensor"})
                continue
            lines.append({"event": "times", "key": key, "ms": [2.0 * asked["batch_size"]] * 4})
            lines.append({"event": "operation", "key": key, "begin": now, "end": now + 1.0, "calls": 40})
            readings += [[now + 0.1 * tick, "power_mw=5000.0 gpu_mhz=900"] for tick in range(1, 10)]
            now += 2.0
        output = [[0.0, "EDGEPERF " + json.dumps(line)] for line in lines]
        step = {"name": "run", "returncode": 0, "timed_out": False, "output": output, "sensor": readings}
        return {"steps": [step], "gpu_mhz": found, "state_before": {}, "state_after": {}}, "recordings/one"

    def forget(self, remote: str) -> None:
        if remote == "recordings/one":
            self._jobs[-1]["forgotten"] = True

    def identity(self) -> dict[str, str | None]:
        return {"machine": self.machine, "system": None}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr("edgeperf.layerwise.measuring.Bench", lambda *_, **__: MadeUpBench(jobs))
    return jobs


def profiled(operations: list[Operation], out: Path, **wanted: Any) -> Path:
    given: Mapping[str, Any] = {"device": "jetson-nano", "board": "nano", "progress": lambda _: None, **wanted}
    return profile_operations(operations, out=out, **given)


def tanh(batch_size: int) -> Operation:
    elements = batch_size * relu().input_elements
    return replace(relu(), kind="tanh", batch_size=batch_size, input_elements=elements, output_elements=elements)


def test_every_operation_of_a_network_built_alone_is_that_operation_again():
    for op in workloads([small_network()], batch_size=4, fusion=EAGER):
        assert workloads([single_network(op)], batch_size=4) == {op: 1}


def test_a_sample_has_an_identity_all_kinds_and_no_operation_twice():
    found = sample([small_network()], 60, batch_size=2, fusion=EAGER, seed=1)
    assert len(found) == len(set(found)) == 60
    assert found[0].kind == "Identity"
    assert {op.kind for op in found} >= {"Conv2D", "Dense", "Add", "relu", "BatchNormalization"}
    assert {op.batch_size for op in found} == {2}
    assert any(op.groups > 1 for op in found)
    assert any(op.dilation > 1 for op in found)
    assert found == sample([small_network()], 60, batch_size=2, fusion=EAGER, seed=1)


def test_operations_that_cannot_stand_alone_are_refused():
    with pytest.raises(InvalidInput, match="Cannot build Softplus alone"):
        single_network(replace(relu(), kind="Softplus"))


def test_samples_far_off_do_not_count():
    steady = np.r_[np.full(200, 50.0), np.full(200, 52.0), 900.0]
    mean, error = filtered_mean(steady)
    assert mean == pytest.approx(51.0)
    assert error == pytest.approx(1 / math.sqrt(399))
    assert filtered_mean(np.array([1.0])) == (None, None)


@pytest.mark.parametrize("steady", [[1.0] * 9, [0.99, 1.0, 1.01] * 3, [0.99, 1.0, 1.01]])
def test_a_sample_far_off_does_not_count_among_few_either(steady: list[float]):
    mean, error = filtered_mean(np.array([*steady, 1000.0]))
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(np.std(steady, ddof=1) / math.sqrt(len(steady)))


@pytest.mark.parametrize("count", [3, 5, 10, 100])
def test_hardly_any_sample_of_a_steady_operation_is_dropped(count: int):
    draws = np.random.default_rng(0).normal(50.0, 1.0, (20_000 // count, count))
    untouched = [filtered_mean(draw)[0] == pytest.approx(draw.mean(), rel=1e-12) for draw in draws]
    assert np.mean(untouched) == pytest.approx((1.0 - 0.0027) ** count, abs=0.03)


@pytest.mark.parametrize(("others", "counted"), [([4076.0], True), ([4228.0], True), ([4380.0], False)])
def test_readings_within_a_few_steps_of_the_sensor_count(others: list[float], counted: bool):
    readings = np.array([4000.0] * 9 + others)
    assert filtered_mean(readings, quantum=76.0)[0] == (readings.mean() if counted else 4000.0)


def test_labels_are_means_with_standard_errors_and_energy_is_power_times_time():
    run = BlockRun(status="ok", timings_ms=(1.0, 3.0), calls=6, powers_mw=(4000.0, 6000.0), clocks_mhz=(900.0, 900.0))
    found = reduce_run(run, relu(), device="jetson-nano", plan=QUICK)
    assert (found.latency_ms, found.latency_error_ms) == (2.0, pytest.approx(1.0))
    assert (found.power_mw, found.clock_mhz) == (5000.0, 900.0)
    assert found.energy_mj == pytest.approx(10.0)
    alone = reduce_run(replace(run, powers_mw=(), clocks_mhz=()), relu(), device="jetson-nano", plan=QUICK)
    assert (alone.power_mw, alone.energy_mj, alone.clock_mhz) == (None, None, None)


def test_a_board_measures_operations_in_jobs_and_resume_does_none_twice(bench: list[Any], tmp_path: Path):
    wanted = sample([small_network()], PER_JOB + 5, batch_size=1, fusion=EAGER, seed=1)
    profiled(wanted[:PER_JOB], tmp_path)
    assert [len(job["operations"]) for job in bench] == [PER_JOB]
    with pytest.raises(InvalidInput, match="--resume"):
        profiled(wanted, tmp_path)
    path = profiled(wanted, tmp_path, resume=True)
    assert [len(job["operations"]) for job in bench] == [PER_JOB, 5]
    table = read_measured(tmp_path)
    assert path == tmp_path / "operations.csv"
    assert len(table) == len(wanted)
    assert set(COLUMNS) <= set(table)
    assert set(table["latency_ms"]) == {2.0}
    assert set(table["power_mw"]) == {5000.0}
    assert set(table["energy_mj"]) == {10.0}
    with pytest.raises(IncompatibleData, match="plan differs"):
        profiled(wanted, tmp_path, resume=True, plan=BlockPlan(training=True))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("machine", "Jetson TX2", "machine differs ('Jetson Nano' and 'Jetson TX2')"),
        ("keras", "3.11.0", "framework differs ('keras 3.10.0 on jax' and 'keras 3.11.0 on jax')"),
        ("env", {"KERAS_BACKEND": "torch"}, "env differs ({} and {'KERAS_BACKEND': 'torch'})"),
    ],
)
def test_a_campaign_goes_on_with_the_machine_and_framework_that_began_it_alone(
    bench: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, message: str
):
    profiled([relu()], tmp_path)
    with monkeypatch.context() as other:
        other.setattr(MadeUpBench, name, value, raising=False)
        with pytest.raises(IncompatibleData, match=re.escape(message)):
            profiled([relu(), convolution()], tmp_path, resume=True, env=value if name == "env" else None)
    assert len(read_measured(tmp_path)) == 1
    assert all("forgotten" in job for job in bench)  # what was refused is not taken from the board later
    assert len(read_measured(profiled([relu(), convolution()], tmp_path, resume=True))) == 2


def test_a_campaign_that_did_not_note_what_measures_goes_on(bench: list[Any], tmp_path: Path):
    profiled([relu()], tmp_path)
    noted = json.loads((tmp_path / "campaign.json").read_text())
    del noted["env"], noted["measured_by"]
    (tmp_path / "campaign.json").write_text(json.dumps(noted))
    assert len(read_measured(profiled([relu(), convolution()], tmp_path, resume=True))) == 2


def test_rows_of_a_newer_format_are_refused(bench: list[Any], tmp_path: Path):
    profiled([relu()], tmp_path)
    (path,) = (tmp_path / "measurements").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(IncompatibleData, match=r"format 2; this edgeperf reads formats up to 1\. Update"):
        profiled([relu(), convolution()], tmp_path, resume=True)


@pytest.mark.parametrize("content", ["{", "", "[]", "{}", '{"rows": [{"key": "relu-1"}]}'])
def test_a_damaged_file_is_named_and_repeated_once_it_is_deleted(bench: list[Any], tmp_path: Path, content: str):
    profiled([relu(), convolution()], tmp_path)
    (damaged,) = (tmp_path / "measurements").iterdir()
    damaged.write_text(content)
    with pytest.raises(InvalidInput, match=rf"{damaged} cannot be read .*delete it: its measurements will be repeated"):
        profiled([relu(), convolution()], tmp_path, resume=True)
    damaged.unlink()
    assert len(read_measured(profiled([relu(), convolution()], tmp_path, resume=True))) == 2
    assert len(bench) == 2


def test_smaller_batches_come_first_and_larger_ones_are_skipped_after_a_failure(bench: list[Any], tmp_path: Path):
    path = profiled([tanh(4), tanh(1), tanh(2), replace(relu(), batch_size=4)], tmp_path)
    assert [(job["batch_size"], len(job["operations"])) for job in bench] == [(1, 1), (2, 1), (4, 1)]
    table = pd.read_csv(path)
    of_tanh = table[table["kind"] == "tanh"].set_index("batch_size")["status"]
    assert of_tanh.to_dict() == {1: "ok", 2: "oom", 4: "skipped"}
    assert table[table["status"] != "ok"]["latency_ms"].isna().all()


def test_a_sweep_measures_all_operations_at_each_clock(bench: list[Any], tmp_path: Path):
    table = read_measured(profiled([relu(), convolution()], tmp_path, gpu_clocks_mhz=[300.0, 900.0]))
    assert [job["gpu_mhz"] for job in bench] == [300.0, 900.0]
    assert sorted(table["set_clock_mhz"]) == [307.2, 307.2, 921.6, 921.6]
    assert set(of_device(table, "jetson-nano")["set_clock_mhz"]) == {921.6}


def test_clocks_for_which_the_board_has_but_one_are_measured_once(bench: list[Any], tmp_path: Path):
    clocks = [900.0, 300.0, 950.0]
    for resume in (False, True):
        path = profiled([tanh(1), tanh(2), tanh(4)], tmp_path, gpu_clocks_mhz=clocks, resume=resume)
    assert [(job["gpu_mhz"], job["batch_size"]) for job in bench] == [(900.0, 1), (900.0, 2), (300.0, 1), (300.0, 2)]
    skipped = pd.read_csv(path).query("status == 'skipped'")
    assert sorted(skipped["set_clock_mhz"]) == [307.2, 921.6]


def test_a_clock_that_cannot_be_set_ends_the_campaign_and_fails_no_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'Insufficient Permissions'; exit 4\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(InvalidInput, match=r"cannot be set to 900 MHz: .*Insufficient .*leave out --gpu-clock") as told:
        profiled(
            [relu(), convolution()],
            tmp_path / "out",
            board=None,
            device="mine",
            gpu_clocks_mhz=[900.0],
            root=str(tmp_path),
        )
    assert told.value.exit_code == 2
    assert list((tmp_path / "out/measurements").iterdir()) == []


def test_a_table_without_the_device_or_of_something_else_is_refused(bench: list[Any], tmp_path: Path):
    table = read_measured(profiled([relu(), convolution()], tmp_path))
    assert len(of_device(table, "jetson-nano")) == 2
    with pytest.raises(InvalidInput, match="The table holds: jetson-nano"):
        of_device(table, "jetson-tx2")
    with pytest.raises(InvalidInput, match="edgeperf operations"):
        read_measured(tmp_path / "nowhere")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match="lacks the column"):
        read_measured(tmp_path / "other.csv")


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_this_machine_measures_operations_with_real_keras(training: bool, tmp_path: Path):
    wanted = [convolution(), relu(), replace(relu(), kind="Add", inputs=2, input_elements=2 * relu().input_elements)]
    plan = replace(QUICK, training=training)
    profile_operations(wanted, device="host-cpu", out=tmp_path, plan=plan, progress=lambda _: None)
    table = read_measured(tmp_path).set_index("kind")
    assert set(table.index) == {"Conv2D", "relu", "Add"}
    assert (table["latency_ms"] > 0).all()
    assert (table["calls"] >= 3 * 8).all()
    assert set(table["phase"]) == {"training" if training else "inference"}


@pytest.mark.slow
@pytest.mark.parametrize("op", [convolution(), relu()], ids=lambda op: op.kind)
def test_the_keras_model_of_an_operation_is_its_network(op: Operation):
    import keras

    _, recipe = from_definition(lambda layers: single(layers, op))
    assert workloads([read_network(build(recipe, keras))]) == workloads([single_network(op)])
