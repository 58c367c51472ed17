"""Operations measured on some GPUs → their time on a GPU that was not measured, from its data sheet.

`PhysicalTimes` holds on any GPU. What it misses is learned twice, as a logarithm: by gradient-boosted trees from how an
operation falls onto the GPU, and from the most similar operations, which on another GPU often meet the same kernel.
Part of what they learn is the measured GPUs' own, so each counts by a strength from 0 to 1: those two strengths, at
most 1 together, with which the measured GPUs are predicted best when each is left out in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from edgeperf.layerwise.hardware_features import RELATIVE
from edgeperf.layerwise.physical import SHARES, PhysicalTimes, parts, physical_ms, with_shares
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.quantities import Array, quantity_matrix

if TYPE_CHECKING:
    import pandas as pd

Strengths = tuple[float, float]
"""Exponents of the two corrections: trees, similar operations."""

UNCHOSEN: Final[Strengths] = (0.5, 0.0)
"""With fewer than three measured GPUs, which are too few to choose by."""

_STEPS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHAPE: Final = (
    *("rows", "columns", "depth", "batch_size", "in_height", "in_channels", "out_channels"),
    *("kernel_height", "stride", "pad_height", "input_elements", "operations"),
)
_NEIGHBOURS: Final = 12


class AcrossGpus:
    """`PhysicalTimes` with learned corrections; tables need the columns of `with_hardware`, `device` and `phase`.

    Args:
        extra: further numeric columns for the corrections.
        strengths: of the corrections; None to choose them by leaving measured GPUs out.
        seed: of all chance.

    Attributes:
        chosen: the strengths in use, once fitted.
    """

    def __init__(self, *, extra: tuple[str, ...] = (), strengths: Strengths | None = None, seed: int) -> None:
        self._extra, self._strengths, self._seed = extra, strengths, seed
        self.chosen: Strengths = strengths or UNCHOSEN
        self._learned = _Corrections(extra, seed)

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        if self._strengths is None and table["device"].nunique() > 2:
            self.chosen = self._choose(table, labels)
        self._learned.fit(table, labels)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """Ms per row."""
        return _combined(self._learned.predict(table), self.chosen)

    def _choose(self, table: pd.DataFrame, labels: Array) -> Strengths:
        errors: dict[Strengths, float] = {(a, b): 0.0 for a in _STEPS for b in _STEPS if a + b <= 1}
        devices = table["device"].to_numpy()
        for device in np.unique(devices):
            here = devices == device
            predicted = _Corrections(self._extra, self._seed).fit(table[~here], labels[~here]).predict(table[here])
            for strengths in errors:
                errors[strengths] += float(np.abs(_combined(predicted, strengths) / labels[here] - 1).mean())
        return min(errors, key=errors.__getitem__)


class _Corrections:
    """The physical time and both corrections, apart."""

    def __init__(self, extra: tuple[str, ...], seed: int) -> None:
        self._extra, self._physical = extra, PhysicalTimes()
        columns = (*RELATIVE, *SHARES, *extra)
        self._trees = OneForAll(algorithm="xgboost", scale=physical_ms, extra=columns, seed=seed)
        self._similar: dict[tuple[str, str], Any] = {}

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        from sklearn.neighbors import KNeighborsRegressor

        self._physical.fit(table, labels)
        known = self._with_shares(table)
        self._trees.fit(known, labels)
        missed = np.log(labels / physical_ms(known))
        shapes = self._shapes(table)
        for key, rows in parts(table).items():
            nearest = KNeighborsRegressor(n_neighbors=min(_NEIGHBOURS, len(rows)), weights=_nearness)
            self._similar[key] = nearest.fit(shapes[rows], missed[rows])
        return self

    def predict(self, table: pd.DataFrame) -> tuple[Array, Array, Array]:
        """Physical ms, and the logarithm of each correction."""
        known = self._with_shares(table)
        physical, shapes, similar = physical_ms(known), self._shapes(table), np.empty(len(table))
        for key, rows in parts(table).items():
            similar[rows] = self._similar[key].predict(shapes[rows])
        return physical, np.log(self._trees.predict(known) / physical), similar

    def _with_shares(self, table: pd.DataFrame) -> pd.DataFrame:
        return with_shares(table, self._physical.predict(table))

    def _shapes(self, table: pd.DataFrame) -> Array:
        return np.column_stack(
            [np.log1p(quantity_matrix(table, _SHAPE)), table[list(self._extra)].to_numpy(np.float64)]
        )


def _combined(predicted: tuple[Array, Array, Array], strengths: Strengths) -> Array:
    physical, trees, similar = predicted
    found: Array = physical * np.exp(strengths[0] * trees + strengths[1] * similar)
    return found


def _nearness(distances: Array) -> Array:
    """Weights by distance in logarithms of sizes; an equal operation counts as one 5 % away in one of them."""
    found: Array = (distances + 0.05) ** -2
    return found
