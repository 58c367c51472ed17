from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgeperf.units import METRICS
from tests.cli.conftest import Run

ESTIMATE_KEYS = {"network", "device", "metric", "value", "low", "high", "unit", "predictor", "in_range"}


def test_features_of_mobilenet_v2_are_those_of_keras(edgeperf: Run, mobilenet_v2: Path) -> None:
    found = json.loads(edgeperf("features", mobilenet_v2, "--json").stdout)
    assert found["input_shape"] == [224, 224, 3]
    assert found["features"]["params"] == 3_538_984
    assert found["features"]["macs"] == 300_774_272
    assert found["features"]["num_batch_norm"] == 52


def test_input_size_infers_shapes_again(edgeperf: Run, mobilenet_v2: Path) -> None:
    found = json.loads(edgeperf("layers", mobilenet_v2, "--input-size", "96", "--json").stdout)
    shapes = {layer["name"]: layer["output_shape"] for layer in found["layers"]}
    assert shapes["Conv1"] == [48, 48, 32]
    assert shapes["out_relu"] == [3, 3, 1280]


def test_layers_add_up_to_the_features(edgeperf: Run, mobilenet_v2: Path) -> None:
    layers = json.loads(edgeperf("layers", mobilenet_v2, "--json").stdout)["layers"]
    features = json.loads(edgeperf("features", mobilenet_v2, "--json").stdout)["features"]
    assert sum(layer["macs"] for layer in layers) == features["macs"]
    assert sum(layer["params"] for layer in layers) == features["params"]


def test_predict_gives_four_metrics_with_intervals(edgeperf: Run, mobilenet_v2: Path) -> None:
    ended = edgeperf("predict", mobilenet_v2, "--device", "jetson-tx2", "--json")
    assert ended.returncode == 0, ended.stderr
    estimates = json.loads(ended.stdout)["estimates"]
    assert {estimate["metric"] for estimate in estimates} == {"latency_ms", "power_mw", "energy_mj", "memory_mib"}
    for estimate in estimates:
        assert set(estimate) >= ESTIMATE_KEYS
        assert 0 < estimate["low"] < estimate["value"] < estimate["high"]
        assert estimate["in_range"] is True


def test_a_larger_input_costs_more(edgeperf: Run, mobilenet_v2: Path) -> None:
    def latency(size: str) -> float:
        command = ("predict", mobilenet_v2, "--device", "jetson-nano", "--input-size", size, "--json")
        estimates = json.loads(edgeperf(*command).stdout)["estimates"]
        return next(float(found["value"]) for found in estimates if found["metric"] == "latency_ms")

    assert latency("448") > 2 * latency("224")


def test_a_network_beyond_the_memory_of_its_board_is_remarked_on(edgeperf: Run, mobilenet_v2: Path) -> None:
    large = edgeperf("predict", mobilenet_v2, "--device", "jetson-nano", "--input-size", "8192", "--json")
    assert "more than the 4 GiB of a Jetson Nano" in large.stderr
    assert json.loads(large.stdout)["estimates"]
    assert "GiB" not in edgeperf("predict", mobilenet_v2, "--device", "jetson-nano").stderr


