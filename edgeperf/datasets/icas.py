"""The measurements of the iCAS laboratory (Jetson Nano under TensorRT) → rows in the common form.

Power and energy are of the whole board (rail POM_5V_IN) and latency includes the copies to and from the GPU, so these
labels stand under a device of their own and never pool with others.

Reference:
    A. Juneja, M. Grenier, M. H. Amin, R. Zand: "Accelerating Hardware-Aware NAS with ML-Based Edge GPU Performance
    Modeling", IEEE COINS 2025.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from edgeperf.datasets.dataset import Dataset, Provenance, build
from edgeperf.datasets.icas_networks import PREFIX, convnet_id
from edgeperf.errors import InvalidInput

DEVICE = "jetson-nano-tensorrt"
CONVNETS_FILE = "nano_convnets.csv"
REAL_MODELS_FILE = "nano_real_models.csv"

PROVENANCE = Provenance(
    name="icas_nano",
    source="github.com/iCAS-Lab/NAS-Performance-Modeling @ 50e67092938231c516e28a8231d1754e80334024",
    licence="none in the repository; its README says the data are available for public use",
    cite="A. Juneja et al., Accelerating Hardware-Aware NAS with ML-Based Edge GPU Performance Modeling, COINS 2025",
    label_origin="published",
    meaning={
        "latency_ms": "mean over a 60 s loop, TensorRT FP32 engine, batch 1, copies to and from the GPU included",
        "power_mw": "mean of the whole board's input rail (POM_5V_IN) under load",
        "energy_mj": "latency_ms x power_mw, whole board",
        "memory_mib": "mean memory in use on the whole board while running",
    },
    notes=("Splits: training rows are generated ConvNets; NCA holds the nine torchvision networks.",),
)

_LABELS = {
    "latency_60s_ms": "latency_ms",
    "power_in_mean_mw": "power_mw",
    "energy_in_mj": "energy_mj",
    "ram_mean_mb": "memory_mib",
}
_GENES = ["family", "layers", "filters", "k1", "k2", "width"]


def recognises(source: Path) -> bool:
    """Whether the folder holds the generated ConvNets."""
    return (source / CONVNETS_FILE).is_file()


def read(source: Path) -> Dataset:
    """Generated ConvNets as training rows, the torchvision networks as NCA.

    Raises:
        InvalidInput: a file is missing or lacks columns.
    """
    convnets = _read(source / CONVNETS_FILE, [*_LABELS, *_GENES, "params", "macs", "activations"])
    ids = [convnet_id(*genes) for genes in convnets[["family", *_GENES[1:5]]].itertuples(index=False)]
    convnets = convnets.assign(split="train", input_size=convnets["width"], arch_id=ids)
    convnets["family"] = "ConvNet-" + convnets["family"]
    real = _read(source / REAL_MODELS_FILE, ["model", "input_size", "latency_ms", "params", "macs"])
    real = real.rename(columns={ours: theirs for theirs, ours in _LABELS.items() if ours != "memory_mib"})
    real = real.assign(split="NCA", family="torchvision", arch_id=PREFIX + real["model"])
    rows = pd.concat([_long(convnets), _long(real)], ignore_index=True)
    rows["network"] = rows["model"] + "@" + rows["input_size"].astype(str)
    return build(rows.assign(device=DEVICE), provenance=PROVENANCE, root=source)


def _read(path: Path, needed: list[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path)
    except FileNotFoundError:
        raise InvalidInput(f"No file {path}. Expected {CONVNETS_FILE} and {REAL_MODELS_FILE} in one folder.") from None
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise InvalidInput(f"{path}: missing column(s) {', '.join(missing)}.")
    return table


def _long(table: pd.DataFrame) -> pd.DataFrame:
    wide = table.rename(columns=_LABELS)
    keep = ["model", "arch_id", "family", "input_size", "split", "params", "macs", "activations"]
    wide = wide[[column for column in [*keep, *_LABELS.values()] if column in wide.columns]]
    labels = [label for label in _LABELS.values() if label in wide.columns]
    rows = wide.melt(
        id_vars=[c for c in wide.columns if c not in labels], value_vars=labels, var_name="metric", value_name="value"
    )
    return rows.dropna(subset=["value"])
