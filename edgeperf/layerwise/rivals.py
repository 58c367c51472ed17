"""What layer models are judged against, behind the same interface: PALEO, template matching, the bare roofline.

The analytic ones (PALEO, roofline) need no measurement at all; given labels they may fit one factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from edgeperf.layerwise.quantities import Array, quantities, quantity_matrix
from edgeperf.layerwise.roofline import Roof, roofline_ms

if TYPE_CHECKING:
    import pandas as pd


class Paleo:
    """Time = reading inputs and weights + arithmetic at peak + writing outputs, in ms.

    Args:
        roof: peak and bandwidth.
        fitted: whether one factor (PALEO's percent of peak) is fitted, as the median ratio over training rows.

    Reference: Qi, Sparks, Talwalkar, Paleo: A Performance Model for Deep Neural Networks, ICLR 2017, equation 1.
    """

    def __init__(self, roof: Roof, *, fitted: bool) -> None:
        self._roof, self._fitted, self._factor = roof, fitted, 1.0

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """See `OperationPredictor.fit`."""
        if self._fitted:
            self._factor = float(np.median(labels / self._times(table)))
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """See `OperationPredictor.predict`."""
        return self._factor * self._times(table)

    def _times(self, table: pd.DataFrame) -> Array:
        found = quantities(table)
        return found["bytes"] / self._roof.bandwidth_gb_s / 1e6 + found["operations"] / self._roof.peak_gflops / 1e6


class Roofline:
    """Time = the roofline, or the roofline times the median ratio over training rows, in ms."""

    def __init__(self, roof: Roof, *, fitted: bool) -> None:
        self._roof, self._fitted, self._factor = roof, fitted, 1.0

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """See `OperationPredictor.fit`."""
        if self._fitted:
            self._factor = float(np.median(labels / roofline_ms(table, self._roof)))
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """See `OperationPredictor.predict`."""
        return self._factor * roofline_ms(table, self._roof)


class TemplateMatching:
    """The label of the closest measured operation of the same kind (of any kind, where there is none of its own).

    Distance is Euclidean over logarithms of quantities, each divided by its spread over the training rows.

    Reference: the baseline of Sponner et al. 2022, section 4.
    """

    def __init__(self) -> None:
        self._labels: Array = np.empty(0)
        self._kinds: np.ndarray[tuple[int], np.dtype[np.object_]] = np.empty(0, dtype=object)
        self._matrix: Array = np.empty((0, 0))
        self._spread: Array = np.empty(0)

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """See `OperationPredictor.fit`."""
        matrix = np.log1p(quantity_matrix(table))
        spread = matrix.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._matrix, self._labels, self._kinds = matrix / self._spread, labels, table["kind"].to_numpy(dtype=object)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """See `OperationPredictor.predict`."""
        matrix = np.log1p(quantity_matrix(table)) / self._spread
        return np.array([self._closest(row, kind) for row, kind in zip(matrix, table["kind"], strict=True)])

    def _closest(self, row: Array, kind: str) -> float:
        same = self._kinds == kind
        rows = np.flatnonzero(same) if same.any() else np.arange(len(self._labels))
        distances = ((self._matrix[rows] - row) ** 2).sum(axis=1)
        return float(self._labels[rows[distances.argmin()]])
