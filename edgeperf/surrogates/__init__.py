"""Features → estimates with 90 % intervals: training, selection, evaluation, storage and transfer of surrogates.

What the command line calls, one function per command:

    predict(network, *, device, metrics=None, input_size=None) -> list[Estimate]
    train(data, *, out, seed, devices=None, metrics=None, algorithm="best", trials=0, storage=None, track=iter)
        -> list[Path]                                           # one .edgeperf file and card per device and metric
    evaluate(data, *, devices=None, metrics=None, algorithms=None, predictions=None, track=iter) -> list[Score]
        # Score.to_dict() is a row of --json; `predictions` is the CSV file to write
    adapt(surrogate, data, *, device, out) -> Adapted    # .path, .rows, .left_out_mape, .source_mape, .advice
    advise(candidates, *, count, known=None) -> list[str]               # which networks to measure next

and what a search calls:

    surrogates = load("jetson-tx2")                             # SurrogateSet; shipped, or from a folder
    surrogates.predict_batch(rows) -> dict[str, Prediction]     # rows: Features, or an array in FEATURE_NAMES order
    prediction.value, .low, .high, .in_range                    # arrays
    prediction.reasons()                                        # words per row, None where in range

`data` is a folder or a `Dataset`. `track` passes the items of a long loop on and may show progress.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeperf.surrogates.adaptation import adapt, advise
    from edgeperf.surrogates.algorithms import ALGORITHMS
    from edgeperf.surrogates.evaluation import evaluate
    from edgeperf.surrogates.shipped import Prediction, SurrogateSet, devices, load, predict
    from edgeperf.surrogates.training import train

__all__ = [
    "ALGORITHMS",
    "Prediction",
    "SurrogateSet",
    "adapt",
    "advise",
    "devices",
    "evaluate",
    "load",
    "predict",
    "train",
]

_HOME_OF = {
    "ALGORITHMS": "algorithms",
    "Prediction": "shipped",
    "SurrogateSet": "shipped",
    "adapt": "adaptation",
    "advise": "adaptation",
    "devices": "shipped",
    "evaluate": "evaluation",
    "load": "shipped",
    "predict": "shipped",
    "train": "training",
}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"edgeperf.surrogates.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'edgeperf.surrogates' has no attribute {name!r}")
