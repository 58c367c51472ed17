"""Searches against the truth: NAS-Bench-201 → share of the true front's hypervolume at equal budgets.

    python -m benchmarks.nasbench201 [--seeds 20] [--data ../shared/data]

Objectives: CIFAR-100 test error after 200 epochs, and the logarithm of the measured energy of one inference on a
Raspberry Pi 5 (LiteRT). Cells that took less than 0.1 ms are left out. Hypervolume of both, scaled by the ranges of the
true front, reference point (1.1, 1.1). A budget counts distinct cells that were asked.

In the second table accuracy alone is asked: energy comes from a regression on 300 random cells, and the front that is
scored is made of the asked cells with their measured energies.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.zoo.nasbench201 import NASBENCH201, parse
from search.describe import describe, genes_of
from search.evaluation import Evaluator
from search.front import hypervolume, nondominated, scaled
from search.gaussian import SmoothGuess
from search.optimiser import Setting, optimiser
from search.space import Space, Vectors

Array = npt.NDArray[np.float64]

LEAST_LATENCY_MS = 0.1
BUDGET = 500
ACCURACY_BUDGET = 300
CELLS_FOR_ENERGY = 300
GENERATION = {"assisted": 25, "nsga2": 50, "random": 50, "regularised-evolution": 25, "optuna-nsga2": 50}


@dataclass(frozen=True, kw_only=True)
class MeasuredCells(Space):
    """The cells that were measured; others are repaired by a skip from input to output.

    Attributes:
        row: vector as bytes → row of the table.
        table: error in percent and log energy, shape (cells, 2).
        listed: vectors in the table's order.
    """

    row: dict[bytes, int]
    table: Array
    listed: Vectors

    @property
    def size(self) -> int:
        """How many cells were measured."""
        return len(self.listed)

    def all(self) -> Vectors:
        """Every measured cell."""
        return self.listed

    def random(self, count: int, rng: np.random.Generator) -> Vectors:
        """Measured cells, uniformly."""
        return self.listed[rng.integers(0, len(self.listed), count)]

    def canonical(self, vectors: Vectors) -> Vectors:
        """The vectors with cells that were not measured repaired."""
        clipped = super().canonical(vectors)
        unmeasured = [vector.tobytes() not in self.row for vector in clipped]
        clipped[unmeasured, 1 + 3] = 1
        return clipped

    def look_up(self, vectors: Vectors) -> Array:
        """Objectives of the cells."""
        return self.table[[self.row[vector.tobytes()] for vector in vectors]]


def measured_cells(data: Path) -> MeasuredCells:
    """The benchmark's cells with error and log energy."""
    folder = data / "nasbench201"
    accuracy = pd.read_csv(folder / "accuracy.csv")
    costs = pd.read_parquet(folder / "nb360_pi5_pixel.parquet")
    latency, energy = "lat_ms__pi5_litert_cifar100", "energy_mj__pi5_litert_cifar100"
    rows = accuracy.merge(costs[["unique_arch_idx", latency, energy]], on="unique_arch_idx")
    rows = rows[rows[latency] >= LEAST_LATENCY_MS]
    plain = Space(families=(NASBENCH201,))
    listed = np.array([plain.encode(NASBENCH201.name, genes_of(parse(text))) for text in rows["arch_str"]])
    table = np.column_stack((100.0 - rows["acc_cifar100_test"], np.log(rows[energy])))
    row = {vector.tobytes(): index for index, vector in enumerate(listed)}
    return MeasuredCells(families=(NASBENCH201,), row=row, table=table, listed=listed)


class Truth:
    """The true front and what a search covers of it."""

    def __init__(self, table: Array) -> None:
        self.front = table[nondominated(table)]
        self._low, self._high = self.front.min(axis=0), self.front.max(axis=0)
        self._volume = self._of(self.front)

    def share(self, found: Array) -> float:
        """Share of the true hypervolume."""
        return self._of(found) / self._volume

    def hits(self, found: Array) -> float:
        """Share of the true front's points found."""
        return float(np.mean([(found == point).all(axis=1).any() for point in self.front]))

    def _of(self, points: Array) -> float:
        return hypervolume(scaled(points, self._low, self._high), np.array([1.1, 1.1]))


