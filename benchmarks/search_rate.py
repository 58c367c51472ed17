"""How many candidates per second a search rates, beside building each in Keras and beside Optuna.

    python -m benchmarks.search_rate

Space: MobileNetV2 width x depth x expansion x input size, and ResNet block x depth x width x input size. Each candidate
gets features, latency, power, energy and memory with intervals on a Jetson TX2, and accuracy. All are drawn anew;
"first" is the first batch of a fresh evaluator, "later" the one after 20,000 candidates.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.record import write_result
from edgeperf.network import features, read_network
from edgeperf.surrogates import load
from search import Limits, Question, run
from search.accuracy import published_accuracy
from search.evaluation import Evaluator
from search.loop import evolve
from search.optimiser import Setting, optimiser

DEVICE = "jetson-tx2"
QUESTION = Question(spaces=["mobilenet-v2", "resnet"], devices=[DEVICE], seed=1)
BATCH = 5_000
KERAS_NETWORKS = 6
OPTUNA_TRIALS = 400


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Candidates per second, by the clock, and per second of one processor's time, which other load does not change."""

    per_second: float
    per_processor_second: float


def rate(count: int, work: Callable[[], Any]) -> Rate:
    """The rate of `work`, which does `count`."""
    begun, used = time.perf_counter(), time.process_time()
    work()
    return Rate(
        per_second=count / (time.perf_counter() - begun), per_processor_second=count / (time.process_time() - used)
    )


def candidates_per_second() -> dict[str, Rate]:
    """Genes to all metrics, for the first and for a later batch."""
    space, rng = QUESTION.space(), np.random.default_rng(0)
    evaluate = Evaluator(space, {DEVICE: load(DEVICE)}, published_accuracy())
    evaluate(space.random(2, rng))  # what is loaded on first use
    fresh = Evaluator(space, {DEVICE: load(DEVICE)}, published_accuracy())
    first = rate(BATCH, lambda: fresh(space.random(BATCH, rng)))
    for _ in range(3):
        fresh(space.random(BATCH, rng))
    repeats = [rate(BATCH, lambda: fresh(space.random(BATCH, rng))) for _ in range(3)]
    later = max(repeats, key=lambda found: found.per_processor_second)
    return {"first": first, "later": later}


def search_loop_per_second(population: int, generations: int) -> Rate:
    """Candidates per second of a whole NSGA-II loop with checkpoints."""
    space, problem = QUESTION.space(), QUESTION.problem()
    evaluate = Evaluator(space, {DEVICE: load(DEVICE)}, published_accuracy())
    setting = Setting(
        space=space,
        population=population,
        objectives=2,
        warm_start=QUESTION.first_networks(space),
        describe=lambda vectors: vectors,
    )
    with TemporaryDirectory() as folder:
        return rate(
            population * generations,
            lambda: evolve(
                problem,
                optimiser("nsga2", setting),
                evaluate,
                Limits(generations=generations),
                seed=1,
                question={},
                directory=Path(folder),
            ),
        )


def keras_per_second() -> Rate:
    """The same numbers for networks that are built in Keras one by one."""
    import keras

    space, rng = QUESTION.space(), np.random.default_rng(1)
    surrogates = load(DEVICE)
    candidates = [space.decode(vector) for vector in space.random(KERAS_NETWORKS + 1, rng)]
    candidates[0].family.keras_model(candidates[0].genes)  # the first model pays for Keras' own start

    def work() -> None:
        for candidate in candidates[1:]:
            surrogates.predict_batch([features(read_network(candidate.family.keras_model(candidate.genes)))])
            keras.utils.clear_session()

    return rate(KERAS_NETWORKS, work)


def optuna_per_second() -> Rate:
    """Optuna's NSGA-II as users write it, one trial after the other, with the same fast ratings."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, problem = QUESTION.space(), QUESTION.problem()
    evaluate = Evaluator(space, {DEVICE: load(DEVICE)}, published_accuracy())

    def objective(trial: Any) -> tuple[float, ...]:
        drawn = [trial.suggest_int(f"place{place}", 0, int(count) - 1) for place, count in enumerate(space.counts)]
        table = evaluate(space.canonical(np.array([drawn])))
        return tuple(problem.minimised(table)[0])

    study = optuna.create_study(directions=["minimize"] * 2, sampler=optuna.samplers.NSGAIISampler(seed=1))
    return rate(OPTUNA_TRIALS, lambda: study.optimize(objective, n_trials=OPTUNA_TRIALS))


def whole_search_seconds() -> float:
    """Seconds of `search.run` with its files and report: 60 generations of 100."""
    with TemporaryDirectory() as folder:
        begun = time.perf_counter()
        run(QUESTION, out=folder, progress=False)
        return time.perf_counter() - begun


def main() -> None:
    """Measure and write the table."""
    batches = candidates_per_second()
    measured = {
        f"genes to all metrics, batches of {BATCH:,}, first": batches["first"],
        f"genes to all metrics, batches of {BATCH:,}, later": batches["later"],
        "NSGA-II loop, 20 generations of 100": search_loop_per_second(100, 20),
        "NSGA-II loop, 10 generations of 1,000": search_loop_per_second(1000, 10),
        "building each in Keras, then predicting": keras_per_second(),
        "Optuna NSGA-II, same ratings one by one": optuna_per_second(),
    }
    rows = [
        {
            "what": what,
            "per_second": float(f"{found.per_second:.3g}"),
            "per_processor_second": float(f"{found.per_processor_second:.3g}"),
            "processor_time_against_later": round(
                batches["later"].per_processor_second / found.per_processor_second, 1
            ),
        }
        for what, found in measured.items()
    ]
    load_average = os.getloadavg()[0]
    write_result(
        "search_rate",
        {"rows": rows, "whole_search_s": round(whole_search_seconds(), 1), "load_average": round(load_average, 1)},
        about=__doc__,
        table=rows,
    )
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
