"""Errors on held-out rows → 90 % prediction intervals by split conformal prediction.

An interval is [value / e^h, value x e^h]. Within the measured range h is one number, the conformal quantile of held-out
errors; outside it grows with the distance from the range. Both protocols, new models and new sizes, weigh the same, because
nobody knows which of the two a user will ask about.

Reference:
    Papadopoulos et al.: "Inductive Confidence Machines for Regression", ECML 2002; Tibshirani et al.: "Conformal Prediction Under Covariate Shift", NeurIPS 2019, equation 7 (weighted quantiles).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeperf.surrogates.arrays import Vector
from edgeperf.surrogates.ranges import LIMIT

if TYPE_CHECKING:
    from edgeperf.surrogates.validation import Held

LEVEL: Final = 0.9
_FARTHEST: Final = 2 * LIMIT
"""This far outside the range intervals grow no further; the network is flagged anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Half-widths in logarithms.

    Attributes:
        base: within the measured range.
        slope: added per unit of distance outside it.
    """

    base: float
    slope: float

    def half_width(self, distance: Vector) -> Vector:
        """(rows,) h, so that an interval is from value / e^h to value x e^h."""
        return self.base + self.slope * _beyond(distance)


def calibrate(held: Sequence[Held]) -> Interval:
    """The interval that covers `LEVEL` of the held-out rows, each protocol weighing the same."""
    errors = np.concatenate([np.abs(part.log_ratio) for part in held])
    beyond = _beyond(np.concatenate([part.distance for part in held]))
    weights = np.concatenate([np.full(len(part.distance), 1 / len(part.distance)) for part in held])
    near = beyond == 0 if (beyond == 0).any() else np.ones(len(errors), dtype=bool)
    base = weighted_quantile(errors[near], weights[near], _level(near.sum()))
    far = ~near & np.isfinite(beyond)
    if not far.any():
        return Interval(base=base, slope=base)
    growth = np.maximum(errors[far] - base, 0) / beyond[far]
    return Interval(base=base, slope=weighted_quantile(growth, weights[far], _level(far.sum())))


def weighted_quantile(values: Vector, weights: Vector, level: float) -> float:
    """The smallest value so that values up to it hold at least `level` of the weight.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5)
    2.0
    """
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order]) / weights.sum()
    place = min(int(np.searchsorted(cumulated, level - 1e-12)), len(values) - 1)
    return float(values[order][place])


def _level(rows: int) -> float:
    """The level that makes a quantile of `rows` held-out errors cover a further one."""
    return min(1.0, LEVEL * (1 + 1 / rows))


def _beyond(distance: Vector) -> Vector:
    """(rows,) how far outside the measured range, up to where intervals stop growing."""
    return np.clip(distance - LIMIT, 0, _FARTHEST)
