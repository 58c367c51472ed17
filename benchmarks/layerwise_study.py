"""How many operations to measure, and how long a prediction takes.

    python -m benchmarks.layerwise_study [--data ../shared/data]

Rows are the training steps of operations on an A30 with tensor cores that Nicolai 2025 measured (2,454). The study
learns from so many different operations, drawn three times, and errs on the others. The speed is wall time from a
network in memory to time and energy of all its operations, after fitting: median of 20 calls.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.layerwise_operations import SEED, roof_for
from benchmarks.record import write_result
from benchmarks.torchvision_networks import torchvision_network
from edgeperf.datasets import shared_data
from edgeperf.layerwise.fitting import fit_device, latency_maker
from edgeperf.layerwise.study import enough, size_study
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.tables import read_nicolai
from edgeperf.layerwise.validation import configurations

DEVICE = "A30_tc"
SIZES = (25, 50, 100, 200, 350, 700)
NETWORKS = ("alexnet", "resnet50", "mobilenet_v2", "efficientnet_b0", "densenet121")
PUBLISHED_MS = {"Sponner et al., all metrics": 46.9, "Nicolai, without preprocessing": 30.0}


def main() -> None:
    """Writes results/layerwise_study and results/layerwise_speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    table = read_nicolai(parser.parse_args().data / "nicolai_ops")
    rows = table[(table["device"] == DEVICE) & (table["phase"] == "training")].reset_index(drop=True)
    study = _study(rows)
    write_result("layerwise_study", {"device": DEVICE, "seed": SEED, **study}, about=__doc__, table=study["points"])
    speed = _speed(rows)
    write_result("layerwise_speed", {"published_ms": PUBLISHED_MS, "rows": speed}, about=__doc__, table=speed)


def _study(rows: pd.DataFrame) -> dict[str, Any]:
    make = latency_maker(roof_for(DEVICE), seed=SEED)
    labels = rows["latency_ms"].to_numpy()
    points = size_study(make, rows, labels, configurations(rows), sizes=SIZES, repeats=3, seed=SEED)
    kinds = ("Conv2D", "DepthwiseConv2D", "Dense", "BatchNormalization", "relu")
    table = [
        {
            "different operations": point.configurations,
            "MAPE %": round(point.mape, 1),
            **{f"{kind} %": round(point.by_kind[kind], 1) for kind in kinds},
        }
        for point in points
    ]
    return {"enough": enough(points), "points": table, "all_kinds": [asdict(point) for point in points]}


def _speed(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Median of 20 calls per network, first call beside it; fitting stands for loading."""
    start = time.perf_counter()
    predictor = fit_device(rows, device=DEVICE, roof=roof_for(DEVICE), training=True, idle_mw=0.0, seed=SEED)
    fitting_s = time.perf_counter() - start
    return [_timed(predictor, name, fitting_s) for name in NETWORKS]


def _timed(predictor: DevicePredictor, name: str, fitting_s: float) -> dict[str, Any]:
    network = torchvision_network(name, 224, training=False)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        cost = predictor.cost(network)
        times.append(1e3 * (time.perf_counter() - start))
    return {
        "network": name,
        "operations": len(cost.steps),
        "time and energy, ms": round(statistics.median(times), 1),
        "first call, ms": round(times[0], 1),
        "fitting, s": round(fitting_s, 2),
    }


if __name__ == "__main__":
    main()
