"""The import of the Jetson measurements, on small tables with the faults of the published ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgeperf.datasets import check, import_table, load
from edgeperf.datasets.bouzidi_repairs import contradicts_itself
from edgeperf.errors import InvalidInput

FEATURES = {
    "nb_layers": 20, "sum_activations": 1000.0, "flops": 2000.0, "params_conv": 500, "params_bn": 40, "params_fc": 10,
    "nb_conv_layers": 5, "nb_bn_layers": 5, "nb_fc_layers": 1, "weighted_sum_neurons": 1000.0,
}  # fmt: skip


def _row(
    model: str, size: int, value: float, split: str, metric: str, device: str = "jetson_tx2", **changed: object
) -> dict:
    row = {"device": device, "model": model, "synthetic": model.startswith("basic"), "input_size": size, metric: value}
    return {**row, "split": split, "arch_id": None, **FEATURES, **changed}


def _write(folder: Path, **tables: list[dict]) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("latency_ms", "power_mw", "memory_mb"):
        rows = tables.get(name) or [_row("ResNet-9", 64, 500.0, "train", name)]
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_splits_devices_and_families_have_their_names(tmp_path: Path) -> None:
    splits = ("train", "test_unseen_size", "test_unseen_model", "test_unseen_synthetic")
    rows = [_row(f"basic_{i}", 64, 5.0 + i, split, "latency_ms") for i, split in enumerate(splits)]
    dataset = load(_write(tmp_path / "d", latency_ms=rows))
    found = dataset.target("jetson-tx2", "latency_ms")
    assert list(found["split"]) == ["train", "NIS", "NCV", "NCA"]
    assert set(found["family"]) == {"synthetic"}


def test_a_test_row_that_repeats_a_training_network_is_dropped(tmp_path: Path) -> None:
    rows = [
        _row("basic_model_64_5", 64, 10.0, "train", "latency_ms"),
        _row("basic_model_64_5", 64, 10.2, "test_unseen_synthetic", "latency_ms"),
        _row("basic_model_64_5", 64, 33.0, "test_unseen_synthetic", "latency_ms", sum_activations=7777.0),
    ]
    found = load(_write(tmp_path / "d", latency_ms=rows)).target("jetson-tx2", "latency_ms")
    # The third has the name of the others but is another network, as its activations tell.
    assert list(found["value"]) == [10.0, 33.0]


def test_energy_is_latency_times_power_within_a_split(tmp_path: Path) -> None:
    latency = [_row("A", 64, 10.0, "train", "latency_ms"), _row("B", 64, 20.0, "train", "latency_ms")]
    power = [_row("A", 64, 3000.0, "train", "power_mw"), _row("B", 64, 3000.0, "test_unseen_size", "power_mw")]
    found = load(_write(tmp_path / "d", latency_ms=latency, power_mw=power)).target("jetson-tx2", "energy_mj")
    assert list(found["model"]) == ["A"]
    assert found["value"].item() == pytest.approx(30.0)


def test_columns_that_are_one_too_high_are_put_right(tmp_path: Path) -> None:
    shifted = {"params_fc": 11, "nb_bn_layers": 6, "nb_fc_layers": 2, "params_conv": 501}
    power = [_row("basic_1", 64, 3000.0, "train", "power_mw", device="jetson_agx_xavier", **shifted)]
    found = load(_write(tmp_path / "d", power_mw=power)).target("jetson-agx-xavier", "power_mw")
    for column, right in (("params_dense", 10), ("num_batch_norm", 5), ("num_dense", 1), ("params_conv", 500)):
        assert found[column].item() == right


def test_memory_takes_the_columns_of_the_same_network(tmp_path: Path) -> None:
    memory = [
        {
            "device": "jetson_tx2", "model": "basic_1", "synthetic": True, "input_size": 64, "memory_mb": 1500.0,
            "split": "train", "arch_id": None, "nb_layers": 20, "sum_activations": 1000.0, "params": 550,
        }
    ]  # fmt: skip
    latency = [_row("basic_1", 64, 5.0, "train", "latency_ms")]
    found = load(_write(tmp_path / "d", latency_ms=latency, memory_mb=memory)).target("jetson-tx2", "memory_mib")
    assert found["weighted_neurons"].item() == 1000.0


def test_contradictions_show_without_labels(tmp_path: Path) -> None:
    rows = [
        _row("basic_1", 64, 5.0, "train", "latency_ms"),
        _row("basic_2", 64, 5.0, "train", "latency_ms", flops=2000.0 * 1.06),
        _row("ResNet-9", 64, 5.0, "train", "latency_ms", flops=9e9),
    ]
    dataset = load(_write(tmp_path / "d", latency_ms=rows))
    latency = dataset.target("jetson-tx2", "latency_ms")
    first = contradicts_itself(latency)
    assert list(first) == [False, True, False]
    np.testing.assert_array_equal(first, contradicts_itself(latency.assign(value=1.0)))


def test_a_checkout_of_the_authors_gives_the_same_rows(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    latency = [
        _row("basic_1", 64, 5.0, "train", "latency_ms"),
        _row("basic_2", 90, 9.0, "test_unseen_size", "latency_ms"),
    ]
    power = [_row("basic_1", 64, 3000.0, "train", "power_mw")]
    memory = [
        {
            "device": "jetson_tx2", "model": "basic_1", "synthetic": True, "input_size": 64, "memory_mb": 1500.0,
            "split": "train", "arch_id": None, "nb_layers": 20, "sum_activations": 1000.0, "params": 550,
        }
    ]  # fmt: skip
    _write(tables, latency_ms=latency, power_mw=power, memory_mb=memory)
    checkout = _checkout(tmp_path / "checkout", latency, power, memory)
    ours, theirs = (load(folder).rows for folder in (tables, checkout))
    columns = ["device", "model", "metric", "value", "split", "input_size", "params", "flops", "network"]
    order = ["metric", "model", "split"]
    pd.testing.assert_frame_equal(
        ours[columns].sort_values(order).reset_index(drop=True),
        theirs[columns].sort_values(order).reset_index(drop=True),
    )


def _checkout(root: Path, latency: list[dict], power: list[dict], memory: list[dict]) -> Path:
    metrics = {
        "execution_time_prediction": ("latency_ms", latency),
        "power_consumption_prediction": ("power_mw", power),
        "memory_consumption_prediction": ("memory_mb", memory),
    }
    files = {"train": "training_dataset", "test_unseen_size": "test_dim1", "test_unseen_model": "test_dim2"}
    boards = {"jetson_nano": "Nano", "jetson_tx2": "TX2", "jetson_agx_xavier": "AGX"}
    full = [
        "params_conv", "params_bn", "params_fc", "flops", "nb_layers", "nb_conv_layers", "nb_bn_layers", "nb_fc_layers",
        "sum_activations", "weighted_sum_neurons",
    ]  # fmt: skip
    for folder, (metric, rows) in metrics.items():
        width = 8 if metric == "memory_mb" else 15
        for device, board in boards.items():
            for split, stem in {**files, "test_unseen_synthetic": "test_dim3"}.items():
                chosen = [r for r in rows if r["device"] == device and r["split"] == split]
                columns = ["nb_layers", "sum_activations", "params"] if metric == "memory_mb" else full
                lines = [
                    [r["model"], f"({r['input_size']}, {r['input_size']}, 3)", r[metric], r["input_size"],
                     r["input_size"] ** 2, *(r[c] for c in columns)]
                    for r in chosen
                ]  # fmt: skip
                path = root / "Final_models" / folder / board / "data" / f"{stem}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                # Boards without rows have files of blank fields, as an empty file is no table.
                pd.DataFrame(lines or [["x", "(1, 1, 3)", None, *[1] * (width - 3)]]).to_csv(
                    path, header=False, index=False
                )
    return root


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = _write(tmp_path / "d")
    (folder / "power_mw.csv").unlink()
    with pytest.raises(InvalidInput, match=r"No file .*power_mw\.csv"):
        load(folder)
    folder = _write(tmp_path / "e")
    pd.read_csv(folder / "latency_ms.csv").drop(columns="split").to_csv(folder / "latency_ms.csv", index=False)
    with pytest.raises(InvalidInput, match=r"missing column\(s\) split"):
        load(folder)
    (tmp_path / "checkout" / "Final_models").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="checkout is incomplete"):
        load(tmp_path / "checkout")


@pytest.mark.data
def test_the_published_tables_import_and_survive_a_round_trip(shared_data: Path, tmp_path: Path) -> None:
    raw = load(shared_data / "bouzidi")
    imported = import_table("bouzidi", shared_data / "bouzidi", tmp_path / "out")
    assert imported.sha256() == raw.sha256()
    summary = check(tmp_path / "out")
    assert set(summary["device"]) == {"jetson-nano", "jetson-tx2", "jetson-agx-xavier"}
    assert set(summary["metric"]) == {"latency_ms", "power_mw", "energy_mj", "memory_mib"}
    known = summary[(summary["split"].isin(["NIS", "NCV"]))]
    assert (known["rows"] == known["with_graph"]).all()
    synthetic = raw.rows[raw.rows["family"] == "synthetic"]
    training = synthetic[synthetic["split"] == "train"]
    for _, test in synthetic[synthetic["split"] == "NCA"].groupby(["device", "metric"]):
        same = training[(training["device"] == test["device"].iloc[0]) & (training["metric"] == test["metric"].iloc[0])]
        assert not set(test["network"]) & set(same["network"])


@pytest.mark.data
def test_features_of_the_graph_are_the_published_ones_where_these_are_right(shared_data: Path) -> None:
    from edgeperf.datasets import feature_table
    from edgeperf.datasets.dataset import Dataset
    from edgeperf.network import FEATURE_NAMES

    raw = load(shared_data / "bouzidi")
    few = raw.rows[(raw.rows["metric"] == "latency_ms") & raw.rows["arch_id"].notna() & (raw.rows["input_size"] == 224)]
    table = feature_table(Dataset(provenance=raw.provenance, rows=few, root=raw.root))
    ours = table.of(few["network"])
    for name in ("num_conv", "params_conv", "activations"):
        agree = np.isclose(ours[:, FEATURE_NAMES.index(name)], few[name])
        assert agree.mean() > 0.9
