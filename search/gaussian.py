"""A few hundred rated candidates → a smooth guess at all others, with its doubt: Gaussian-process regression.

Targets are first drawn apart near their best values, where a front is decided: log of the distance to a point as far
below the best as the median is above it.

Reference: Rasmussen and Williams 2006, algorithm 2.1, and equation 4.17 for the Matern kernel of order 5/2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_LENGTHS = np.geomspace(1.5, 60.0, 9)
_NOISES = np.array([1e-4, 1e-3, 1e-2, 1e-1])
_SQRT5 = np.sqrt(5.0)
_JUDGED = 200


class SmoothGuess:
    """A fitted regression of one objective on descriptors."""

    def __init__(self, inputs: Array, values: Array) -> None:
        """Fits length and noise by maximum marginal likelihood over a grid, which is deterministic.

        Where there are many rows, the grid is judged on `_JUDGED` of them, spread evenly.

        Args:
            inputs: descriptors on one scale, shape (rows, descriptors).
            values: objective to minimise, shape (rows,).
        """
        from scipy.linalg import cho_solve

        self._inputs = inputs
        self._best = float(values.min())
        self._reach = max(float(np.median(values)) - self._best, 1e-9)
        drawn = np.log(values - self._best + self._reach)
        self._mean, self._spread = drawn.mean(), max(float(drawn.std()), 1e-9)
        targets = (drawn - self._mean) / self._spread
        distances = _distances(inputs, inputs)
        judged = np.unique(np.linspace(0, len(targets) - 1, min(_JUDGED, len(targets))).astype(int))
        part, of_part = distances[np.ix_(judged, judged)], targets[judged]
        grid = [(length, noise) for length in _LENGTHS for noise in _NOISES]
        self._length, noise = min(grid, key=lambda pair: _fit(part, of_part, *pair)[0])
        _, self._scale, self._lower = _fit(distances, targets, self._length, noise)
        self._weights: Array = cho_solve((self._lower, True), targets)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Middle and standard deviation on the drawn-apart scale; `undrawn` leads back."""
        from scipy.linalg import solve_triangular

        across = _matern(_distances(inputs, self._inputs), self._length)
        middle = across @ self._weights
        # Single precision is enough for a doubt, and twice as fast.
        lower, single = self._lower.astype(np.float32), across.T.astype(np.float32)
        explained = solve_triangular(lower, single, lower=True, overwrite_b=True, check_finite=False)
        variance = self._scale * np.maximum(1.0 - (explained**2).sum(axis=0), 1e-12)
        return middle * self._spread + self._mean, np.sqrt(variance) * self._spread

    def undrawn(self, drawn: Array) -> Array:
        """Values of the objective from values on the drawn-apart scale."""
        values: Array = np.exp(drawn) - self._reach + self._best
        return values


def _fit(distances: Array, targets: Array, length: float, noise: float) -> tuple[float, float, Array]:
    """Negative log likelihood with the scale that is best in closed form; that scale; the Cholesky factor."""
    noisy: Array = _matern(distances, length) + noise * np.eye(len(targets))
    lower: Array = np.linalg.cholesky(noisy).astype(np.float64, copy=False)
    whitened = np.linalg.solve(lower, targets)
    scale = max(float(whitened @ whitened) / len(targets), 1e-12)
    cost = float(np.log(np.diag(lower)).sum() + 0.5 * len(targets) * np.log(scale))
    return cost, scale, lower


def _distances(left: Array, right: Array) -> Array:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2.0 * left @ right.T
    distances: Array = np.sqrt(np.maximum(squares, 0.0))
    return distances


def _matern(distances: Array, length: float) -> Array:
    scaled = _SQRT5 * distances / length
    kernel: Array = (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
    return kernel
