"""Measured operations → predictors of time, power, energy or memory of operations that were not measured.

Every predictor is an `OperationPredictor`: fit on an operation table and one label per row, predict for another table.
Time scales with work over many orders of magnitude, so its predictors learn the ratio to the roofline (`scale`), where
that is known, and always its logarithm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.algorithms import predictions, regressor
from edgeperf.layerwise.quantities import Array, one_hot, quantity_matrix

if TYPE_CHECKING:
    import pandas as pd

Scale = Callable[["pd.DataFrame"], Array]
"""Operation table → what a label is divided by before a predictor learns it."""

_FEWEST_ROWS = 8


class OperationPredictor(Protocol):
    """Predicts one label of operations."""

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` are positive, one per row."""

    def predict(self, table: pd.DataFrame) -> Array:
        """One label per row."""


class OneForAll:
    """One model over all kinds: one-hot kinds, applicability flags, quantities.

    Args:
        algorithm: of `edgeperf.layerwise.algorithms`.
        scale: what labels are divided by; None for 1.
        extra: further numeric columns of the tables to read, e.g. ``"clock_mhz"`` or hardware figures.
        logarithm: whether the logarithm of the scaled label is learned; power, which spans little, needs none.
        outliers: share of training rows that an isolation forest removes first.
        seed: of all chance.

    Reference: Nicolai 2025; removal of outliers: Sponner et al. 2022, section 3.4.
    """

    def __init__(
        self,
        *,
        algorithm: str = "ert",
        scale: Scale | None = None,
        extra: tuple[str, ...] = (),
        logarithm: bool = True,
        outliers: float = 0.0,
        seed: int,
    ) -> None:
        self._algorithm, self._scale, self._extra, self._seed = algorithm, scale, extra, seed
        self._logarithm, self._outliers = logarithm, outliers
        self._kinds: tuple[str, ...] = ()
        self._model: Any = None

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """See `OperationPredictor.fit`."""
        self._kinds = tuple(sorted(table["kind"].unique()))
        matrix, target = self._matrix(table), labels / self._scales(table)
        target = np.log(target) if self._logarithm else target
        if self._outliers:
            keep = inliers(np.column_stack([matrix, target]), self._outliers, seed=self._seed)
            matrix, target = matrix[keep], target[keep]
        self._model = _fitted(self._algorithm, self._seed, matrix, target)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """See `OperationPredictor.predict`."""
        found = predictions(self._model, self._matrix(table))
        return (np.exp(found) if self._logarithm else found) * self._scales(table)

    def _scales(self, table: pd.DataFrame) -> Array:
        return np.ones(len(table)) if self._scale is None else self._scale(table)

    def _matrix(self, table: pd.DataFrame) -> Array:
        parts = [np.log1p(quantity_matrix(table)), one_hot(table, self._kinds)]
        if self._extra:
            parts.append(table[list(self._extra)].to_numpy(np.float64))
        return np.column_stack(parts).astype(np.float32)


class PerKind:
    """One model per kind of operation; for kinds that were not measured, the `OneForAll` of all others.

    Args:
        algorithms: which to try; the one with the least mean absolute percentage error in grouped validation wins.
        scale: see `OneForAll`.
        outliers: see `OneForAll`.
        seed: of all chance.

    Attributes:
        chosen: kind → algorithm, once fitted.

    Reference: Sponner et al. 2022, section 3.
    """

    def __init__(
        self,
        *,
        algorithms: tuple[str, ...] = ("ert", "xgboost", "knn", "tree", "linear", "mlp", "svr"),
        scale: Scale | None = None,
        outliers: float = 0.0,
        seed: int,
    ) -> None:
        self._algorithms, self._scale, self._outliers, self._seed = algorithms, scale, outliers, seed
        self.chosen: dict[str, str] = {}
        self._models: dict[str, OneForAll] = {}
        self._fallback = OneForAll(scale=scale, seed=seed)

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """See `OperationPredictor.fit`."""
        self._fallback.fit(table, labels)
        for kind in sorted(table["kind"].unique()):
            rows = (table["kind"] == kind).to_numpy()
            if rows.sum() < _FEWEST_ROWS:
                continue
            part, known = table[rows].reset_index(drop=True), labels[rows]
            self.chosen[kind] = self._best(part, known)
            self._models[kind] = self._one(self.chosen[kind]).fit(part, known)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """See `OperationPredictor.predict`."""
        found = np.empty(len(table))
        kinds = table["kind"].to_numpy()
        for kind in np.unique(kinds):
            rows = kinds == kind
            found[rows] = self._models.get(kind, self._fallback).predict(table[rows])
        return found

    def _one(self, algorithm: str) -> OneForAll:
        return OneForAll(algorithm=algorithm, scale=self._scale, outliers=self._outliers, seed=self._seed)

    def _best(self, table: pd.DataFrame, labels: Array) -> str:
        from edgeperf.layerwise.validation import configurations, cross_predict, mape

        if len(self._algorithms) == 1:
            return self._algorithms[0]
        groups = configurations(table)
        folds = min(5, len(np.unique(groups)))
        if folds < 2:
            return self._algorithms[0]
        errors = {
            name: mape(labels, cross_predict(partial(self._one, name), table, labels, groups, folds=folds))
            for name in self._algorithms
        }
        return min(errors, key=errors.__getitem__)


def inliers(matrix: Array, share: float, *, seed: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """True for the rows that an isolation forest keeps when it removes `share` of them.

    Raises:
        InvalidInput: the share is not between 0 and 0.5.
    """
    from sklearn.ensemble import IsolationForest

    if not 0 < share <= 0.5:
        raise InvalidInput(f"The share of outliers is {share}; expected more than 0 and at most 0.5.")
    verdict = IsolationForest(contamination=share, n_jobs=1, random_state=seed).fit_predict(matrix)
    return np.asarray(verdict == 1)


def _fitted(algorithm: str, seed: int, matrix: Array, target: Array) -> Any:
    """A fitted regressor; an MLP that stops at its last allowed step is good enough, and says nothing."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return regressor(algorithm, seed).fit(matrix, target)
