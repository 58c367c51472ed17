"""Errors on held-out rows → 90 % prediction intervals by split conformal prediction.

An interval is [value / e^h, value x e^h]. Within the measured range h is one number, the conformal quantile of held-out
errors; for power it also counts the step in which a board's sensor reads, and the distance to the nearest measured
network, which its errors follow. Outside the range h grows with the distance. Both protocols, new models and new sizes,
weigh the same, because nobody knows which of the two a user will ask about.

Reference:
    Papadopoulos et al.: "Inductive Confidence Machines for Regression", ECML 2002. Tibshirani et al.: "Conformal
    Prediction Under Covariate Shift", NeurIPS 2019, equation 7 (weighted quantiles).
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
_LEAST: Final = 1e-6
_FARTHEST: Final = 2 * LIMIT
"""This far outside the range intervals grow no further; the network is flagged anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Half-widths in logarithms.

    Attributes:
        base: everywhere.
        step: added as a share of the value, in the metric's unit; 0 where labels have no coarse step.
        near: added per unit of distance within the measured range.
        far: added per unit of distance outside it.
    """

    base: float
    step: float
    near: float
    far: float

    def half_width(self, value: Vector, distance: Vector) -> Vector:
        """(rows,) h, so that an interval is from value / e^h to value x e^h."""
        within = self.base + self.step / value + self.near * np.minimum(distance, LIMIT)
        return within + self.far * _beyond(distance)


def calibrate(held: Sequence[Held]) -> Interval:
    """The interval that covers `LEVEL` of the held-out rows, each protocol weighing the same."""
    errors = np.concatenate([np.abs(part.log_ratio) for part in held])
    value = np.concatenate([part.predicted for part in held])
    distance = np.concatenate([part.distance for part in held])
    weights = np.concatenate([np.full(len(part.distance), 1 / len(part.distance)) for part in held])
    shape = _power_shape if held[0].rows.metric == "power_mw" else _flat_shape
    base, step, near = shape(errors, value, np.minimum(distance, LIMIT), weights)
    within = Interval(base=base, step=step, near=near, far=0.0).half_width(value, distance)
    quantile = weighted_quantile(errors / within, weights, _level(len(errors)))
    beyond = _beyond(distance)
    far = (beyond > 0) & np.isfinite(distance)
    growth = np.maximum(errors - quantile * within, 0)[far] / beyond[far]
    return Interval(
        base=base * quantile,
        step=step * quantile,
        near=near * quantile,
        far=weighted_quantile(growth, weights[far], _level(len(growth))) if len(growth) else base * quantile,
    )


def _flat_shape(_errors: Vector, _value: Vector, _distance: Vector, _weights: Vector) -> tuple[float, float, float]:
    return 1.0, 0.0, 0.0


def _power_shape(errors: Vector, value: Vector, distance: Vector, weights: Vector) -> tuple[float, float, float]:
    """Base, step and slope that the mean error follows, none of them negative."""
    from scipy.optimize import nnls

    root = np.sqrt(weights)
    terms = np.column_stack([np.ones(len(value)), 1 / value, distance])
    scale = terms.mean(axis=0)
    found, _ = nnls(terms / scale * root[:, None], errors * root)
    base, step, near = found / scale
    return float(base) + _LEAST, float(step), float(near)


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
