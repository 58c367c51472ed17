"""The measurements of Bouzidi et al. (Jetson Nano, TX2, AGX Xavier) → rows in the common form.

Two layouts of the same measurements are read: three tables with a header (`latency_ms.csv`, `power_mw.csv`,
`memory_mb.csv`), and a checkout of the authors' repository, whose files have none.

Reference:
    H. Bouzidi, H. Ouarnoughi, S. Niar, A. Ait El Cadi: "Performance Prediction for Convolutional Neural Networks on
    Edge GPUs", ACM Computing Frontiers 2021; "Performance Modeling of Computer Vision-based CNN on Edge GPUs", ACM
    TECS 2022.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from edgeperf.datasets import bouzidi_repairs
from edgeperf.datasets.dataset import Dataset, Provenance, build
from edgeperf.datasets.splits import repeated_in_training
from edgeperf.errors import InvalidInput

PROVENANCE = Provenance(
    name="bouzidi",
    source="github.com/HalimaBouzidi/perf_prediction @ 129220965e0615ee9c61ab1f4a59bf9903bf1550",
    licence="LICENSE.md in the source repository (MIT text, another project's copyright line)",
    cite="H. Bouzidi et al., Performance Prediction for Convolutional Neural Networks on Edge GPUs, ACM CF 2021",
    label_origin="published",
    meaning={
        "latency_ms": "mean GPU kernel time over 100 inferences (nvprof), TensorFlow 1 frozen graph, FP32, batch 1",
        "power_mw": "median of the board's GPU rail (INA3221) under load",
        "energy_mj": "latency_ms x power_mw of the same network on the same board, GPU rail",
        "memory_mib": "memory in use on the whole board while running, with runtime and operating system",
    },
    notes=bouzidi_repairs.NOTES,
)

_TABLES = {"latency_ms": "latency_ms.csv", "power_mw": "power_mw.csv", "memory_mib": "memory_mb.csv"}
_VALUE_COLUMN = {"latency_ms": "latency_ms", "power_mw": "power_mw", "memory_mib": "memory_mb"}
_DEVICES = {"jetson_nano": "jetson-nano", "jetson_tx2": "jetson-tx2", "jetson_agx_xavier": "jetson-agx-xavier"}
_SPLITS = {"train": "train", "test_unseen_size": "NIS", "test_unseen_model": "NCV", "test_unseen_synthetic": "NCA"}
_FEATURES = {
    "nb_layers": "num_layers",
    "sum_activations": "activations",
    "flops": "flops",
    "params": "params",
    "params_conv": "params_conv",
    "params_bn": "params_batch_norm",
    "params_fc": "params_dense",
    "nb_conv_layers": "num_conv",
    "nb_bn_layers": "num_batch_norm",
    "nb_fc_layers": "num_dense",
    "weighted_sum_neurons": "weighted_neurons",
}

_CHECKOUT_METRICS = {
    "latency_ms": "execution_time_prediction",
    "power_mw": "power_consumption_prediction",
    "memory_mib": "memory_consumption_prediction",
}
_CHECKOUT_BOARDS = {"Nano": "jetson-nano", "TX2": "jetson-tx2", "AGX": "jetson-agx-xavier"}
_CHECKOUT_FILES = {"training_dataset": "train", "test_dim1": "NIS", "test_dim2": "NCV", "test_dim3": "NCA"}
_CHECKOUT_COLUMNS = (
    "model", "shape", "value", "input_size", "input_pixels", "params_conv", "params_batch_norm", "params_dense",
    "flops", "num_layers", "num_conv", "num_batch_norm", "num_dense", "activations", "weighted_neurons",
)  # fmt: skip
_CHECKOUT_MEMORY_COLUMNS = (
    "model", "shape", "value", "input_size", "input_pixels", "num_layers", "activations", "params",
)  # fmt: skip


def recognises(source: Path) -> bool:
    """Whether the folder holds the three tables or looks like a checkout of the authors."""
    return (source / _TABLES["latency_ms"]).is_file() or (source / "Final_models").is_dir()


def read(source: Path) -> Dataset:
    """The measurements in either layout, with the faults repaired that show without looking at labels.

    Raises:
        InvalidInput: neither layout is found, or a file does not have the columns it must have.
    """
    if (source / _TABLES["latency_ms"]).is_file():
        rows = pd.concat([_read_table(source, metric) for metric in _TABLES], ignore_index=True)
    elif (source / "Final_models").is_dir():
        rows = _read_checkout(source)
    else:
        raise InvalidInput(
            f"{source} holds neither {', '.join(_TABLES.values())} nor a folder Final_models. Expected the measured "
            "tables of Bouzidi et al. or a checkout of github.com/HalimaBouzidi/perf_prediction."
        )
    rows = bouzidi_repairs.repair(rows)
    rows = rows[~repeated_in_training(rows)]
    rows = pd.concat([rows, bouzidi_repairs.energy(rows)], ignore_index=True)
    return build(rows, provenance=PROVENANCE, root=source)


def _read_table(source: Path, metric: str) -> pd.DataFrame:
    path = source / _TABLES[metric]
    try:
        table = pd.read_csv(path)
    except FileNotFoundError:
        raise InvalidInput(f"No file {path}. Expected {', '.join(_TABLES.values())} together in one folder.") from None
    needed = ["device", "model", "input_size", "split", "arch_id", _VALUE_COLUMN[metric]]
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise InvalidInput(f"{path}: missing column(s) {', '.join(missing)}.")
    rows = table.rename(columns={**_FEATURES, _VALUE_COLUMN[metric]: "value"})
    rows["device"] = rows["device"].map(_DEVICES).fillna(rows["device"])
    rows["split"] = rows["split"].map(_SPLITS).fillna(rows["split"])
    return rows.assign(metric=metric).drop(columns="synthetic", errors="ignore").dropna(subset=["value"])


def _read_checkout(source: Path) -> pd.DataFrame:
    parts = []
    for metric, folder in _CHECKOUT_METRICS.items():
        columns = _CHECKOUT_MEMORY_COLUMNS if metric == "memory_mib" else _CHECKOUT_COLUMNS
        for board, device in _CHECKOUT_BOARDS.items():
            for stem, split in _CHECKOUT_FILES.items():
                path = source / "Final_models" / folder / board / "data" / f"{stem}.csv"
                parts.append(_read_headless(path, columns).assign(metric=metric, device=device, split=split))
    rows = pd.concat(parts, ignore_index=True).drop(columns=["shape", "input_pixels"])
    return rows.assign(arch_id=None).dropna(subset=["value"])


def _read_headless(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    if not path.is_file():
        raise InvalidInput(f"No file {path}. The checkout is incomplete; clone the authors' repository again.")
    table = pd.read_csv(path, header=None)
    if table.shape[1] != len(columns):
        raise InvalidInput(f"{path} has {table.shape[1]} columns; expected {len(columns)}: {', '.join(columns)}.")
    table.columns = pd.Index(columns)
    return table
