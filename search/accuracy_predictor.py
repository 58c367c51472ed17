"""Published ImageNet accuracies → accuracy of the variants in between, with how far it errs.

A Gaussian process on the log-odds of the top-1 accuracy. Its inputs are the logarithms of multiply-accumulates,
parameters, input size and number of convolutions. A trend and a smooth deviation are shared by all families; each
family has an offset and a smooth deviation of its own, because families were trained by different recipes. So the
effect of the input size, which only MobileNets were published over, reaches the others through what is shared.

Limits: it knows networks as their authors trained them, for ImageNet with 1000 classes. Depth variants are published
for a few families only. Leaving one row out leaves its neighbours in; leaving a family out is the harder, second
figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]

INPUTS = ("macs", "params", "input_height", "num_conv")
Z_90 = 1.6449
"""Half-width of a central 90 % interval of a normal distribution, in standard deviations."""

_START = np.log([1.0, 1.0, 1.0, 0.5, 0.3, 2.0, 0.3, 0.15, 1.0, 0.03])
_BOUNDS = [(np.log(0.02), np.log(20.0))] * 9 + [(np.log(0.01), np.log(0.3))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Mean absolute errors in percentage points of top-1, on networks that were left out of the fit.

    Attributes:
        leave_one_out: each published row predicted from all others.
        leave_family_out: each family predicted from the other families.
        rows: how many rows were left out in turn.
        families: how many families.
    """

    leave_one_out: float
    leave_family_out: float
    rows: int
    families: int

    def __str__(self) -> str:
        return (
            f"{self.leave_one_out:.1f} points mean absolute error, leaving each of {self.rows} published rows out; "
            f"{self.leave_family_out:.1f} points on a family that it has not seen"
        )


class AccuracyPredictor:
    """A fitted predictor."""

    def __init__(self, inputs: Array, families: Names, top1_percent: Array) -> None:
        """Fits by maximum marginal likelihood, which is deterministic.

        Args:
            inputs: logarithms of `INPUTS`, shape (rows, 4).
            families: name of each row's family, shape (rows,).
            top1_percent: in (0, 100), shape (rows,).
        """
        from scipy.optimize import minimize

        self._centre, self._spread = inputs.mean(axis=0), inputs.std(axis=0)
        self._inputs, self._families, self._top1 = self._scaled(inputs), families, top1_percent
        odds = _log_odds(top1_percent)
        self._mean = odds.mean()
        self._targets = odds - self._mean
        found = minimize(self._cost, _START, method="L-BFGS-B", bounds=_BOUNDS, options={"maxiter": 60})
        self._theta: Array = np.exp(found.x)
        self._inverse = np.linalg.inv(self._covariance(self._theta))
        self._weights = self._inverse @ self._targets

    def predict(self, inputs: Array, families: Names) -> tuple[Array, Array, Array]:
        """Top-1 in percent with the lower and upper end of its 90 % interval, each of shape (rows,)."""
        scaled = self._scaled(inputs)
        same = families[:, None] == self._families[None, :]
        across = _kernel(scaled, self._inputs, same, self._theta)
        middle = across @ self._weights + self._mean
        prior = _prior_variance(scaled, self._theta)
        variance = prior - np.einsum("ij,jk,ik->i", across, self._inverse, across, optimize=True)
        reach = Z_90 * np.sqrt(np.maximum(variance, 0) + self._theta[9] ** 2)
        return _percent(middle), _percent(middle - reach), _percent(middle + reach)

    def errors(self) -> Errors:
        """Errors on what was left out; the fit's few scale parameters are kept.

        Reference: Rasmussen and Williams 2006, section 5.4.2, equation 5.12.
        """
        alone = self._targets - self._weights / np.diag(self._inverse)
        together = np.empty_like(self._targets)
        for family in np.unique(self._families):
            rows = np.flatnonzero(self._families == family)
            block = self._inverse[np.ix_(rows, rows)]
            together[rows] = self._targets[rows] - np.linalg.solve(block, self._weights[rows])
        return Errors(
            leave_one_out=float(np.abs(_percent(alone + self._mean) - self._top1).mean()),
            leave_family_out=float(np.abs(_percent(together + self._mean) - self._top1).mean()),
            rows=len(self._top1),
            families=len(np.unique(self._families)),
        )

    def _scaled(self, inputs: Array) -> Array:
        scaled: Array = (inputs - self._centre) / self._spread
        return scaled

    def _covariance(self, theta: Array) -> Array:
        same = self._families[:, None] == self._families[None, :]
        covariance = _kernel(self._inputs, self._inputs, same, theta)
        noisy: Array = covariance + np.eye(len(covariance)) * theta[9] ** 2
        return noisy

    def _cost(self, log_theta: Array) -> float:
        """Negative log marginal likelihood without its constant; Rasmussen and Williams 2006, equation 2.30."""
        lower = np.linalg.cholesky(self._covariance(np.exp(log_theta)) + 1e-9 * np.eye(len(self._targets)))
        whitened = np.linalg.solve(lower, self._targets)
        return float(0.5 * whitened @ whitened + np.log(np.diag(lower)).sum())


def _kernel(left: Array, right: Array, same_family: npt.NDArray[Any], theta: Array) -> Array:
    """Covariance of two sets of rows.

    `theta` holds 4 trend slopes, the shared deviation and its length, the family offset, the family deviation and its
    length, and the noise.
    """
    trend = (left * theta[:4] ** 2) @ right.T
    squared = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)
    shared = theta[4] ** 2 * np.exp(-0.5 * squared / theta[5] ** 2)
    own = theta[6] ** 2 + theta[7] ** 2 * np.exp(-0.5 * squared / theta[8] ** 2)
    covariance: Array = trend + shared + same_family * own
    return covariance


def _prior_variance(rows: Array, theta: Array) -> Array:
    variance: Array = (rows**2) @ theta[:4] ** 2 + theta[4] ** 2 + theta[6] ** 2 + theta[7] ** 2
    return variance


def _log_odds(percent: Array) -> Array:
    odds: Array = np.log(percent / (100 - percent))
    return odds


def _percent(log_odds: Array) -> Array:
    percent: Array = 100 / (1 + np.exp(-log_odds))
    return percent
