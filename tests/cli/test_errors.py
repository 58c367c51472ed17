"""Wrong input: one clear message, exit code 2, no traceback, nothing on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"


def complaint(edgeperf: Run, *arguments: str | Path) -> str:
    """The message of a call that must end with exit code 2."""
    ended = edgeperf(*arguments)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    return ended.stderr


@pytest.mark.parametrize("command", [("features",), ("layers",), ("predict", "--device", "jetson-tx2")])
def test_no_such_file(edgeperf: Run, command: tuple[str, ...]) -> None:
    assert "missing.keras" in complaint(edgeperf, command[0], "missing.keras", *command[1:])


@pytest.mark.parametrize("name", ["photo.png", "photo.keras", "photo.h5", "photo.json", "photo.onnx"])
def test_an_image_instead_of_a_model(edgeperf: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PNG)
    message = complaint(edgeperf, "features", path)
    assert name in message
    assert ".keras" in message


def test_a_folder_instead_of_a_model(edgeperf: Run, tmp_path: Path) -> None:
    assert str(tmp_path) in complaint(edgeperf, "features", tmp_path)


def test_unsupported_layers_are_listed_at_once(edgeperf: Run, with_lambda: Path) -> None:
    message = complaint(edgeperf, "features", with_lambda)
    assert "twice (Lambda)" in message
    assert "mine (HomeMade)" in message


def test_unknown_device_names_the_known_ones(edgeperf: Run, mobilenet_v2: Path) -> None:
    message = complaint(edgeperf, "predict", mobilenet_v2, "--device", "jetson-tx3")
    assert "jetson-tx3" in message
    assert "jetson-agx-xavier" in message


def test_an_input_size_that_is_too_small(edgeperf: Run, mobilenet_v2: Path) -> None:
    complaint(edgeperf, "features", mobilenet_v2, "--input-size", "0")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A model that takes no image."""
    layers = [
        {"class_name": "InputLayer", "config": {"name": "vector", "batch_shape": [None, 16]}},
        {"class_name": "Dense", "config": {"name": "dense", "units": 4}},
    ]
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "vectors", "layers": layers}}))
    return path


@pytest.mark.parametrize(
    "command",
    [("features",), ("compare", "--devices", "all"), ("operations", "--device", "host-cpu", "--count", "2")],
)
def test_an_input_size_for_a_model_without_images(edgeperf: Run, vectors: Path, command: tuple[str, ...]) -> None:
    out = ("--out", vectors.parent / "out") if command[0] == "operations" else ()
    message = complaint(edgeperf, command[0], vectors, *command[1:], *out, "--input-size", "64")
    assert "vectors takes no image" in message
    assert "Leave --input-size out" in message


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--data"),
        ("train", "--seed", "1", "--out", "surrogates", "--data"),
        ("data", "check"),
        ("data", "import", "bouzidi", "--out", "dataset"),
    ],
)
def test_an_empty_data_folder(edgeperf: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert str(empty) in complaint(edgeperf, *command, empty)


SEARCH = ("search", "--space", "mobilenet-v2", "--device", "jetson-tx2", "--seed", "1")


@pytest.mark.parametrize("bound", ["latency_ms<=", "latency_ms", "latency_ms<=fast", "speed<=3", "latency_ms=<30"])
def test_a_constraint_that_cannot_be_parsed(edgeperf: Run, tmp_path: Path, bound: str) -> None:
    message = complaint(edgeperf, *SEARCH, "--out", tmp_path / "out", "--constraint", bound)
    assert bound.partition("<")[0] in message


@pytest.mark.parametrize(("option", "value"), [("--space", "lenet"), ("--device", "jetson"), ("--objective", "beauty")])
def test_a_search_for_what_does_not_exist(edgeperf: Run, tmp_path: Path, option: str, value: str) -> None:
    assert value in complaint(edgeperf, *SEARCH, "--out", tmp_path / "out", option, value)


def test_a_report_of_a_folder_without_a_search(edgeperf: Run, tmp_path: Path) -> None:
    assert str(tmp_path) in complaint(edgeperf, "report", tmp_path)


@pytest.mark.parametrize("command", ["operations", "profile"])
@pytest.mark.parametrize("out", ["a file", "/proc/campaign"])
def test_a_folder_for_measurements_that_cannot_be(edgeperf: Run, tmp_path: Path, command: str, out: str) -> None:
    (tmp_path / "a file").touch()
    model, path = "zoo:mobilenet-v1/MobileNet v1 0.25", tmp_path / out
    message = complaint(edgeperf, command, model, "--device", "host-cpu", "--out", path)
    assert f"{path} cannot hold a campaign" in message
    assert "--out" in message


@pytest.mark.parametrize("command", ["operations", "profile"])
def test_the_help_names_the_device_that_is_this_machine(edgeperf: Run, command: str) -> None:
    assert "host-cpu for this machine" in " ".join(edgeperf(command, "--help").stdout.split())
