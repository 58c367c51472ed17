"""Operations on GPUs that were not measured: leave one GPU out, with and without the roofline.

    python -m benchmarks.layerwise_gpus [--data ../shared/data] [--rows 4000] [--folds 5]

Per table and GPU: error on that GPU's rows of predictors that saw the other GPUs alone, and of one that also saw, by
grouped cross-validation, other configurations on the GPU itself. The plain forest reads quantities and data-sheet
columns and learns the logarithm of time. "roofline" learns the ratio to the roofline; "physical" prices what the data
sheet explains; "physical, corrected" is `edgeperf.layerwise.crossing`. Rows are the layers of NeuSight (Lee et al.
2025) and of Justus et al. 2018. At most `--rows` rows per GPU are drawn, with a fixed seed. How far corrections count
is chosen on the other GPUs alone, each left out in turn; the terms of the physical part and the settings of the learned
ones were chosen while looking at these tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.layerwise.crossing import AcrossGpus
from edgeperf.layerwise.hardware_features import DATA_SHEET, HARDWARE, own_roofline, with_hardware
from edgeperf.layerwise.physical import PhysicalTimes
from edgeperf.layerwise.predictors import OneForAll, OperationPredictor
from edgeperf.layerwise.tables import read_justus, read_neusight
from edgeperf.layerwise.validation import Score, configurations, cross_predict, score

SEED = 0
PLAIN = "plain forest"
OURS = "physical, corrected"
CODES = ("activation_code", "optimizer_code", "training_step")


def main() -> None:
    """All five tables; writes results/layerwise_gpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    tables = list(_tables(options.data, options.rows))
    rows = [row for table in track(tables, "GPUs") for row in _scores(*table, folds=options.folds)]
    figures = {"seed": SEED, "rows_per_gpu": options.rows, "summary": _summary(rows), "rows": rows}
    write_result("layerwise_gpus", figures, about=__doc__, table=_printed(rows))


def _tables(data: Path, rows: int) -> Iterator[tuple[str, pd.DataFrame, tuple[str, ...]]]:
    for name in ("conv", "dense"):
        table = read_justus(data / "justus_layers", name)
        table["training_step"] = (table["phase"] == "training").astype(float)
        yield f"Justus {name}", _part(table, rows), CODES
    for name in ("conv", "matmul", "vec"):
        yield f"NeuSight {name}", _part(read_neusight(data / "neusight_ops", name), rows), ()


def _part(table: pd.DataFrame, rows: int) -> pd.DataFrame:
    drawn = [part.sample(min(rows, len(part)), random_state=SEED) for _, part in table.groupby("device")]
    return with_hardware(pd.concat(drawn, ignore_index=True))


def _makers(codes: tuple[str, ...]) -> dict[str, Callable[[], OperationPredictor]]:
    return {
        PLAIN: lambda: OneForAll(algorithm="rf", extra=(*DATA_SHEET, *codes), seed=SEED),
        "roofline, ERT": lambda: OneForAll(scale=own_roofline, extra=(*HARDWARE, *codes), seed=SEED),
        "physical": PhysicalTimes,
        OURS: lambda: AcrossGpus(extra=codes, seed=SEED),
    }


def _scores(name: str, table: pd.DataFrame, codes: tuple[str, ...], *, folds: int) -> Iterator[dict[str, Any]]:
    labels, devices = table["latency_ms"].to_numpy(), table["device"].to_numpy()
    groups = configurations(table)
    makers = _makers(codes)
    inside = cross_predict(
        lambda: AcrossGpus(extra=codes, strengths=(1.0, 0.0), seed=SEED), table, labels, groups, folds=folds
    )
    for device in np.unique(devices):
        here = devices == device
        found = {
            maker: score(labels[here], make().fit(table[~here], labels[~here]).predict(table[here]))
            for maker, make in makers.items()
        }
        yield _row(name, str(device), found, score(labels[here], inside[here]))


def _row(name: str, device: str, found: dict[str, Score], inside: Score) -> dict[str, Any]:
    return {
        "table": name,
        "GPU": device,
        "n": inside.n,
        **{f"{maker}, MAPE %": errors.mape for maker, errors in found.items()},
        **{f"{maker}, median %": errors.median for maker, errors in found.items()},
        "share of plain forest": found[OURS].mape / found[PLAIN].mape,
        "GPU among training rows, MAPE %": inside.mape,
        "GPU among training rows, median %": inside.median,
    }


def _summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    shares = np.array([row["share of plain forest"] for row in rows])
    means = pd.DataFrame(rows).filter(like="MAPE").mean()
    return {
        **{f"mean over GPUs and tables: {name}": float(value) for name, value in means.items()},
        "median share of plain forest": float(np.median(shares)),
        "geometric mean share of plain forest": float(np.exp(np.log(shares).mean())),
        "GPUs and tables with at most half of the plain forest's error": float((shares <= 0.5).mean()),
    }


def _printed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: round(value, 2) if isinstance(value, float) else value for key, value in row.items()} for row in rows]


if __name__ == "__main__":
    main()
