"""A dataset → trained surrogates on disk, each with a card that says what it knows and how far it errs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgeperf.datasets import Dataset, load
from edgeperf.datasets.graphs import Track
from edgeperf.errors import InvalidInput
from edgeperf.surrogates.algorithms import FittedAlgorithm
from edgeperf.surrogates.cards import card_text
from edgeperf.surrogates.configuration import BEST, Configuration, configuration
from edgeperf.surrogates.descriptors import column
from edgeperf.surrogates.evaluation import hold_out, score_configuration
from edgeperf.surrogates.intervals import calibrate
from edgeperf.surrogates.ranges import LIMIT, measured
from edgeperf.surrogates.rows import Corpus, Rows, Training, corpus
from edgeperf.surrogates.store import SUFFIX, Trained, write
from edgeperf.surrogates.validation import Held
from edgeperf.units import metric as known_metric

_RANGES = ("input_width", "num_layers", "macs", "params", "activations")


def train(
    data: Dataset | Path | str,
    *,
    out: Path | str,
    seed: int,
    devices: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    algorithm: str = BEST,
    trials: int = 0,
    storage: str | None = None,
    track: Track = iter,
) -> list[Path]:
    """Writes `<device>.<metric>.edgeperf` and its card for every device and metric, and returns the former.

    Args:
        data: a dataset, or a folder that holds one.
        out: folder to write to.
        seed: of tuning; stored.
        devices: which; all where None.
        metrics: which; all where None.
        algorithm: one of the names of `edgeperf.surrogates.configuration`, or `best`.
        trials: how many parameters Optuna tries; with 0 the stored ones are used.
        storage: where Optuna keeps its studies, e.g. ``postgresql+pg8000://...``; None: `studies.db` in `out`.
        track: shows progress.

    Raises:
        InvalidInput: the data lacks what is asked for, or a row cannot be right.
    """
    dataset = data if isinstance(data, Dataset) else load(data)
    for name in metrics or ():
        known_metric(name)
    configuration(algorithm, "", "")
    targets = [(d, m) for d, m in dataset.targets() if (not devices or d in devices) and (not metrics or m in metrics)]
    if not targets:
        have = ", ".join(f"{d} {m}" for d, m in dataset.targets())
        raise InvalidInput(f"{dataset.provenance.name} has none of what is asked for. It has: {have}.")
    prepared = corpus(dataset, track)
    Path(out).mkdir(parents=True, exist_ok=True)
    storage = storage or f"sqlite:///{Path(out) / 'studies.db'}"
    paths = []
    for device, metric in track(targets):
        training = prepared.training(device, metric)
        chosen = _chosen(training, algorithm, trials=trials, storage=storage, seed=seed)
        trained = fit_trained(prepared, training, chosen, seed=seed)
        path = Path(out) / f"{device}.{metric}{SUFFIX}"
        write(trained, path)
        path.with_suffix(".md").write_text(card_text(trained), encoding="utf-8")
        paths.append(path)
    return paths


def fit_trained(prepared: Corpus, training: Training, chosen: Configuration, *, seed: int) -> Trained:
    """The surrogate of a configuration, with interval, measured range and card.

    Raises:
        InvalidInput: no graph of the training rows is known.
    """
    rows = training.rows.take(training.rows.has_graph)
    if not len(rows):
        raise InvalidInput(f"No graph is known of any network in {prepared.dataset.provenance.name}; see `data check`.")
    held = hold_out(training, chosen)
    graph = [part.take(part.rows.has_graph) for part in held]
    fitted = chosen.fit(training)
    surrogate = fitted if isinstance(fitted, FittedAlgorithm) else fitted.surrogate
    every = [r.take(r.has_graph) for r in training.by_metric.values()]
    networks = measured(np.concatenate([r.features for r in every]), np.concatenate([r.network for r in every]))
    return Trained(
        device=rows.device,
        metric=rows.metric,
        algorithm=chosen.algorithm,
        surrogate=surrogate,
        interval=calibrate(graph),
        measured=networks,
        card={**_card(prepared, rows, chosen, graph, seed=seed), "tested": _tested(prepared, training, chosen)},
    )


def _chosen(training: Training, algorithm: str, *, trials: int, storage: str, seed: int) -> Configuration:
    stored = configuration(algorithm, training.rows.device, training.metric)
    if trials == 0:
        return stored.settled(training)
    from edgeperf.surrogates.tuning import tune

    return tune(stored.algorithm, training, trials=trials, storage=storage, seed=seed).configuration


def _tested(prepared: Corpus, training: Training, chosen: Configuration) -> dict[str, dict[str, float]]:
    """Split → rows, error, coverage and width of intervals on test rows, which played no part in training."""
    return {
        score.split: {
            "rows": score.n,
            "mape": round(score.mape, 2),
            "coverage90": round(score.coverage90, 1),
            "width90": round(score.width90, 1),
        }
        for score in score_configuration(prepared, training, chosen)
    }


def _card(prepared: Corpus, rows: Rows, chosen: Configuration, held: Sequence[Held], *, seed: int) -> dict[str, Any]:
    provenance = prepared.dataset.provenance
    values = {name: column(rows.features, name) for name in _RANGES}
    near = [part.take(part.distance <= LIMIT) for part in held]
    return {
        "data": provenance.name,
        "source": provenance.source,
        "cite": provenance.cite,
        "licence": provenance.licence,
        "meaning": provenance.meaning.get(rows.metric, ""),
        "table_sha256": prepared.dataset.sha256(),
        "rows": len(rows),
        "networks": len(np.unique(rows.network)),
        "models": len(np.unique(rows.model)),
        "families": sorted(map(str, np.unique(rows.family))),
        "label_range": [float(rows.value.min()), float(rows.value.max())],
        "ranges": {name: [float(v.min()), float(v.max())] for name, v in values.items()},
        "params": dict(chosen.params),
        "selected": list(chosen.selected or ()),
        "cv_mape": {part.protocol: round(part.mape, 3) for part in held},
        "cv_mape_in_range": {part.protocol: round(part.mape, 3) for part in near if len(part.rows)},
        "seed": seed,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
