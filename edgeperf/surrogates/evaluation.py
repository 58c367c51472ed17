"""A dataset with test rows → how well every algorithm predicts them, refitted on its training rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from edgeperf.datasets import Dataset, load
from edgeperf.datasets.graphs import Track
from edgeperf.datasets.schema import TEST_SPLITS
from edgeperf.errors import InvalidInput
from edgeperf.surrogates.arrays import Vector
from edgeperf.surrogates.configuration import BEST, NAMES, Configuration, configuration
from edgeperf.surrogates.intervals import Interval, calibrate
from edgeperf.surrogates.ranges import LIMIT, measured
from edgeperf.surrogates.rows import Corpus, Rows, Training, corpus
from edgeperf.surrogates.scores import Score, correlations, mean_interval, percentage_errors, share
from edgeperf.surrogates.validation import FOLDS, PROTOCOLS, Held, cross_validate
from edgeperf.units import metric as known_metric

SEED: Final = 0
_QUICK_FOLDS: Final = 3
"""Folds for the intervals of the five algorithms, whose fits are slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Predictions of one algorithm for the test rows of one device and metric.

    Attributes:
        algorithm: name.
        rows: test rows.
        predicted: (rows,).
        half_width: (rows,) of the 90 % interval, in logarithms.
        in_range: (rows,); rows without a graph are never in range.
        fit_seconds: wall time of the fit.
        predict_us: wall time per row.
    """

    algorithm: str
    rows: Rows
    predicted: Vector
    half_width: Vector
    in_range: np.typing.NDArray[np.bool_]
    fit_seconds: float
    predict_us: float


def evaluate(
    data: Dataset | Path | str,
    *,
    devices: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    predictions: Path | None = None,
    track: Track = iter,
) -> list[Score]:
    """Scores per device, metric, algorithm and split.

    Args:
        data: a dataset, or a folder that holds one.
        devices: which; all where None.
        metrics: which; all where None.
        algorithms: of `NAMES`, or `best` for the shipped configuration; all and `best` where None.
        predictions: CSV file to write row by row what was predicted.
        track: shows progress.

    Raises:
        InvalidInput: the data has no test rows, or a name is unknown.
    """
    dataset = data if isinstance(data, Dataset) else load(data)
    wanted = _wanted(dataset, devices, metrics, algorithms)
    prepared = corpus(dataset, track)
    tested = [(device, metric, _test_stored(prepared, device, metric, name)) for device, metric, name in track(wanted)]
    if predictions is not None:
        table = pd.concat([_table(result) for _, _, result in tested], ignore_index=True)
        predictions.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(predictions, index=False, lineterminator="\n")
    return [score for _, _, result in tested for score in _scores(result)]


def distance(training: Training, rows: Rows) -> Vector:
    """(rows,) to the nearest training network of the device, whatever was measured of it; infinite without a graph."""
    known = [r.take(r.has_graph) for r in training.by_metric.values()]
    found = np.full(len(rows), np.inf)
    graph = rows.has_graph
    if graph.any() and any(len(r) for r in known):
        networks = measured(np.concatenate([r.features for r in known]), np.concatenate([r.network for r in known]))
        found[graph] = networks.nearest(rows.features[graph])[0]
    return found


def hold_out(training: Training, chosen: Configuration, *, folds: int = FOLDS) -> list[Held]:
    """Held-out predictions of a configuration for the training rows, by both protocols.

    Protocols that the rows do not allow, for want of two models or two sizes, are left out.
    """
    possible = [p for p in PROTOCOLS if len(np.unique(getattr(training.rows, p))) > 1]
    return [
        cross_validate(training, chosen.fit, distance, protocol=protocol, folds=folds, seed=SEED)
        for protocol in possible
    ]


def _wanted(
    dataset: Dataset, devices: Sequence[str] | None, metrics: Sequence[str] | None, algorithms: Sequence[str] | None
) -> list[tuple[str, str, str]]:
    for name in metrics or ():
        known_metric(name)
    names = algorithms or (*NAMES, BEST)
    for name in names:
        configuration(name, "", "")
    have = dataset.targets()
    measured_devices = sorted({device for device, _ in have})
    for device in devices or ():
        if device not in measured_devices:
            raise InvalidInput(
                f"{dataset.provenance.name} has no rows of {device!r}. It has: {', '.join(measured_devices)}."
            )
    targets = [(d, m) for d, m in have if (not devices or d in devices) and (not metrics or m in metrics)]
    tests = dataset.rows[dataset.rows["split"].isin(TEST_SPLITS)]
    if tests.empty:
        raise InvalidInput(
            f"{dataset.provenance.name} has no test rows. Give rows a column split with {', '.join(TEST_SPLITS)}."
        )
    return [(d, m, name) for d, m in targets for name in names]


def score_configuration(prepared: Corpus, training: Training, chosen: Configuration) -> list[Score]:
    """Scores of a configuration on the test rows of the training rows' device and metric; none without test rows."""
    return list(_scores(_test(prepared, training, chosen, chosen.algorithm)))


def _test_stored(prepared: Corpus, device: str, metric: str, name: str) -> Tested:
    training = prepared.training(device, metric)
    return _test(prepared, training, configuration(name, device, metric).settled(training), name)


def _test(prepared: Corpus, training: Training, chosen: Configuration, name: str) -> Tested:
    device, metric = training.rows.device, training.metric
    rows = prepared.rows(device, metric)
    rows = rows.take(np.isin(rows.split, TEST_SPLITS))
    start = time.perf_counter()
    surrogate = chosen.fit(training)
    fitted = time.perf_counter()
    predicted = surrogate.predict_rows(rows)
    done = time.perf_counter()
    interval, without_graph = _intervals(training, chosen)
    near = distance(training, rows)
    half_width = np.where(
        rows.has_graph,
        interval.half_width(predicted, near),
        without_graph.half_width(predicted, np.full(len(rows), LIMIT)),
    )
    return Tested(
        algorithm=name,
        rows=rows,
        predicted=predicted,
        half_width=half_width,
        in_range=near <= LIMIT,
        fit_seconds=fitted - start,
        predict_us=1e6 * (done - fitted) / max(len(rows), 1),
    )


def _intervals(training: Training, chosen: Configuration) -> tuple[Interval, Interval]:
    """Of rows with a graph, and of rows without one."""
    held = hold_out(training, chosen, folds=FOLDS if chosen.algorithm == "physical" else _QUICK_FOLDS)
    with_graph = [part.take(part.rows.has_graph) for part in held]
    without = [part.take(~part.rows.has_graph) for part in held]
    known = [part for part in with_graph if len(part.rows)]
    other = [part for part in without if len(part.rows)]
    return calibrate(known or other), calibrate(other or known)


def _scores(tested: Tested) -> Iterator[Score]:
    for split in TEST_SPLITS:
        chosen = (tested.rows.split == split) & np.isfinite(tested.predicted)
        if not chosen.any():
            continue
        rows, predicted, half_width = tested.rows.take(chosen), tested.predicted[chosen], tested.half_width[chosen]
        errors = percentage_errors(rows.value, predicted)
        low, high = mean_interval(errors)
        tau, r = correlations(rows.value, predicted)
        yield Score(
            device=rows.device,
            metric=rows.metric,
            algorithm=tested.algorithm,
            split=split,
            n=len(rows),
            mape=float(errors.mean()),
            mape_low=low,
            mape_high=high,
            kendall_tau=tau,
            pearson_r=r,
            coverage90=share(np.abs(np.log(rows.value / predicted)) <= half_width),
            width90=float(100 * np.median(np.exp(half_width) - np.exp(-half_width))),
            flagged=share(~tested.in_range[chosen]),
            mape_consistent=float(errors[~rows.contradictory].mean()) if (~rows.contradictory).any() else None,
            fit_seconds=tested.fit_seconds,
            predict_us=tested.predict_us,
        )


def _table(tested: Tested) -> pd.DataFrame:
    rows, factor = tested.rows, np.exp(tested.half_width)
    return pd.DataFrame(
        {
            "device": rows.device,
            "metric": rows.metric,
            "algorithm": tested.algorithm,
            "split": rows.split,
            "model": rows.model,
            "input_size": rows.input_size.astype(int),
            "measured": rows.value,
            "predicted": tested.predicted,
            "low": tested.predicted / factor,
            "high": tested.predicted * factor,
            "in_range": tested.in_range,
        }
    )