def searched(space: MeasuredCells, algorithm: str, seed: int, budget: int, describe_all: Any, foresee: Any) -> Array:
    """Objectives of the first `budget` distinct cells that the algorithm asks."""
    setting = Setting(
        space=space,
        population=GENERATION[algorithm],
        objectives=2,
        warm_start=np.empty((0, len(space.counts)), dtype=np.int64),
        describe=describe_all,
        foresee=foresee,
    )
    chosen = optimiser(algorithm, setting)
    asked = np.empty((0, len(space.counts)), dtype=np.int64)
    generation = 0
    while len(asked) < budget:
        rng = np.random.default_rng((seed, generation))
        vectors = chosen.ask(rng)[: budget - len(asked)]
        known = space.look_up(vectors)
        if foresee is not None:
            known[:, 1] = foresee(vectors)[:, 1]
        chosen.tell(vectors, known, np.zeros(len(vectors)), rng)
        asked = np.concatenate((asked, vectors))
        generation += 1
    return space.look_up(asked)


def described(space: MeasuredCells) -> Any:
    """A lookup of descriptors, worked out once."""
    evaluator = Evaluator(Space(families=(NASBENCH201,)), {}, accuracy=None)  # type: ignore[arg-type]
    numbers = describe(space, evaluator, space.listed)
    return lambda vectors: numbers[[space.row[vector.tobytes()] for vector in vectors]]


def energy_surrogate(space: MeasuredCells, describe_all: Any, seed: int) -> Any:
    """Foresees log energy from a regression on random cells; errors stay to be asked."""
    rng = np.random.default_rng((seed, 999))
    sample = rng.choice(len(space.listed), CELLS_FOR_ENERGY, replace=False)
    inputs = describe_all(space.listed)
    centre, spread = inputs.mean(axis=0), np.where(inputs.std(axis=0) > 0, inputs.std(axis=0), 1.0)
    guess = SmoothGuess((inputs[sample] - centre) / spread, space.table[sample, 1])
    middle, _ = guess.predict((inputs - centre) / spread)
    foreseen = guess.undrawn(middle)

    def foresee(vectors: Vectors) -> Array:
        rows = [space.row[vector.tobytes()] for vector in vectors]
        return np.column_stack((np.full(len(rows), np.nan), foreseen[rows]))

    return foresee


@dataclass(frozen=True, kw_only=True)
class Run:
    """One search of one algorithm; a worker process does it alone.

    Attributes:
        accuracy_only: whether energy is foreseen, not asked.
    """

    algorithm: str
    seed: int
    accuracy_only: bool
    data: Path


def covered(run: Run) -> tuple[float, float, float]:
    """Share of the true hypervolume, share of true points, and seconds of processor time."""
    space, truth, describe_all = _benchmark(run.data)
    begun = time.process_time()
    foresee = energy_surrogate(space, describe_all, run.seed) if run.accuracy_only else None
    budget = ACCURACY_BUDGET if run.accuracy_only else BUDGET
    found = searched(space, run.algorithm, run.seed, budget, describe_all, foresee)
    return truth.share(found), truth.hits(found), time.process_time() - begun


@lru_cache(maxsize=1)
def _benchmark(data: Path) -> tuple[MeasuredCells, Truth, Any]:
    space = measured_cells(data)
    return space, Truth(space.table), described(space)


def main() -> None:
    """Run all algorithms on all seeds and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--only", nargs="*", default=list(GENERATION))
    arguments = parser.parse_args()
    space, truth, _ = _benchmark(arguments.data)
    rows = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        for algorithm, accuracy_only in product(arguments.only, (False, True)):
            runs = [
                Run(algorithm=algorithm, seed=seed, accuracy_only=accuracy_only, data=arguments.data)
                for seed in range(arguments.seeds)
            ]
            rows.append(_row(runs[0], list(pool.map(covered, runs))))
            print(rows[-1], flush=True)
    write_result(
        "nasbench201",
        {"cells": len(space.listed), "true_front": len(truth.front), "seeds": arguments.seeds, "rows": rows},
        about=__doc__,
        table=rows,
    )


def _row(run: Run, outcomes: list[tuple[float, float, float]]) -> dict[str, Any]:
    shares, hits, seconds = np.array(outcomes).T
    return {
        "algorithm": run.algorithm,
        "asked": "error" if run.accuracy_only else "error and energy",
        "budget": ACCURACY_BUDGET if run.accuracy_only else BUDGET,
        "hypervolume_percent": round(100 * float(shares.mean()), 2),
        "lowest_percent": round(100 * float(shares.min()), 2),
        "true_points_found_percent": round(100 * float(hits.mean()), 1),
        "processor_seconds_per_run": round(float(seconds.mean()), 2),
    }


if __name__ == "__main__":
    main()
