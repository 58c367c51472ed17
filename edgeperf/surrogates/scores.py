"""Measured and predicted values → how far they are apart, as the paper reports it.

Reference:
    Bouzidi et al. 2022, section 6.1: MAPE with 95 % intervals, Kendall's tau, Pearson's r.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr

from edgeperf.surrogates.arrays import Vector

_RESAMPLES = 1000
_CONFIDENCE = (2.5, 97.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well one algorithm predicts one split of one device and metric; errors in percent.

    Attributes:
        n: rows.
        mape: mean absolute percentage error.
        mape_low: lower end of its 95 % interval, by resampling rows.
        mape_high: upper end.
        kendall_tau: rank correlation; None where there are fewer than 3 rows or all are equal.
        pearson_r: linear correlation; None likewise.
        coverage90: percentage of labels inside their 90 % interval.
        width90: median width of the intervals, in percent of the prediction.
        mape_consistent: MAPE without rows whose published features contradict each other; None where all do.
        flagged: percentage of rows that lie outside the measured range.
        fit_seconds: wall time of one fit.
        predict_us: wall time of predicting one row among many.
    """

    device: str
    metric: str
    algorithm: str
    split: str
    n: int
    mape: float
    mape_low: float
    mape_high: float
    kendall_tau: float | None
    pearson_r: float | None
    coverage90: float
    width90: float
    mape_consistent: float | None
    flagged: float
    fit_seconds: float
    predict_us: float

    def to_dict(self) -> dict[str, Any]:
        """The score as a plain dictionary."""
        return asdict(self)


def percentage_errors(measured: Vector, predicted: Vector) -> Vector:
    """(rows,) absolute errors in percent of what was measured.

    >>> percentage_errors(np.array([2.0, 4.0]), np.array([1.0, 5.0])).tolist()
    [50.0, 25.0]
    """
    return np.asarray(100 * np.abs(predicted / measured - 1))


def mean_interval(errors: Vector, *, seed: int = 0) -> tuple[float, float]:
    """95 % percentile-bootstrap interval of the mean."""
    draws = np.random.default_rng(seed).integers(0, len(errors), size=(_RESAMPLES, len(errors)))
    low, high = np.percentile(errors[draws].mean(axis=1), _CONFIDENCE)
    return float(low), float(high)


def correlations(measured: Vector, predicted: Vector) -> tuple[float | None, float | None]:
    """Kendall's tau (b) and Pearson's r; None where they do not exist."""
    if len(measured) < 3 or np.ptp(measured) == 0 or np.ptp(predicted) == 0:
        return None, None
    return float(kendalltau(measured, predicted).statistic), float(pearsonr(measured, predicted).statistic)


def share(mask: NDArray[np.bool_]) -> float:
    """Percentage of true values."""
    return float(100 * mask.mean())
