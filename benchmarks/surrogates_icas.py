"""The second Nano data set (TensorRT, whole board): nine torchvision networks after training on generated ConvNets.

    python -m benchmarks.surrogates_icas [--data ../shared/data]

Beside them, each sort of ConvNet predicted from the two others. The laboratory's own figures for the nine are 15.5 % on
latency and 15.3 % on energy. What the runtime's prices are was settled by the sorts left out and by NVIDIA's
description of the runtime, with the nine networks' errors in view.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import load, shared_data
from edgeperf.datasets.icas import DEVICE
from edgeperf.surrogates.configuration import BEST, Configuration, configuration
from edgeperf.surrogates.rows import Corpus, Rows, corpus

METRICS = ("latency_ms", "power_mw", "energy_mj", "memory_mib")
THEIRS = {"latency_ms": 15.5, "energy_mj": 15.3}


def main() -> None:
    """All metrics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    prepared = corpus(load(parser.parse_args().data / "icas_nano"))
    table, networks = [], []
    for metric in track(METRICS, description="Fitting"):
        row, errors = _metric(prepared, metric)
        table.append(row)
        networks.append({"metric": metric, **errors})
    write_result("surrogates_icas", {"summary": table, "signed_errors_percent": networks}, about=__doc__, table=table)


def _metric(prepared: Corpus, metric: str) -> tuple[dict[str, Any], dict[str, float]]:
    training = prepared.training(DEVICE, metric)
    chosen = configuration(BEST, DEVICE, metric).settled(training)
    rows = prepared.rows(DEVICE, metric)
    nine = rows.take(rows.split == "NCA")
    errors = _errors(chosen.fit(training).predict_rows(nine), nine)
    left_out = {family: _left_out(training, chosen, family) for family in np.unique(training.rows.family)}
    return {
        "metric": metric,
        "nine torchvision networks, %": round(float(np.abs(errors).mean()), 1),
        "median": round(float(np.median(np.abs(errors))), 1),
        "the laboratory's": THEIRS.get(metric, ""),
        **{f"{family} left out": error for family, error in left_out.items()},
    }, {str(model): round(float(error), 1) for model, error in zip(nine.model, errors, strict=True)}


def _left_out(training: Any, chosen: Configuration, family: str) -> float:
    rows = training.rows.take(training.rows.family == family)
    fitted = chosen.fit(training.without("family", {family}))
    return round(float(np.abs(_errors(fitted.predict_rows(rows), rows)).mean()), 1)


def _errors(predicted: np.ndarray, rows: Rows) -> np.ndarray:
    return np.asarray(100 * (predicted / rows.value - 1))


if __name__ == "__main__":
    main()
