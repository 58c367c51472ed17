"""Tunes every algorithm for every device and metric and writes `edgeperf/pretrained/tuned.json`.

    python benchmarks/tune_surrogates.py ../shared/data/bouzidi [--jobs 2] [--storage sqlite:///studies.db]
        [--only physical]

Model selection uses training rows alone. The algorithm with the lowest error on held-out models is marked as the best.
With `--only` the others stay as the file has them.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from edgeperf.datasets import load
from edgeperf.surrogates.algorithms import ALGORITHMS
from edgeperf.surrogates.configuration import PHYSICAL
from edgeperf.surrogates.rows import Corpus, corpus
from edgeperf.surrogates.tuning import select_features, tune

TUNED = Path(__file__).parents[1] / "edgeperf" / "pretrained" / "tuned.json"
TRIALS = {"poly": 40, "svr": 30, "mlp": 60, "rf": 60, "xgboost": 20, PHYSICAL: 1}
SEED = 0


def tune_target(
    target: tuple[str, str], prepared: Corpus, storage: str | None, only: str | None, before: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Key and entry of one device and metric; `before` is the entry so far."""
    device, metric = target
    training = prepared.training(device, metric)
    start = time.perf_counter()
    selected = select_features(training, seed=SEED)
    selecting = time.perf_counter() - start
    entries = dict(before.get("algorithms", {})) if only else {}
    for name in [only] if only else [*ALGORITHMS, PHYSICAL]:
        tuned = tune(name, training, trials=TRIALS[name], seed=SEED, storage=storage, selected=selected)
        entries[name] = {
            "params": tuned.configuration.params,
            "selected": list(tuned.configuration.selected or ()),
            "cv_mape": round(tuned.cv_mape, 3),
            "trials": tuned.trials,
            "seconds": round(tuned.seconds, 1),
        }
    best = min(entries, key=lambda name: entries[name]["cv_mape"])
    return f"{device}/{metric}", {"best": best, "selection_seconds": round(selecting, 1), "algorithms": entries}


def main() -> None:
    """Tunes all targets, side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--storage")
    parser.add_argument("--only", choices=[*ALGORITHMS, PHYSICAL], help="tune this algorithm alone")
    options = parser.parse_args()
    prepared = corpus(load(options.data), track=partial(track, description="Features"))
    found: dict[str, Any] = json.loads(TUNED.read_text(encoding="utf-8")) if options.only else {}
    with ProcessPoolExecutor(options.jobs) as pool:
        targets = prepared.dataset.targets()
        waiting = [
            pool.submit(tune_target, target, prepared, options.storage, options.only, found.get("/".join(target), {}))
            for target in targets
        ]
        for done in track(as_completed(waiting), total=len(waiting), description="Tuning"):
            key, entry = done.result()
            found[key] = entry
            TUNED.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
