"""What was tuned once, stored in the package → how to fit every algorithm for a device and metric again.

`tuned.json` in `edgeperf/pretrained` holds, per device and metric, the parameters and selected features of each
algorithm, its cross-validated errors, and which algorithm is the best by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import numpy as np

from edgeperf.surrogates import physical
from edgeperf.surrogates.algorithms import ALGORITHMS, FittedAlgorithm, algorithm, fit_algorithm
from edgeperf.surrogates.arrays import Vector
from edgeperf.surrogates.columns import fit_columns, tune_columns
from edgeperf.surrogates.rows import Rows, Training
from edgeperf.surrogates.validation import RowSurrogate

PHYSICAL: Final = "physical"
BEST: Final = "best"
SEED: Final = 0
NAMES: Final = (*ALGORITHMS, PHYSICAL)

DEFAULTS: Final[Mapping[str, dict[str, Any]]] = {
    "poly": {"degree": 3, "alpha": 1e-3},
    "svr": {"kernel": "rbf", "C": 100.0, "epsilon": 0.02, "gamma": 0.1},
    "mlp": {
        "width": 48, "layers": 3, "activation": "tanh", "solver": "adam", "learning_rate_init": 3e-3,
        "learning_rate": "constant", "alpha": 1e-3, "max_iter": 1000, "early_stopping": False,
    },
    "rf": {
        "n_estimators": 200, "max_depth": 100, "min_samples_split": 2, "min_samples_leaf": 1, "max_features": None,
        "bootstrap": True,
    },
    "xgboost": {
        "n_estimators": 800, "max_depth": 6, "min_child_weight": 5, "subsample": 0.7, "colsample_bytree": 0.8,
        "gamma": 0.01, "learning_rate": 0.05,
    },
}  # fmt: skip
"""Parameters for a target that was never tuned; each lies within the paper's ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How one algorithm is fitted for one device and metric.

    Attributes:
        algorithm: a name of `NAMES`.
        params: of the algorithm; for `physical` those of `tune_physical`, or none to tune it when fitting.
        selected: names of the paper's features; all where None.
    """

    algorithm: str
    params: Mapping[str, Any]
    selected: tuple[str, ...] | None = None

    def fit(self, training: Training) -> FittedAlgorithm | PhysicalRows:
        """A surrogate of the training rows."""
        if self.algorithm != PHYSICAL:
            return fit_algorithm(self.algorithm, training, self.params, selected=self.selected, seed=SEED)
        hyper = dict(self.params) or tune_physical(training)
        return PhysicalRows(surrogate=physical.fit(training, hyper), columns=self._columns(training, hyper))

    def _columns(self, training: Training, hyper: physical.Hyper) -> RowSurrogate | None:
        """For rows without a graph; for power a forest joins in, as held-out training rows advise."""
        columns = fit_columns(training, hyper)
        if columns is None or training.metric != "power_mw":
            return columns
        forest = configuration("rf", training.rows.device, training.metric)
        return GeometricMean(parts=(columns, forest.fit(training)))

    def settled(self, training: Training) -> Configuration:
        """The configuration with everything tuned on `training` that was left open."""
        if self.algorithm != PHYSICAL or self.params:
            return self
        return replace(self, params=tune_physical(training))


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricMean:
    """What several surrogates predict, averaged in logarithms."""

    parts: tuple[RowSurrogate, ...]

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) in the metric's unit."""
        return np.asarray(np.exp(np.mean([np.log(part.predict_rows(rows)) for part in self.parts], axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalRows:
    """The physical surrogate for rows with a graph, the one on published columns for the others.

    Attributes:
        surrogate: from features.
        columns: from published columns; None where no training row lacks a graph.
    """

    surrogate: physical.Surrogate
    columns: RowSurrogate | None

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) in the metric's unit; NaN where neither graph nor columns are known."""
        predicted = np.full(len(rows), np.nan)
        graph = rows.has_graph
        predicted[graph] = self.surrogate.predict(rows.features[graph])
        if self.columns is not None and not graph.all():
            predicted[~graph] = self.columns.predict_rows(rows.take(~graph))
        return predicted


def configuration(name: str, device: str, metric: str) -> Configuration:
    """The stored configuration, or the default where the device and metric were never tuned.

    Args:
        name: an algorithm, or `best` for the one that is shipped.
        device: name.
        metric: name.

    Raises:
        InvalidInput: there is no such algorithm.
    """
    stored = _stored().get(f"{device}/{metric}", {})
    if name == BEST:
        name = stored.get(BEST, PHYSICAL)
    if name != PHYSICAL:
        algorithm(name)
    found = stored.get("algorithms", {}).get(name)
    if found is None:
        return Configuration(algorithm=name, params=DEFAULTS.get(name, {}))
    selected = found.get("selected")
    return Configuration(algorithm=name, params=found["params"], selected=tuple(selected) if selected else None)


def tune_physical(training: Training) -> physical.Hyper:
    """Hyper-parameters of the physical surrogate and of the one for rows without a graph."""
    return physical.tune(training, seed=SEED) | tune_columns(training, seed=SEED)


@lru_cache(maxsize=1)
def _stored() -> dict[str, Any]:
    path = resources.files("edgeperf").joinpath("pretrained", "tuned.json")
    if not path.is_file():
        return {}
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored
