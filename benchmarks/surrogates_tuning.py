"""Whether the tuning of the five algorithms stops too early: a much longer run on one target, side by side.

    python -m benchmarks.surrogates_tuning [--data ../shared/data] [--device jetson-tx2] [--metric latency_ms]

Both runs start anew with the same folds and features; errors are those of held-out models among the training rows.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks.record import write_result
from benchmarks.tune_surrogates import SEED, TRIALS
from edgeperf.datasets import load, shared_data
from edgeperf.surrogates.algorithms import ALGORITHMS
from edgeperf.surrogates.rows import corpus
from edgeperf.surrogates.tuning import select_features, tune

LONG = {"poly": 400, "svr": 300, "mlp": 150, "rf": 120, "xgboost": 150}
"""Trials of the long run."""


def main() -> None:
    """Tunes every algorithm twice; writes results/surrogates_tuning."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--device", default="jetson-tx2")
    parser.add_argument("--metric", default="latency_ms")
    options = parser.parse_args()
    prepared = corpus(load(options.data / "bouzidi"), track=partial(track, description="Features"))
    training = prepared.training(options.device, options.metric)
    selected = select_features(training, seed=SEED)
    rows: list[dict[str, Any]] = []
    for name in track(list(ALGORITHMS), "Tuning"):
        usual, long = (
            tune(name, training, trials=trials[name], seed=SEED, selected=selected) for trials in (TRIALS, LONG)
        )
        rows.append(
            {
                "algorithm": name,
                "trials": usual.trials,
                "held-out error, %": round(usual.cv_mape, 2),
                "s": round(usual.seconds, 1),
                "trials, long run": long.trials,
                "held-out error of the long run, %": round(long.cv_mape, 2),
                "s, long run": round(long.seconds, 1),
            }
        )
    figures = {"device": options.device, "metric": options.metric, "training_rows": len(training.rows), "rows": rows}
    write_result("surrogates_tuning", figures, about=__doc__, table=rows)


if __name__ == "__main__":
    main()
