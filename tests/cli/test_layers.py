from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.layerwise.networks import made_up_sweep, made_up_table


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `edgeperf operations` leaves it."""
    folder = tmp_path_factory.mktemp("operations")
    made_up_table().assign(device="my-gpu", phase="inference", status="ok").to_csv(folder / "operations.csv")
    return folder


def test_layers_from_measured_operations_add_up(edgeperf: Run, mobilenet_v2: Path, measured: Path) -> None:
    done = edgeperf("layers", mobilenet_v2, "--device", "my-gpu", "--operations", measured, "--json")
    table = json.loads(done.stdout)
    assert table["method"] == "predicted"
    for metric in ("latency_ms", "energy_mj"):
        assert sum(layer[metric] for layer in table["layers"]) == pytest.approx(table[metric])
    assert isinstance(table["slow_layers"], list)
    assert table["estimates"] == []
    assert 0 < table["held_out_latency"]["median"] < 100
    assert "add --cpu" in done.stderr


def test_the_table_says_of_how_many_images_and_of_what_energy_its_costs_are(
    edgeperf: Run, mobilenet_v2: Path, tmp_path: Path
) -> None:
    table = made_up_table().assign(device="a30", phase="training", status="ok", batch_size=32)
    table.to_csv(tmp_path / "operations.csv")
    done = edgeperf("layers", mobilenet_v2, "--device", "a30", "--operations", tmp_path)
    assert "mobilenet_v2 on a30, training at batch size 32" in done.stdout
    assert "latency and GPU-board energy per training step of 32 images" in done.stdout
    assert "GPU-rail energy per inference" in edgeperf("layers", mobilenet_v2, "--device", "jetson-tx2").stdout


def test_a_sum_says_that_it_has_no_interval_and_how_far_operations_are_off(
    edgeperf: Run, mobilenet_v2: Path, measured: Path, tmp_path: Path
) -> None:
    done = edgeperf("layers", mobilenet_v2, "--device", "my-gpu", "--operations", measured)
    assert done.stdout.splitlines()[-2].split()[0] == "total"
    assert "has no interval" in done.stderr
    assert "(mean of 240)" in done.stderr
    few = made_up_table(rows=2).assign(device="my-gpu", phase="inference", status="ok")
    few.to_csv(tmp_path / "few.csv")
    done = edgeperf("layers", mobilenet_v2, "--device", "my-gpu", "--operations", tmp_path / "few.csv")
    assert "too few to tell" in done.stderr


def test_a_batch_that_the_operations_were_measured_at_needs_no_remark(edgeperf: Run, tmp_path: Path) -> None:
    layers = [{"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [4, 64]}}]
    model = tmp_path / "four.json"
    model.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "four", "layers": layers}}))
    for batch_size in (4, 2):
        path = tmp_path / f"{batch_size}.csv"
        sweep = made_up_sweep((300.0, 600.0), least_energy_mhz=600.0).assign(device="my-gpu", batch_size=batch_size)
        sweep.to_csv(path)
        for clocks in ((), ("--clocks",)):
            done = edgeperf("layers", model, "--device", "my-gpu", "--operations", path, *clocks)
            assert done.returncode == 0, done.stderr
            told = f"takes 4 images per pass; its figures here are for {batch_size} images"
            assert (told in done.stderr) is (batch_size == 2)


def test_what_operations_ran_on_can_be_said(edgeperf: Run, mobilenet_v2: Path, measured: Path) -> None:
    done = edgeperf("layers", mobilenet_v2, "--device", "my-gpu", "--operations", measured, "--gpu", "--json")
    assert done.returncode == 0
    assert "--cpu" not in done.stderr


def test_a_plot_is_drawn_and_the_table_says_how_close_each_layer_is(
    edgeperf: Run, mobilenet_v2: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "layers.svg"
    done = edgeperf("layers", mobilenet_v2, "--device", "jetson-tx2", "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert plot.read_text().startswith("<svg")
    assert str(plot) in done.stderr.replace("\n", "")
    assert "of the roofline" in done.stdout


def test_the_best_clocks_of_a_sweep_are_named(edgeperf: Run, mobilenet_v2: Path, tmp_path: Path) -> None:
    made_up_sweep((300.0, 600.0, 900.0), least_energy_mhz=600.0).assign(device="my-gpu").to_csv(tmp_path / "sweep.csv")
    wanted = ("layers", mobilenet_v2, "--device", "my-gpu", "--operations", tmp_path / "sweep.csv", "--clocks")
    found = json.loads(edgeperf(*wanted, "--json").stdout)
    assert [each["clock_mhz"] for each in found["clocks"]] == [300, 600, 900]
    assert {each["objective"]: each["clock_mhz"] for each in found["optima"]} == {"energy": 600, "energy-delay": 900}
    assert found["optima"][0]["cost"] == pytest.approx(found["clocks"][1]["energy_mj"])
    done = edgeperf(*wanted)
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if " MHz " in line}
    assert "inference at batch size 1, over GPU clocks: costs per inference" in done.stdout
    assert lines["600"].split()[-1] == "energy"
    assert lines["900"].split()[-1] == "energy-delay"
    assert "Least energy at 600 MHz" in done.stderr


def test_what_is_missing_is_said(edgeperf: Run, mobilenet_v2: Path, measured: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("--plot", tmp_path / "a.svg"), "--device NAME"),
        (("--device", "jetson-tx2", "--cpu"), "--operations DIR"),
        (("--device", "jetson-tx2", "--clocks"), "--operations DIR"),
        (("--device", "my-gpu", "--operations", measured, "--clocks"), "--gpu-clock MHZ"),
        (("--device", "my-gpu", "--operations", measured, "--clocks", "--plot", tmp_path / "a.svg"), "Leave one"),
        (("--device", "jetson-tx2", "--plot", tmp_path / "nowhere" / "a.svg"), "Cannot write"),
        (("--device", "my-gpu", "--operations", tmp_path), "edgeperf operations"),
        (("--device", "my-tpu", "--operations", measured), "The table holds: my-gpu"),
    ):
        done = edgeperf("layers", mobilenet_v2, *arguments)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.parametrize("device", ["jetson-nano", "Tesla T4"])
def test_operations_of_this_machine_are_not_filed_under_a_board(edgeperf: Run, tmp_path: Path, device: str) -> None:
    model = "zoo:mobilenet-v1/MobileNet v1 0.25"
    done = edgeperf("operations", model, "--device", device, "--count", "5", "--out", tmp_path)
    assert done.returncode == 2
    assert "--board user@host" in done.stderr


def test_operations_are_counted_once_and_only_those_that_were_asked_for(edgeperf: Run, tmp_path: Path) -> None:
    wanted = ("--device", "host-cpu", "--least-s", "0", "--input-size", "32", "--out", tmp_path)
    first = edgeperf("operations", "zoo:mobilenet-v1/MobileNet v1 0.25", *wanted, "--count", "5")
    assert "5 of 5 operations measured" in first.stderr
    twice = ("--batch-size", "1", "--batch-size", "1", "--resume", "--count", "2")
    again = edgeperf("operations", "zoo:resnet/ResNet-18", *wanted, *twice)
    assert "2 of 2 operations measured" in again.stderr, again.stderr


def test_operations_that_cannot_be_measured_alone_are_told(edgeperf: Run, tmp_path: Path) -> None:
    layers: list[dict[str, Any]] = [
        {"class_name": "InputLayer", "config": {"name": "signal", "batch_shape": [None, 32, 4]}},
        {"class_name": "Conv1D", "config": {"name": "one", "filters": 8, "kernel_size": [3]}},
        {"class_name": "Conv1D", "config": {"name": "two", "filters": 8, "kernel_size": [3]}},
        {"class_name": "ReLU", "config": {"name": "relu"}},
    ]
    model = tmp_path / "signal.json"
    model.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "signal", "layers": layers}}))
    wanted = ("--device", "host-cpu", "--least-s", "0", "--count", "2", "--out", tmp_path / "out")
    told = edgeperf("operations", model, *wanted).stderr
    assert "2 operation(s) left out that cannot be measured alone: Conv1D (2)." in told


@pytest.mark.slow
def test_operations_are_measured_and_predict_a_network(edgeperf: Run, mobilenet_v2: Path, tmp_path: Path) -> None:
    model = "zoo:mobilenet-v1/MobileNet v1 0.25"
    wanted = ("operations", model, "--device", "host-cpu", "--count", "30", "--least-s", "0.01", "--out", tmp_path)
    done = edgeperf(*wanted, "--input-size", "64")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "operations.csv")
    found = json.loads(
        edgeperf("layers", mobilenet_v2, "--device", "host-cpu", "--operations", tmp_path, "--json").stdout
    )
    assert found["latency_ms"] > 0
    assert found["energy_mj"] is None
