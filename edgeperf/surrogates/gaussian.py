"""Points with noisy values → a smooth function that returns to zero far from them: a Gaussian process.

The kernel is one ARD Matern 3/2 plus noise. SciPy is needed to fit, NumPy alone to predict. Hyper-parameters maximise
the posterior with a log-normal prior on the length scales; fitting again with known ones is one Cholesky factorisation.

Reference:
    Rasmussen, Williams: "Gaussian Processes for Machine Learning", 2006, equations 2.25, 4.17 and 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeperf.surrogates.arrays import Block, Matrix, Vector

_JITTER = 1e-6
"""Added to the diagonal, relative to the amplitude, so that repeated points do not make the kernel singular."""
_LOG_LENGTH_PRIOR = 1.0
"""Mean of the prior on log length scales, in standard deviations of the points; its own deviation is 1."""
_BOUNDS = (-14.0, 4.0)
_CHUNK = 512
"""Rows at a time, so that a block of the kernel stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProcess:
    """A fitted process.

    Attributes:
        centre: (dimensions,) mean of the points it was fitted on.
        spread: (dimensions,) their standard deviation times the length scale.
        points: (points, dimensions) standardised by the two.
        weights: (points,) so that the mean is kernel @ weights.
        amplitude: variance of the function.
    """

    centre: Vector
    spread: Vector
    points: Matrix
    weights: Vector
    amplitude: float

    def mean(self, points: Matrix) -> Vector:
        """(rows,) expected values at `points`, (rows, dimensions)."""
        # Single precision halves the time of large batches and moves predictions by less than 0.01 %.
        scaled = ((points - self.centre) / self.spread).astype(np.float32)
        known, weights = self.points.astype(np.float32), self.weights.astype(np.float32)
        chunks = [scaled[start : start + _CHUNK] for start in range(0, max(len(scaled), 1), _CHUNK)]
        return self.amplitude * np.concatenate([matern(c, known) @ weights for c in chunks]).astype(float)


def fit_process(points: Matrix, values: Vector, hyper: Vector) -> GaussianProcess:
    """The process through `values` (rows,) at `points` (rows, dimensions).

    Args:
        points: (rows, dimensions).
        values: (rows,), zero where nothing is known.
        hyper: logarithms of amplitude, length scales and noise variance, as `optimise` returns them.
    """
    from scipy.linalg import cho_factor, cho_solve

    centre, deviation = _standard(points)
    spread = deviation * np.exp(hyper[1:-1])
    scaled = (points - centre) / spread
    amplitude = float(np.exp(hyper[0]))
    kernel = amplitude * matern(scaled, scaled)
    kernel[np.diag_indices_from(kernel)] += np.exp(hyper[-1]) + _JITTER * amplitude
    weights = cho_solve(cho_factor(kernel, overwrite_a=True, check_finite=False), values)
    return GaussianProcess(centre=centre, spread=spread, points=scaled, weights=weights, amplitude=amplitude)


def optimise(points: Matrix, values: Vector, *, seed: int, rows: int = 700, iterations: int = 40) -> Vector:
    """Hyper-parameters with the highest posterior on at most `rows` rows drawn with `seed`.

    Returns:
        (dimensions + 2,) logarithms of amplitude, length scales (in standard deviations) and noise variance.
    """
    from scipy.optimize import minimize

    chosen = np.random.default_rng(seed).permutation(len(values))[:rows]
    centre, deviation = _standard(points)
    scaled, drawn = ((points - centre) / deviation)[chosen], values[chosen]
    variance = max(float(values.var()), 1e-8)
    start = np.r_[np.log(variance), np.full(points.shape[1], _LOG_LENGTH_PRIOR), np.log(variance / 20)]
    found = minimize(
        _negative_log_posterior, start, args=(scaled, drawn), jac=True, method="L-BFGS-B",
        bounds=[_BOUNDS] * len(start), options={"maxiter": iterations},
    )  # fmt: skip
    return np.asarray(found.x, dtype=float)


def matern(left: Block, right: Block) -> Block:
    """(left, right) Matern 3/2 correlations of points given in length scales."""
    distance = _distances(left, right)
    decay: Block = np.exp(-distance)
    distance += 1
    decay *= distance
    return decay


def _negative_log_posterior(hyper: Vector, points: Matrix, values: Vector) -> tuple[float, Vector]:
    """Its value and gradient in the logarithms."""
    from scipy.linalg import cho_factor, cho_solve

    scaled = points * np.exp(-hyper[1:-1])
    distance = _distances(scaled, scaled)
    decay = np.exp(-distance)
    amplitude, noise = np.exp(hyper[0]), np.exp(hyper[-1])
    signal = amplitude * (1 + distance) * decay
    factor = cho_factor(signal + (noise + _JITTER * amplitude) * np.eye(len(values)), lower=True, check_finite=False)
    inverse = cho_solve(factor, np.eye(len(values)))
    alpha = inverse @ values
    outer = 0.5 * (inverse - np.outer(alpha, alpha))
    slope = 3 * amplitude * outer * decay
    by_length = [np.sum(slope * (column[:, None] - column[None, :]) ** 2) for column in scaled.T]
    off_prior = hyper[1:-1] - _LOG_LENGTH_PRIOR
    value = 0.5 * values @ alpha + np.log(np.diag(factor[0])).sum() + 0.5 * off_prior @ off_prior
    gradient = np.r_[np.sum(outer * signal), np.asarray(by_length) + off_prior, noise * np.trace(outer)]
    return float(value), gradient


def _standard(points: Matrix) -> tuple[Vector, Vector]:
    deviation = points.std(axis=0)
    return points.mean(axis=0), np.where(deviation > 0, deviation, 1.0)


def _distances(left: Block, right: Block) -> Block:
    """(left, right) Euclidean distances times the square root of 3, which is how the kernel takes them."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    np.maximum(squares, 0, out=squares)
    squares *= 3
    root: Block = np.sqrt(squares, out=squares)
    return root
