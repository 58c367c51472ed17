"""Another board from few measurements: all ordered pairs of boards, 5 to 100 measurements, 20 seeded draws.

    python -m benchmarks.surrogates_transfer [--data ../shared/data]

The source is the shipped surrogate of one board. Measurements are drawn among all networks of the other board whose
graph is known; the error is that on 250 of the others. The baseline is the source times one factor, fitted on the
logarithms.
"""

from __future__ import annotations

import argparse
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import load, shared_data
from edgeperf.surrogates import load as load_surrogates
from edgeperf.surrogates.arrays import Vector
from edgeperf.surrogates.physical import Surrogate
from edgeperf.surrogates.rows import Rows, corpus
from edgeperf.surrogates.transfer import transfer

BOARDS = ("jetson-nano", "jetson-tx2", "jetson-agx-xavier")
METRICS = ("latency_ms", "power_mw", "energy_mj", "memory_mib")
COUNTS = (5, 10, 20, 50, 100)
DRAWS = 20
OTHERS = 250


def main() -> None:
    """All pairs, metrics and counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    prepared = corpus(load(parser.parse_args().data / "bouzidi"))
    cases = [(metric, *pair) for metric in METRICS for pair in permutations(BOARDS, 2)]
    rows = []
    for metric, source, target in track(cases, description="Transferring"):
        known = prepared.rows(target, metric)
        surrogate = load_surrogates(source).trained[metric].surrogate
        rows += [
            {
                "metric": metric,
                "source": source,
                "target": target,
                **_case(surrogate, known.take(known.has_graph), count),
            }
            for count in COUNTS
        ]
    table = [_summary(rows, metric, count) for metric in METRICS for count in COUNTS]
    path = write_result(
        "surrogates_transfer", {"draws": DRAWS, "summary": table, "pairs": rows}, about=__doc__, table=table
    )
    _plot(table, path.with_suffix(".svg"))


def _case(surrogate: Surrogate, known: Rows, count: int) -> dict[str, Any]:
    """Mean errors over the draws."""
    pairs = np.array([_draw(surrogate, known, count, seed) for seed in range(DRAWS)])
    ours, factor = pairs.mean(axis=0)
    return {"count": count, "mape": round(float(ours), 2), "one_factor_mape": round(float(factor), 2)}


def _draw(surrogate: Surrogate, known: Rows, count: int, seed: int) -> tuple[float, float]:
    order = np.random.default_rng(seed).permutation(len(known))
    measured, others = known.take(order[:count]), known.take(order[count : count + OTHERS])
    moved = transfer(surrogate, measured.features, measured.value).surrogate
    factor = np.exp(np.log(measured.value / surrogate.predict(measured.features)).mean())
    source = surrogate.predict(others.features)
    return _mape(moved.predict(others.features), others.value), _mape(factor * source, others.value)


def _mape(predicted: Vector, value: Vector) -> float:
    return float(100 * np.mean(np.abs(predicted / value - 1)))


def _summary(rows: list[dict[str, Any]], metric: str, count: int) -> dict[str, Any]:
    chosen = [row for row in rows if row["metric"] == metric and row["count"] == count]
    ratios = [row["mape"] / row["one_factor_mape"] for row in chosen]
    return {
        "metric": metric,
        "measurements": count,
        "error, %": round(float(np.mean([row["mape"] for row in chosen])), 1),
        "one factor, %": round(float(np.mean([row["one_factor_mape"] for row in chosen])), 1),
        "ratio, geometric mean": round(float(np.exp(np.mean(np.log(ratios)))), 3),
        "worst pair": round(max(ratios), 3),
    }


def _plot(table: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for metric in METRICS:
        rows = [row for row in table if row["metric"] == metric]
        axes.plot([row["measurements"] for row in rows], [row["error, %"] for row in rows], marker="o", label=metric)
    axes.set_xscale("log")
    axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
    axes.set_xlabel("measurements of the new board")
    axes.set_ylabel("mean absolute error, %")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
