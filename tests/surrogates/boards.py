"""Boards that exist on paper: networks with known graphs, and labels that follow a law one can write down."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from edgeperf.datasets import Dataset, Provenance, build
from edgeperf.datasets.architectures import read_templates
from edgeperf.network import FEATURE_NAMES, features

SIZES = (32, 48, 64, 96, 112, 160)
MODELS = tuple((width, depth, separable) for width in (8, 16, 24, 40) for depth in (2, 4, 7) for separable in (0, 1))
NOISE = 0.005

_LAWS = {
    # ms per GMAC of dense and of depthwise convolutions, ms per MB of element-wise passes, ms per call
    "board-a": (2.0, 30.0, 0.04, 0.01),
    "board-b": (0.7, 15.0, 0.02, 0.012),
}


def template(width: int, depth: int, separable: int) -> dict[str, Any]:
    """A plain or depthwise-separable network in the form of `architectures.jsonl.gz`."""
    layers: list[list[Any]] = [["in", "InputLayer", {}, []]]
    last = "in"

    def add(name: str, kind: str, **config: Any) -> None:
        nonlocal last
        layers.append([name, kind, config, [[last]]])
        last = name

    window = {"strides": [1, 1], "padding": "same", "dilation_rate": [1, 1], "use_bias": False}
    for place in range(depth):
        filters = width * 2 ** (place // 2)
        if separable and place:
            add(f"dw{place}", "DepthwiseConv2D", kernel_size=[3, 3], depth_multiplier=1, **window)
        kernel = [1, 1] if separable and place else [3, 3]
        add(f"conv{place}", "Conv2D", filters=filters, kernel_size=kernel, **window)
        add(f"bn{place}", "BatchNormalization", axis=-1, center=True, scale=True)
        add(f"relu{place}", "Activation", activation="relu")
        if place % 2:
            add(f"pool{place}", "MaxPooling2D", pool_size=[2, 2], strides=[2, 2], padding="valid")
    add("mean", "GlobalAveragePooling2D")
    add("out", "Dense", units=10, activation="linear", use_bias=True)
    name = f"{'Sep' if separable else 'Plain'}Net-w{width}d{depth}"
    return {
        "arch_id": f"{name}#0", "model": name, "input_sizes": list(SIZES), "check": None, "keras_version": "2.3.1",
        "inputs": [["in", 0, 0]], "outputs": [[last, 0, 0]], "layers": layers,
    }  # fmt: skip


def true_latency(values: dict[str, float], board: str) -> float:
    """The law that labels of a board follow."""
    dense, depthwise, passes, call = _LAWS[board]
    slow = values["depthwise_macs"] + values["depthwise_strided_macs"]
    moved = sum(values[f"{kind}_bytes"] for kind in ("batch_norm", "relu", "pool", "global_pool"))
    return (
        (values["macs"] - slow) / 1e9 * dense + slow / 1e9 * depthwise + moved / 1e6 * passes + values["calls"] * call
    )


def true_power(latency_ms: float) -> float:
    """Rest power and dynamic power by utilisation, with 5 ms of the host's own per inference."""
    return 400 + 6000 * latency_ms / (latency_ms + 5)


def dataset(folder: Path, boards: tuple[str, ...] = ("board-a", "board-b")) -> Dataset:
    """Labels of all networks on the boards: two models are NCV, one size is NIS, the rest trains."""
    folder.mkdir(parents=True, exist_ok=True)
    collection = folder / "architectures.jsonl.gz"
    with gzip.open(collection, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(template(*model)) + "\n" for model in MODELS)
    rng = np.random.default_rng(0)
    rows = []
    for arch_id, found in read_templates(collection).items():
        for size in SIZES:
            values = dict(features(found.network(size)).values)
            split = "NCV" if "w24d4" in arch_id else "NIS" if size == 96 else "train"
            for board in boards:
                latency = true_latency(values, board)
                power = true_power(latency)
                labels = {
                    "latency_ms": latency,
                    "power_mw": power,
                    "energy_mj": latency * power / 1000,
                    "memory_mib": 900 + values["params"] * 4 * 10 / 2**20,
                }
                key = {
                    "device": board, "model": found.model, "arch_id": arch_id, "input_size": size, "split": split,
                    "family": found.model.split("-")[0],
                }  # fmt: skip
                for metric, label in labels.items():
                    rows.append({**key, "metric": metric, "value": label * np.exp(NOISE * rng.standard_normal())})
    provenance = Provenance(name="paper boards", source="tests/surrogates/boards.py")
    return build(pd.DataFrame(rows), provenance=provenance, root=folder)


def feature_matrix(prepared: Any, device: str, metric: str) -> np.ndarray:
    """(rows, features) of a device and metric."""
    matrix = prepared.rows(device, metric).features
    assert matrix.shape[1] == len(FEATURE_NAMES)
    return matrix
