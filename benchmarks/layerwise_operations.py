"""Operations that were not measured: grouped cross-validation on the thesis' rows, beside rivals and the thesis.

    python -m benchmarks.layerwise_operations [--data ../shared/data] [--folds 15]

Rows are the measured operations of Nicolai 2025 (PyTorch, batch 32, default clocks), all of a device and phase; every
figure is on operations that were left out, each once.

Groups are operations with their input shape, so repeats of one never stand on both sides of a split; what predictors
cannot tell apart, such as normalisations that differ in their epsilon alone, is one operation. The thesis does not
state how its folds were drawn; a row "ungrouped" shows what random folds would report on the same rows. "physical" is
`edgeperf.layerwise.corrected`; its terms were chosen on other tables. That, and the quantity `has_bias`, were taken up
after a look at these.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.layerwise.corrected import CorrectedTimes
from edgeperf.layerwise.predictors import OneForAll, OperationPredictor, PerKind
from edgeperf.layerwise.rivals import Paleo, Roofline, TemplateMatching
from edgeperf.layerwise.roofline import Roof, roof_of, roofline_ms
from edgeperf.layerwise.tables import read_nicolai
from edgeperf.layerwise.validation import configurations, cross_predict, score

SEED = 0
THESIS = {
    ("A30", "inference"): (0.88, 0.985),
    ("A30", "training"): (0.90, 0.98),
    ("RTX2080TI", "inference"): (0.77, 0.91),
}
"""Device, phase → R2 of time and of power that the thesis reports."""

TENSOR_CORES = 8.0
"""TF32 over FP32 peak of an A30: 82 over 10.3 TFLOP/s, from its data sheet."""


def main() -> None:
    """Every device, phase and regime; writes results/layerwise_operations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--folds", type=int, default=15)
    options = parser.parse_args()
    table = read_nicolai(options.data / "nicolai_ops")
    jobs = list(_jobs(table))
    rows = [row for job in track(jobs, "operations") for row in _scores(*job, folds=options.folds)]
    write_result(
        "layerwise_operations",
        {"folds": options.folds, "seed": SEED, "rows": rows},
        about=__doc__,
        table=_printed(rows),
    )


def roof_for(device: str) -> Roof:
    """The roof of a device of the thesis."""
    if device.startswith("RTX"):
        return roof_of("rtx-2080-ti")
    return roof_of("a30", tensor_cores=TENSOR_CORES if device == "A30_tc" else 1.0)


def _jobs(table: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    for key, rows in table.groupby(["device", "regime", "phase"]):
        if len(rows) > 100:
            yield key, rows.reset_index(drop=True)


def _scores(key: tuple[str, ...], rows: pd.DataFrame, *, folds: int) -> list[dict[str, Any]]:
    device, regime, phase = key
    groups = configurations(rows)
    scores = []
    for metric, makers in _makers(roof_for(device)).items():
        labels = rows[metric].to_numpy()
        floor = THESIS.get((device.split("_")[0], phase), (None, None))[metric == "power_mw"]
        for name, make in makers.items():
            split = np.arange(len(rows)) if name.endswith("ungrouped") else groups
            order = np.random.default_rng(SEED).permutation(len(rows)) if name.endswith("ungrouped") else slice(None)
            part = rows.iloc[order] if name.endswith("ungrouped") else rows
            found = cross_predict(make, part, labels[order], split, folds=folds)
            errors = score(labels[order], found)
            scores.append(
                {
                    "device": device,
                    "regime": regime,
                    "phase": phase,
                    "metric": metric,
                    "predictor": name,
                    "n": errors.n,
                    "r2": errors.r2,
                    "mape": errors.mape,
                    "median": errors.median,
                    "within_10": errors.within_10,
                    "thesis_r2": floor,
                }
            )
    return scores


def _makers(roof: Roof) -> dict[str, dict[str, Callable[[], OperationPredictor]]]:
    scale = partial(roofline_ms, roof=roof)
    return {
        "latency_ms": {
            "physical, ERT": lambda: CorrectedTimes(roof=roof, seed=SEED),
            "physical, XGBoost": lambda: CorrectedTimes(roof=roof, algorithm="xgboost", seed=SEED),
            "one for all, ERT": lambda: OneForAll(scale=scale, seed=SEED),
            "one for all, XGBoost": lambda: OneForAll(algorithm="xgboost", scale=scale, seed=SEED),
            "one for all, random forest, no roofline": lambda: OneForAll(algorithm="rf", seed=SEED),
            "one for all, ERT, 2 % outliers removed": lambda: OneForAll(scale=scale, outliers=0.02, seed=SEED),
            "per kind, ERT": lambda: PerKind(algorithms=("ert",), scale=scale, seed=SEED),
            "template matching": TemplateMatching,
            "PALEO": lambda: Paleo(roof, fitted=False),
            "PALEO, factor fitted": lambda: Paleo(roof, fitted=True),
            "roofline, factor fitted": lambda: Roofline(roof, fitted=True),
            "physical, ERT, ungrouped": lambda: CorrectedTimes(roof=roof, seed=SEED),
        },
        "power_mw": {
            "one for all, ERT": lambda: OneForAll(logarithm=False, seed=SEED),
            "one for all, XGBoost": lambda: OneForAll(algorithm="xgboost", logarithm=False, seed=SEED),
            "template matching": TemplateMatching,
            "one for all, ERT, ungrouped": lambda: OneForAll(logarithm=False, seed=SEED),
        },
    }


def _printed(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "device": f"{row['device']}{'' if row['regime'] == 'only' else ', ' + row['regime'] + ' power'}",
            "phase": row["phase"],
            "metric": row["metric"],
            "predictor": row["predictor"],
            "rows": str(row["n"]),
            "R2": f"{row['r2']:.3f}",
            "thesis R2": "" if row["thesis_r2"] is None else str(row["thesis_r2"]),
            "MAPE %": f"{row['mape']:.1f}",
            "median %": f"{row['median']:.1f}",
            "within 10 %": f"{row['within_10']:.0f}",
        }
        for row in rows
    ]


if __name__ == "__main__":
    main()
