"""Predictions for GPUs and networks that were not measured, on public tables.

    python -m benchmarks.ptx_cross_gpu [--data ../shared/data] [--part boards|counts|operations|layers|cells]

boards: three Jetsons with the same networks (Bouzidi et al.), one board left out; the paper's algorithms on hardware
and network features, relative recipes, and two one-factor baselines. counts: the networks whose executed PTX
instructions are known (results/ptx_bouzidi_counts.csv), with and without these counts; leaving out a board, a network
on all boards, or both at once. operations and layers: one GPU left out on the convolutions of NeuSight and of Justus et
al. cells: one GPU left out on NAS-Bench-201 cells, five GPUs at three batch sizes. All algorithms are shown; none is
picked on the rows that it is shown on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.datasets.architectures import read_templates
from edgeperf.errors import InvalidInput
from edgeperf.network import features
from edgeperf.ptx.cross_gpu import ALGORITHMS, Floats, OneFactor, Recipe, fit, leave_one_out, one_factor, scores
from edgeperf.zoo.nasbench201 import NASBENCH201, parse
from search.describe import genes_of

SEED = 1
BOARDS = {"jetson_nano": "jetson-nano", "jetson_tx2": "jetson-tx2", "jetson_agx_xavier": "jetson-agx-xavier"}
BOARDS |= {"jetson_agx": "jetson-agx-xavier", "agx_xavier": "jetson-agx-xavier", "jetson_xavier": "jetson-agx-xavier"}
HARDWARE = ("peak_gflops", "memory_bandwidth_gb_s", "cores", "clock_mhz", "power_limit_w")
PAPER_WORK = ("params", "macs", "num_layers")
OWN_WORK = (*PAPER_WORK, "activations", "input_pixels", "num_conv", "params_dense", "calls")
COUNTS = ("executed", "warp_executed", "load_global", "f32")
ROWS_PER_GPU = 1500
CELLS = 1000
CELL_WORK = ("params", "macs", "num_layers", "activations", "num_conv")
CELL_GPUS = {
    "1080ti": "gtx-1080-ti",
    "2080ti": "rtx-2080-ti",
    "titanx": "titan-x-pascal",
    "titanxp": "titan-xp",
    "titan_rtx": "titan-rtx",
}

Predict = Callable[[pd.DataFrame, pd.DataFrame], Floats]


def main() -> None:
    """Runs the parts that are asked for; one result file each."""
    parts = {"boards": boards, "counts": counts, "operations": operations, "layers": layers, "cells": cells}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--part", choices=parts, action="append")
    arguments = parser.parse_args()
    for name in arguments.part or parts:
        rows, details = parts[name](arguments.data)
        protocol = {"seed": SEED, "data": str(arguments.data.name), "rows": rows, **details}
        write_result(f"ptx_cross_gpu_{name}", protocol, about=__doc__, table=rows)
        print(pd.DataFrame(rows).to_string())


def boards(data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One board left out, on all networks that were measured on three boards."""
    rows: list[dict[str, Any]] = []
    importances: dict[str, Any] = {}
    for target, rule in _targets():
        table = _board_table(data, target)
        for name, predict in _recipes(rule, target, PAPER_WORK, OWN_WORK):
            rows += _scored(leave_one_out(predict, table, target=target, group="gpu"), target, name)
        rows += _scored(_from_another_board(table, target, rule), target, "another board's time x data-sheet ratio")
        full = Recipe(algorithm="xgboost", work=OWN_WORK, hardware=HARDWARE)
        importances[target] = fit(full, table, target=target, seed=SEED).importances()
    return rows, {"importances_xgboost": importances, "interval": _ratio_errors(data)}