_LINK = ("--bandwidth-mbit-s", "20", "--round-trip-ms", "10", "--radio-uj-per-byte", "0.5", "--server-ms", "3")


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in mixed precision that takes four images at once."""
    import keras

    image = keras.Input((32, 32, 3), batch_size=4)
    x = keras.layers.Conv2D(8, 3, dtype="mixed_float16")(image)
    x = keras.layers.GlobalAveragePooling2D(dtype="mixed_float16")(x)
    path = tmp_path_factory.mktemp("models") / "half.keras"
    keras.Model(image, keras.layers.Dense(4, dtype="float32")(x)).save(path)
    return path


def test_precision_and_batch_that_figures_are_not_for_are_remarked_on(
    edgeperf: Run, mobilenet_v2: Path, half: Path
) -> None:
    on_board = ("--device", "jetson-tx2")
    for command, arguments in (
        ("predict", on_board),
        ("predict", (*on_board, "--json")),
        ("layers", on_board),
        ("compare", ("--devices", "jetson-tx2", "--json")),
        ("choose", ("--devices", "jetson-tx2", "--limit", "latency_ms=30")),
        ("offload", (*on_board, *_LINK)),
    ):
        told = edgeperf(command, half, *arguments).stderr
        assert "half is a mixed_float16 model; its figures here are for float32, as the measurements were." in told
        assert "half takes 4 images per pass; its figures here are for one image." in told
        assert "figures" not in edgeperf(command, mobilenet_v2, *arguments).stderr
    note = json.loads(edgeperf("layers", half, *on_board, "--json").stdout)["note"]
    assert "mixed_float16" in note
    assert "4 images" in note


def test_memory_remarks_on_what_was_not_asked_for(edgeperf: Run, mobilenet_v2: Path, half: Path) -> None:
    told = edgeperf("memory", half).stderr
    assert "for float32; see --precision" in told
    assert "for one image" in told
    assert "for 8 images" in edgeperf("memory", half, "--batch-size", "8").stderr
    assert "images" not in edgeperf("memory", half, "--batch-size", "4").stderr
    assert edgeperf("memory", mobilenet_v2, "--precision", "float16", "--batch-size", "8").stderr == ""


def test_boards_have_short_names(edgeperf: Run, mobilenet_v2: Path) -> None:
    found = json.loads(edgeperf("predict", mobilenet_v2, "--device", "Nano", "--device", "tx2", "--json").stdout)
    assert {estimate["device"] for estimate in found["estimates"]} == {"jetson-nano", "jetson-tx2"}


def test_what_the_tables_show_is_complete(edgeperf: Run, mobilenet_v2: Path) -> None:
    assert "3,538,984" in edgeperf("features", mobilenet_v2).stdout
    assert "block_16_project_BN" in edgeperf("layers", mobilenet_v2).stdout
    shown = edgeperf("predict", mobilenet_v2, "--device", "jetson-nano", "--device", "jetson-tx2").stdout
    for words in ("jetson-nano", "jetson-tx2", "GPU-rail power", "MiB", "mJ"):
        assert words in shown


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["features"], ["numpy", "pandas", "sklearn", "xgboost", "keras", "tensorflow"]),
        (["layers"], ["numpy", "pandas", "sklearn", "xgboost", "keras", "tensorflow"]),
        (["predict", "--device", "jetson-tx2"], ["keras", "tensorflow", "optuna", "pymoo", "plotly"]),
    ],
)
def test_reading_and_predicting_load_no_more_than_they_need(
    mobilenet_v2: Path, arguments: list[str], forbidden: list[str]
) -> None:
    script = (
        "import sys; from edgeperf.cli import app; app(sys.argv[2:], standalone_mode=False); "
        "print([name for name in sys.argv[1].split(',') if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, ",".join(forbidden), arguments[0], str(mobilenet_v2), *arguments[1:]]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"


def test_importing_edgeperf_loads_the_standard_library_alone() -> None:
    script = (
        "import sys; before = set(sys.modules); import edgeperf; "
        "print(sorted(name for name in set(sys.modules) - before "
        "if name.split('.')[0] not in sys.stdlib_module_names and not name.startswith('edgeperf')))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_memory_grows_with_the_batch_and_shrinks_with_the_precision(edgeperf: Run, mobilenet_v2: Path) -> None:
    def plan(*options: str) -> dict[str, int]:
        return dict(json.loads(edgeperf("memory", mobilenet_v2, *options, "--json").stdout))

    one, eight, half = plan(), plan("--batch-size", "8"), plan("--precision", "float16")
    assert one["weight_bytes"] == 4 * 3_538_984
    assert eight["peak_activation_bytes"] == 8 * one["peak_activation_bytes"]
    assert 2 * half["peak_activation_bytes"] == one["peak_activation_bytes"]
    assert "not included" in edgeperf("memory", mobilenet_v2).stdout


def test_declared_layers_count(edgeperf: Run, with_lambda: Path, tmp_path: Path) -> None:
    declared = tmp_path / "declared.json"
    cost = {"output_shape": [32, 32, 3], "params": 7, "macs": 11, "flops": 22}
    declared.write_text(json.dumps({"twice": cost, "HomeMade": cost}))
    found = json.loads(edgeperf("features", with_lambda, "--declared", declared, "--json").stdout)
    assert found["features"]["params"] == 14
    assert found["features"]["macs"] == 22


def test_a_declaration_that_matches_nothing_is_told(edgeperf: Run, with_lambda: Path, tmp_path: Path) -> None:
    declared = tmp_path / "declared.json"
    cost = {"output_shape": [32, 32, 3], "params": 7, "macs": 11, "flops": 22}
    declared.write_text(json.dumps({"twice": cost, "HomeMade": cost}))
    assert "declares" not in edgeperf("features", with_lambda, "--declared", declared).stderr
    declared.write_text(json.dumps({"twice": cost, "HomeMade": cost, "thrice": cost}))
    done = edgeperf("features", with_lambda, "--declared", declared)
    assert done.returncode == 0
    assert f"{declared} declares 'thrice', but with_lambda has no layer or class of that name" in done.stderr


def test_layers_on_a_device_add_up_to_the_prediction(edgeperf: Run, mobilenet_v2: Path) -> None:
    table = json.loads(edgeperf("layers", mobilenet_v2, "--device", "jetson-tx2", "--json").stdout)
    estimates = json.loads(edgeperf("predict", mobilenet_v2, "--device", "jetson-tx2", "--json").stdout)["estimates"]
    for metric in ("latency_ms", "energy_mj"):
        whole = next(found for found in estimates if found["metric"] == metric)
        assert sum(layer[metric] for layer in table["layers"]) == pytest.approx(whole["value"])
        assert whole in table["estimates"]


@pytest.mark.parametrize(("size", "verdict"), [("224", " yes"), ("4096", " no: ")])
def test_layers_and_predict_say_the_same_of_a_network_and_of_how_sure_that_is(
    edgeperf: Run, mobilenet_v2: Path, size: str, verdict: str
) -> None:
    wanted = (mobilenet_v2, "--device", "jetson-tx2", "--input-size", size)
    told, shown = (
        [" ".join(line.split()) for line in edgeperf(command, *wanted).stdout.splitlines()]
        for command in ("predict", "layers")
    )
    for label in ("Latency", "GPU-rail energy"):
        line = next(line for line in told if f"jetson-tx2 {label}" in line)
        assert line in shown
        assert verdict in line
    estimates = json.loads(edgeperf("predict", *wanted, "--json").stdout)["estimates"]
    value = {found["metric"]: METRICS[found["metric"]].format(found["value"]) for found in estimates}
    assert f"total {value['latency_ms']} 100.0% {value['energy_mj']} 100.0%" in shown


def test_devices_are_compared_chosen_and_spared(edgeperf: Run, mobilenet_v2: Path, tmp_path: Path) -> None:
    rows = json.loads(edgeperf("compare", mobilenet_v2, "--devices", "jetson-tx2,jetson-xavier-nx", "--json").stdout)
    origins = {row["device"]: row["origin"] for row in rows["rows"]}
    assert origins == {"jetson-tx2": "predicted", "jetson-xavier-nx": "extrapolated"}
    limits = ("--limit", "latency_ms=15", "--devices", "jetson-nano,jetson-tx2", "--json")
    choices = json.loads(edgeperf("choose", mobilenet_v2, *limits).stdout)["choices"]
    assert [(choice["device"], choice["verdict"]) for choice in choices] == [
        ("jetson-tx2", "meets"),
        ("jetson-nano", "misses"),
    ]
    link = ("--round-trip-ms", "10", "--radio-uj-per-byte", "0.5", "--server-ms", "3", "--plot", tmp_path / "plot.svg")
    command = ("offload", mobilenet_v2, "--device", "jetson-nano", "--bandwidth-mbit-s")
    slow, fast = (json.loads(edgeperf(*command, speed, *link, "--json").stdout) for speed in ("0.1", "1000"))
    assert (slow["faster"], fast["faster"]) == ("local", "offloaded")
    assert (tmp_path / "plot.svg").is_file()
