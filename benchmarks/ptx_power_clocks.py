"""Power across core clocks from static PTX counts, and what becomes of it when whole benchmarks are left out.

    python -m benchmarks.ptx_power_clocks [--data ../shared/data]

Five folds over measured power of CUDA benchmarks at many clocks, on one table per source: rows drawn at random, as the
paper did on a table of its own that is not public, and whole benchmarks left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.ptx.cross_gpu import ALGORITHMS, scores

SEED = 1
STATIC = (
    "abs", "add", "and", "bar", "bra", "clz", "cvt", "div", "ex2", "f32", "f64", "fma", "global", "ld",
    "local", "mad", "max", "mul", "shared", "shl", "shr", "sqrt", "st", "sub",
)  # fmt: skip
NOTE = (
    "Metz et al. report 5.03 % for the power of CNNs across clocks with a random split of their own table, whose "
    "clocks and networks are not public; these tables hold other programs (no CNNs) on other GPUs."
)


def main() -> None:
    """Writes results/ptx_power_clocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    data = parser.parse_args().data
    rows = [row for table in (_nv_dvfs(data), _titan_x(data)) for row in evaluated(*table)]
    write_result("ptx_power_clocks", {"seed": SEED, "anchor": NOTE, "rows": rows}, about=__doc__, table=rows)


def evaluated(name: str, table: pd.DataFrame, work: list[str]) -> list[dict[str, Any]]:
    """Every algorithm on both splits of one table, five folds each."""
    rows = []
    for algorithm, factory in ALGORITHMS.items():
        for split, folds in (("random rows", _random_folds(table)), ("whole benchmarks", _benchmark_folds(table))):
            parts = []
            for known, wanted in folds:
                model = factory(SEED)
                model.fit(table.loc[known, work].to_numpy(float), table.loc[known, "power_w"].to_numpy(float))
                predicted = model.predict(table.loc[wanted, work].to_numpy(float))
                parts.append(pd.DataFrame({"measured": table.loc[wanted, "power_w"], "predicted": predicted}))
            rounded = {key: round(value, 3) for key, value in scores(pd.concat(parts)).items()}
            rows.append({"table": name, "algorithm": algorithm, "split": split, **rounded})
    return rows


def _nv_dvfs(data: Path) -> tuple[str, pd.DataFrame, list[str]]:
    table = pd.read_csv(data / "nv_dvfs_ptx" / "dvfs_ptx.csv.gz")
    table = table.assign(
        program=table["benchmark"].astype(str), power_w=table["average_power"], is_v100=table["device"] == "v100"
    )
    static = list(STATIC)
    return "V100 and RTX 8000 (HKBU)", table, ["is_v100", "core_frequency", *static]


def _titan_x(data: Path) -> tuple[str, pd.DataFrame, list[str]]:
    folder = data / "titanx_ptx_dvfs"
    static = (
        pd.read_csv(folder / "ptx_counts.csv").groupby(["suite", "benchmark"], as_index=False).sum(numeric_only=True)
    )
    table = pd.read_csv(folder / "dvfs.csv.gz").merge(static, on=["suite", "benchmark"])
    opcodes = [name for name in static.columns if name not in ("suite", "benchmark")]
    table = table.assign(program=table["suite"] + "/" + table["benchmark"].astype(str), power_w=table["power_W"])
    return "GTX Titan X (gpuPTXModel)", table, ["core_MHz", "mem_MHz", *opcodes]


def _random_folds(table: pd.DataFrame) -> list[tuple[pd.Index, pd.Index]]:
    order = np.random.default_rng(SEED).permutation(table.index.to_numpy())
    return [(pd.Index(np.setdiff1d(order, part)), pd.Index(part)) for part in np.array_split(order, 5)]


def _benchmark_folds(table: pd.DataFrame) -> list[tuple[pd.Index, pd.Index]]:
    programs = np.random.default_rng(SEED).permutation(table["program"].unique())
    inside = [table["program"].isin(part) for part in np.array_split(programs, 5)]
    return [(table.index[~chosen], table.index[chosen]) for chosen in inside]


if __name__ == "__main__":
    main()