def counts(data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One board left out, with and without executed instructions, on the networks that have them."""
    counted = pd.read_csv(Path(__file__).parent / "results" / "ptx_bouzidi_counts.csv")
    counted = counted[counted["refused"] == 0].drop_duplicates(["arch_id", "input_size"])
    rows: list[dict[str, Any]] = []
    importances: dict[str, Any] = {}
    for target, rule in _targets():
        table = _board_table(data, target).merge(counted, on=["arch_id", "input_size"])
        by_count = OneFactor(work="executed" if rule.work else None, rate=rule.rate, inverse=rule.inverse)
        for work, label in (
            (OWN_WORK, "without counts"),
            ((*OWN_WORK, *COUNTS), "with counts"),
            (COUNTS, "counts alone"),
        ):
            for name, predict in _recipes(rule, target, work, work):
                rows += _scored(leave_one_out(predict, table, target=target, group="gpu"), target, f"{name}, {label}")
        if rule.work:
            predict = _baseline(by_count, target)
            rows += _scored(leave_one_out(predict, table, target=target, group="gpu"), target, "one factor, executed")
        for work, label in ((OWN_WORK, "without counts"), ((*OWN_WORK, *COUNTS), "with counts")):
            for name, predict in _recipes(rule, target, work, work):
                found = leave_one_out(predict, table, target=target, group="model")
                rows += _scored(found.assign(left_out="network"), target, f"{name}, {label}")
                found = _board_and_network_out(predict, table, target)
                rows += _scored(found.assign(left_out="board and network"), target, f"{name}, {label}")
        full = Recipe(algorithm="xgboost", work=(*OWN_WORK, *COUNTS), hardware=HARDWARE)
        importances[target] = fit(full, table, target=target, seed=SEED).importances()
        networks = int(table[["arch_id", "input_size"]].drop_duplicates().shape[0])
    return rows, {"importances_xgboost": importances, "networks": networks}


def operations(data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One GPU left out on NeuSight's convolutions; time."""
    table = pd.read_parquet(data / "neusight_ops" / "conv.parquet")
    table = table.rename(columns={"device": "gpu", "kernel_szie": "kernel", "latency": "time_ms"})
    out = (table["input_size"] + 2 * table["padding"] - table["kernel"]) // table["stride"] + 1
    table = table.assign(
        macs=table["b"] * out**2 * table["kernel"] ** 2 * table["input_channel"] * table["output_channel"],
        read=table["b"] * table["input_size"] ** 2 * table["input_channel"],
        written=table["b"] * out**2 * table["output_channel"],
        params=table["kernel"] ** 2 * table["input_channel"] * table["output_channel"],
    )
    work = ("macs", "params", "read", "written", "b", "input_channel", "output_channel", "input_size")
    return _left_out(table, work), {"rows_per_gpu": ROWS_PER_GPU, "sealed": "the Tesla T4's rows are not in this table"}


def layers(data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One GPU left out on the convolutions of Justus et al.; forward pass; time."""
    names = {"K40": "k40", "K80": "k80", "M60": "m60", "P100": "p100", "V100": "v100", "1080ti": "gtx-1080-ti"}
    table = pd.read_parquet(data / "justus_layers" / "conv.parquet")
    table = table[table["optimizer"] == 0]
    same = -(-table["matsize"] // table["strides"])
    valid = (table["matsize"] - table["kernelsize"]) // table["strides"] + 1
    out = np.maximum(np.where(table["padding"] == 0, same, valid), 1)
    table = table.assign(
        gpu=table["gpu_model"].map(names),
        time_ms=table["timeUsed_median"],
        macs=table["batchsize"] * out**2 * table["kernelsize"] ** 2 * table["channels_in"] * table["channels_out"],
        read=table["batchsize"] * table["matsize"] ** 2 * table["channels_in"],
        written=table["batchsize"] * out**2 * table["channels_out"],
        params=table["kernelsize"] ** 2 * table["channels_in"] * table["channels_out"],
    )
    work = ("macs", "params", "read", "written", "batchsize", "channels_in", "channels_out", "kernelsize", "strides")
    return _left_out(table, work), {"rows_per_gpu": ROWS_PER_GPU, "rows_used": "optimizer code 0"}


def cells(data: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One GPU left out on NAS-Bench-201 cells (latencies of HELP); features from the cells' graphs; time."""
    folder = data / "nasbench201"
    measured = pd.read_parquet(folder / "help_latency_ms.parquet").sample(CELLS, random_state=SEED)
    measured = measured.merge(pd.read_csv(folder / "accuracy.csv")[["arch_idx", "arch_str"]], on="arch_idx")
    known = [features(NASBENCH201.network(genes_of(parse(text)))).values for text in measured["arch_str"]]
    work = pd.DataFrame([{name: values[name] for name in CELL_WORK} for values in known])
    parts = [
        work.assign(gpu=gpu, batch=batch, time_ms=measured[f"lat_ms__{column}_{batch}"])
        for column, gpu in CELL_GPUS.items()
        for batch in (1, 32, 256)
    ]
    table = pd.concat(parts, ignore_index=True)
    table["batch_macs"] = table["batch"] * table["macs"]
    details = {"cells": CELLS, "rows_per_gpu": ROWS_PER_GPU, "assumed": "the source's titanx is the one of 2016"}
    return _left_out(table, (*CELL_WORK, "batch", "batch_macs"), rate_of="batch_macs"), details


def _targets() -> tuple[tuple[str, OneFactor], ...]:
    return (
        ("latency_ms", OneFactor(work="macs", rate="peak_gflops")),
        ("power_mw", OneFactor(work=None, rate="power_limit_w", inverse=True)),
    )


def _board_table(data: Path, target: str) -> pd.DataFrame:
    """One row per network, size and board, for networks that all three boards have; features from their graphs."""
    table = pd.read_csv(data / "bouzidi" / f"{target}.csv")
    table = table[table["arch_id"].notna() & table[target].notna()]
    table = table.groupby(["device", "arch_id", "model", "input_size"], as_index=False)[target].median()
    table = table.assign(gpu=table["device"].map(lambda name: BOARDS.get(name, name)))
    keys = ["arch_id", "input_size"]
    table = table[table.groupby(keys)["gpu"].transform("nunique") == 3]
    templates = read_templates(data / "bouzidi" / "architectures.jsonl.gz")
    described = []
    for arch_id, size in table[keys].drop_duplicates().itertuples(index=False):
        try:
            values = features(templates[arch_id].network(int(size))).values
        except (InvalidInput, KeyError):
            continue
        described.append({"arch_id": arch_id, "input_size": size, **values})
    return table.merge(pd.DataFrame(described), on=keys, suffixes=("", "_of_graph"))


def _board_and_network_out(predict: Predict, table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Every board from the other boards, on networks of which no size was seen anywhere."""
    models = np.random.default_rng(SEED).permutation(table["model"].unique())
    parts = []
    for fold in np.array_split(models, 5):
        inside = table["model"].isin(fold)
        for board in sorted(table["gpu"].unique()):
            wanted = table[inside & (table["gpu"] == board)]
            predicted = predict(table[~inside & (table["gpu"] != board)], wanted)
            parts.append(wanted.assign(measured=wanted[target], predicted=predicted))
    return pd.concat(parts)


def _recipes(
    rule: OneFactor, target: str, plain: tuple[str, ...], relative: tuple[str, ...]
) -> Iterator[tuple[str, Predict]]:
    """Name and predictor of every recipe, and of the one-factor baseline."""
    for algorithm in ALGORITHMS:
        yield f"{algorithm}", _fitted(Recipe(algorithm=algorithm, work=plain, hardware=HARDWARE), target)
        recipe = Recipe(algorithm=algorithm, work=relative, hardware=(), relative_to=rule)
        yield f"{algorithm}, relative", _fitted(recipe, target)
    yield "one factor", _baseline(rule, target)


def _fitted(recipe: Recipe, target: str) -> Predict:
    return lambda known, wanted: fit(recipe, known, target=target, seed=SEED).predict(wanted)


def _baseline(rule: OneFactor, target: str) -> Predict:
    return lambda known, wanted: one_factor(rule, known, wanted, target=target)


def _from_another_board(table: pd.DataFrame, target: str, rule: OneFactor) -> pd.DataFrame:
    """The same network's measurement on the board whose peak rate is nearest, times the ratio of data sheets."""
    keys = ["arch_id", "input_size"]
    shape = pd.Series(rule.shape(table), index=table.index)
    table = table.assign(shape=shape)
    parts = []
    nearest = {"jetson-nano": "jetson-tx2", "jetson-tx2": "jetson-nano", "jetson-agx-xavier": "jetson-tx2"}
    for board, other in nearest.items():
        known = table[table["gpu"] == other][[*keys, target, "shape"]]
        wanted = table[table["gpu"] == board].merge(known, on=keys, suffixes=("", "_known"))
        predicted = wanted[f"{target}_known"] * wanted["shape"] / wanted["shape_known"]
        parts.append(wanted.assign(left_out=board, measured=wanted[target], predicted=predicted))
    return pd.concat(parts)


def _ratio_errors(data: Path) -> dict[str, Any]:
    """By which factor the data-sheet ratio is off: what the interval of an extrapolation must cover."""
    errors = {}
    for target, rule in _targets():
        found = _from_another_board(_board_table(data, target), target, rule)
        factor = np.exp(np.abs(np.log(found["predicted"] / found["measured"])))
        errors[target] = {
            str(board): {
                "median": round(float(part.median()), 2),
                "of_nine_in_ten": round(float(part.quantile(0.9)), 2),
            }
            for board, part in factor.groupby(found["left_out"])
        }
    return errors


def _scored(found: pd.DataFrame, target: str, name: str) -> list[dict[str, Any]]:
    return [
        {"target": target, "recipe": name, "left_out": left_out, **_rounded(scores(part))}
        for left_out, part in found.groupby("left_out")
    ]


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, 3) if key == "kendall_tau" else round(value, 1) for key, value in figures.items()}


def _left_out(table: pd.DataFrame, work: tuple[str, ...], rate_of: str = "macs") -> list[dict[str, Any]]:
    """All recipes with each GPU left out, on a sample of every GPU's rows."""
    sample = table.groupby("gpu").sample(ROWS_PER_GPU, random_state=SEED).reset_index(drop=True)
    rule = OneFactor(work=rate_of, rate="peak_gflops")
    rows = []
    for name, predict in _recipes(rule, "time_ms", work, work):
        rows += _scored(leave_one_out(predict, sample, target="time_ms", group="gpu"), "time_ms", name)
    return rows


if __name__ == "__main__":
    main()
