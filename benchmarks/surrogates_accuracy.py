"""Every algorithm against the paper's best of five, on the same open test rows of the Jetson measurements.

    python -m benchmarks.surrogates_accuracy [--data ../shared/data]

The paper's errors are recomputed from its own predictions, row by row; its best of five is picked per cell in
hindsight. Algorithms are refitted on training rows with the stored configuration. Writes
results/surrogates_accuracy.{json,md,svg}; no row of the published tables is copied.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import load, shared_data
from edgeperf.surrogates import evaluate
from edgeperf.units import METRICS

SPLITS = ("NIS", "NCV", "NCA")
DEVICES = {"jetson_nano": "jetson-nano", "jetson_tx2": "jetson-tx2", "jetson_agx_xavier": "jetson-agx-xavier"}
_TESTS = {"dim1": "NIS", "dim2": "NCV", "dim3": "NCA"}


def main() -> None:
    """All devices, metrics and algorithms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    folder = parser.parse_args().data / "bouzidi"
    dataset = load(folder)
    scores = pd.DataFrame([score.to_dict() for score in evaluate(dataset, track=_progress)])
    paper = paper_errors(folder)
    joined = scores.merge(paper, on=["device", "metric", "split"], how="left")
    joined["ratio"] = joined["mape"] / joined["paper_best"]
    table = [_table_row(group) for _, group in joined.groupby(["metric", "device", "split"], sort=False)]
    figures = {
        "data": dataset.provenance.name,
        "table_sha256": dataset.sha256(),
        "geometric_mean_ratio": _means(joined[joined["algorithm"] == "best"]),
        "coverage90_pooled": _coverage(joined[joined["algorithm"] == "best"]),
        "scores": joined.round(4).replace({np.nan: None}).to_dict("records"),
    }
    path = write_result("surrogates_accuracy", figures, about=__doc__, table=table)
    _plot(joined, path.with_suffix(".svg"))


def paper_errors(folder: Path) -> pd.DataFrame:
    """device, metric, split, paper_best, paper_algorithm: lowest error of the paper's five; energy by its products."""
    rows = pd.read_csv(folder / "published_predictions.csv")
    rows["device"] = rows["device"].map(DEVICES)
    rows["metric"] = rows["metric"].replace("memory_mb", "memory_mib")
    rows["split"] = rows["test"].map(_TESTS)
    rows = pd.concat([rows, _energy(rows)], ignore_index=True)
    rows["error"] = 100 * (rows["predicted"] / rows["measured"] - 1).abs()
    cell = ["device", "metric", "split"]
    means = rows.groupby([*cell, "predictor"])["error"].mean().reset_index()
    best = means.loc[means.groupby(cell)["error"].idxmin()]
    return best.rename(columns={"error": "paper_best", "predictor": "paper_algorithm"})


def _energy(rows: pd.DataFrame) -> pd.DataFrame:
    """The product of the paper's latency and power predictions, where both were made for the same network."""
    key = ["device", "split", "predictor", "model", "input_size"]
    latency, power = (
        rows[rows["metric"] == metric].drop_duplicates(key, keep=False) for metric in ("latency_ms", "power_mw")
    )
    both = latency.merge(power, on=key, suffixes=("", "_power"))
    for column in ("measured", "predicted"):
        both[column] *= both[f"{column}_power"]
    return both.assign(metric="energy_mj")


def _progress(items: Iterable[Any]) -> Iterator[Any]:
    listed = list(items)
    yield from track(listed, description="Fitting and testing", total=len(listed))


def _table_row(cell: pd.DataFrame) -> dict[str, Any]:
    best = cell[cell["algorithm"] == "best"].iloc[0]
    errors = {
        name: f"{error:.1f}" for name, error in zip(cell["algorithm"], cell["mape"], strict=True) if name != "best"
    }
    errors.pop("physical")
    return {
        "metric": best["metric"],
        "device": best["device"],
        "split": best["split"],
        "rows": best["n"],
        "paper, best of five": "" if np.isnan(best["paper_best"]) else f"{best['paper_best']:.1f}",
        **errors,
        "shipped": f"{best['mape']:.1f}",
        "95 % interval": f"{best['mape_low']:.1f} to {best['mape_high']:.1f}",
        "consistent rows": f"{best['mape_consistent']:.1f}",
        "ratio": "" if np.isnan(best["ratio"]) else f"{best['ratio']:.2f}",
        "Kendall tau": f"{best['kendall_tau']:.2f}",
        "covered by 90 %": f"{best['coverage90']:.0f}",
        "flagged": f"{best['flagged']:.0f}",
    }


def _means(best: pd.DataFrame) -> dict[str, float]:
    """Geometric means of the error over the paper's; energy stands apart, since the paper has no model of it."""
    told = best[best["metric"] != "energy_mj"]
    groups = {"all cells": told, "NIS and NCV": told[told["split"] != "NCA"], "NCA": told[told["split"] == "NCA"]}
    for metric in METRICS:
        groups[f"{metric} NIS and NCV"] = best[(best["metric"] == metric) & (best["split"] != "NCA")]
        groups[f"{metric} all splits"] = best[best["metric"] == metric]
    return {name: round(float(np.exp(np.log(g["ratio"].dropna()).mean())), 3) for name, g in groups.items()}


def _coverage(best: pd.DataFrame) -> dict[str, float]:
    """Percentage of rows inside their interval, pooled over devices."""
    pooled = best.assign(inside=best["coverage90"] * best["n"]).groupby(["metric", "split"])[["inside", "n"]].sum()
    return {f"{m} {s}": round(float(row["inside"] / row["n"]), 1) for (m, s), row in pooled.iterrows()}


def _plot(joined: pd.DataFrame, path: Path) -> None:
    """Errors per cell: the paper's best of five beside the shipped surrogate."""
    from matplotlib.figure import Figure

    best = joined[joined["algorithm"] == "best"]
    figure = Figure(figsize=(11, 7), layout="constrained")
    for axes, metric in zip(figure.subplots(2, 2).flat, METRICS, strict=True):
        cells = best[best["metric"] == metric]
        labels = [f"{d.removeprefix('jetson-')}\n{s}" for d, s in zip(cells["device"], cells["split"], strict=True)]
        _bars(axes, labels, cells["paper_best"], cells["mape"])
        axes.set_title(METRICS[metric].label)
        axes.set_ylabel("mean absolute error, %")
    figure.savefig(path, metadata={"Date": None})


def _bars(axes: Any, labels: Sequence[str], paper: pd.Series, ours: pd.Series) -> None:
    place = np.arange(len(labels))
    axes.bar(place - 0.2, paper, 0.4, label="paper, best of five", color="#b8b8b8")
    axes.bar(place + 0.2, ours, 0.4, label="shipped", color="#2b6cb0")
    axes.set_xticks(place, labels, fontsize=7)
    axes.legend(fontsize=8)


if __name__ == "__main__":
    main()
