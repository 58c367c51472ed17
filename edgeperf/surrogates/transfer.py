"""A surrogate of one board and few measurements of another → a surrogate of the other board.

The logarithm of the ratio between boards is a constant, a straight line in what the source knows of the network (shares
of its time by sort of work; for power, its latency and power), and a smooth function of where the network lies. All
three have priors, so that ten measurements are enough to move them and one hundred to shape them.

Reference:
    Rasmussen, Williams: "Gaussian Processes for Machine Learning", 2006, section 2.7 (explicit basis functions) and
    equation 5.12 (leave-one-out residuals).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeperf.network.graph_quantities import CONV_CLASSES, DEPTHWISE_CLASSES, QUANTITY_NAMES
from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.descriptors import descriptors, quantities
from edgeperf.surrogates.gaussian import GaussianProcess, matern
from edgeperf.surrogates.physical import AdditiveSurrogate, EnergySurrogate, PowerSurrogate, Surrogate

LINEAR_DEVIATION: Final = 0.3
"""Prior deviation of the slopes."""
SMOOTH_DEVIATION: Final = 0.3
NOISE_DEVIATION: Final = 0.03

_PLACES: Final = (0, 1, 2, 3, 4, 6, 7, 8, 9, 13, 14)
"""Descriptors that the smooth part looks at: sizes, and shares of the main sorts of work."""
_SPREAD: Final = np.array([2.0, 1.6, 1.4, 1.0, 1.0, 0.35, 0.35, 0.3, 0.1, 1.7, 1.2])
"""How far networks lie apart in them, about one standard deviation of the measured networks."""
_LENGTH: Final = 5.0
_LOG_SPREAD: Final = np.array([1.6, 0.9])
"""The same for the logarithms of latency and power."""
_LOG_LENGTH: Final = 4.0
_SORTS: Final = ("matrix", "weights", "launches", "depthwise", "passes", "small passes")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredSurrogate:
    """Another board's surrogate times the exponential of what differs between the boards.

    Attributes:
        source: of the other board.
        offset: constant part of the logarithm of the ratio.
        slopes: (basis,) of its straight line.
        smooth: its smooth part.
    """

    source: Surrogate
    offset: float
    slopes: Vector
    smooth: GaussianProcess

    def predict(self, features: Matrix) -> Vector:
        """(rows,) in the metric's unit."""
        line = self.offset + basis(self.source, features) @ self.slopes
        return self.source.predict(features) * np.exp(line + self.smooth.mean(place(self.source, features)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A transferred surrogate, and what it errs on each measurement when fitted without it.

    Attributes:
        surrogate: of the new board.
        left_out: (rows,) logarithms of measured over predicted.
    """

    surrogate: TransferredSurrogate
    left_out: Vector


def transfer(source: Surrogate, features: Matrix, values: Vector) -> Transfer:
    """Fits what differs between the boards.

    Args:
        source: a surrogate of the same metric for another board.
        features: (rows, features) of the networks that were measured on the new board.
        values: (rows,) what was measured.
    """
    ratio = np.log(values / source.predict(features))
    offset = float(ratio.mean())
    lines, where = basis(source, features), place(source, features)
    kernel = covariance(lines, where, lines, where) + NOISE_DEVIATION**2 * np.eye(len(values))
    inverse = np.linalg.inv(kernel)
    weights = inverse @ (ratio - offset)
    smooth = GaussianProcess(
        centre=np.zeros(where.shape[1]),
        spread=np.ones(where.shape[1]),
        points=where,
        weights=weights,
        amplitude=SMOOTH_DEVIATION**2,
    )
    slopes = LINEAR_DEVIATION**2 * lines.T @ weights
    surrogate = TransferredSurrogate(source=source, offset=offset, slopes=slopes, smooth=smooth)
    return Transfer(surrogate=surrogate, left_out=weights / np.diag(inverse))


def covariance(lines: Matrix, where: Matrix, other_lines: Matrix, other_where: Matrix) -> Matrix:
    """(rows, others) prior covariance of the logarithm of the ratio between boards, less its constant part."""
    return LINEAR_DEVIATION**2 * lines @ other_lines.T + SMOOTH_DEVIATION**2 * matern(where, other_where)


def basis(source: Surrogate, features: Matrix) -> Matrix:
    """(rows, basis) in which the ratio between boards is a straight line."""
    if isinstance(source, AdditiveSurrogate):
        return _time_shares(source, features)
    if isinstance(source, PowerSurrogate):
        return _log_costs(source, features)
    if isinstance(source, EnergySurrogate):
        return np.hstack([_time_shares(source.power.latency, features), _log_costs(source.power, features)])
    return np.log(source.predict(features))[:, None]


def place(source: Surrogate, features: Matrix) -> Matrix:
    """(rows, coordinates) of which the ratio between boards is a smooth function, in length scales."""
    if isinstance(source, PowerSurrogate):
        return np.asarray(_log_costs(source, features) / _LOG_LENGTH)
    return np.asarray(descriptors(features)[:, _PLACES] / _SPREAD / _LENGTH)


def _log_costs(source: PowerSurrogate, features: Matrix) -> Matrix:
    costs = np.column_stack([source.latency.predict(features), source.predict(features)])
    return np.asarray(np.log(costs) / _LOG_SPREAD)


def _time_shares(source: AdditiveSurrogate, features: Matrix) -> Matrix:
    """(rows, sorts) shares of the source's time by sort of work, by its prices."""
    times = quantities(features) * source.prices
    shares = times @ _SORT_OF_QUANTITY / np.maximum(times.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return np.asarray(shares - 1 / len(_SORTS))


def _sort(quantity: str) -> str:
    if quantity.startswith(DEPTHWISE_CLASSES):
        return "depthwise"
    if quantity.startswith(CONV_CLASSES):
        return "launches" if quantity.endswith("count") else "weights" if "weights" in quantity else "matrix"
    return "small passes" if quantity.endswith(("count", "calls", "floored")) else "passes"


_SORT_OF_QUANTITY: Final = np.array([[float(_sort(name) == sort) for sort in _SORTS] for name in QUANTITY_NAMES])
