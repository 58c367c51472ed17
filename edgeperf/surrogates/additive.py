"""Additive quantities of networks and their costs → non-negative prices, so that each layer pays its own share.

Prices are fitted on relative error: a network that takes 1 ms counts as much as one that takes 10 s.

Reference:
    Lawson, Hanson: "Solving Least Squares Problems", 1974, chapter 23 (non-negative least squares).
"""

from __future__ import annotations

import numpy as np

from edgeperf.network.graph_quantities import (
    DEPTHWISE_CLASSES,
    MATRIX_CLASSES,
    PASS_CLASSES,
    QUANTITY_NAMES,
    quantities_of,
)
from edgeperf.surrogates.arrays import Matrix, Vector

RIDGE = 1e-5
"""Pull of a price towards zero, relative to the mean share of its quantity where it occurs; settles quantities that go
together."""
OWN_RIDGE = 0.1
"""Pull of a class's own surcharge towards zero, so that a class that was hardly measured costs what its like cost; of
0.01, 0.03, 0.1 and 0.3 the one with the least error on held-out models of the training rows."""
_JITTER = 1e-9
_MOST_PAID = 0.9
"""Rows that known prices explain beyond this share tell nothing about the others."""


def _likes() -> Matrix:
    """(quantities, groups) 1 where a quantity belongs to a group: the same quantity in every class of one sort."""
    groups: list[list[float]] = []
    for classes in (MATRIX_CLASSES, DEPTHWISE_CLASSES, PASS_CLASSES):
        by_class = {name: quantities_of(name) for name in classes}
        for suffix in by_class[classes[0]]:
            names = {f"{name}_{suffix}" for name, suffixes in by_class.items() if suffix in suffixes}
            groups.append([float(name in names) for name in QUANTITY_NAMES])
    return np.array(groups).T


LIKES = _likes()


def fit_layer_prices(
    quantities: Matrix, values: Vector, *, extra: Matrix | None = None, known: Vector | None = None
) -> Vector:
    """Prices >= 0 per additive quantity, each the price of its like plus a surcharge of its own.

    Args:
        quantities: (rows, quantities) in the order of `QUANTITY_NAMES`.
        values: (rows,), positive costs.
        extra: (rows, more) further costs, priced by themselves.
        known: (quantities,) prices that are given, NaN where they are to be fitted; None: all are fitted.

    Returns:
        (quantities + more,) prices.
    """
    more = np.empty((len(values), 0)) if extra is None else extra
    given = np.full(quantities.shape[1], np.nan) if known is None else known
    free = np.isnan(given)
    paid = quantities @ np.nan_to_num(given)
    open_rows = paid < _MOST_PAID * values
    likes = LIKES[free]
    design = np.hstack([quantities[:, free], quantities[:, free] @ likes, more])[open_rows]
    own, shared = int(free.sum()), likes.shape[1]
    ridge = np.r_[np.full(own, OWN_RIDGE), np.full(shared + more.shape[1], RIDGE)]
    left = 1 - paid / values
    prices = fit_prices(design, values[open_rows], ridge=ridge, left=left[open_rows])
    result = np.nan_to_num(given)
    result[free] = prices[:own] + likes @ prices[own : own + shared]
    return np.concatenate([result, prices[own + shared :]])


def fit_prices(
    quantities: Matrix, values: Vector, *, ridge: float | Vector = RIDGE, left: Vector | None = None
) -> Vector:
    """Prices w >= 0 that minimise the mean of (quantities @ w / values - left)^2 plus the ridge.

    Args:
        quantities: (rows, quantities), non-negative.
        values: (rows,), positive costs.
        ridge: one for all prices, or one per price.
        left: (rows,) share of each cost that is to be explained; 1 where None.

    Returns:
        (quantities,) price per unit of each quantity, in the unit of `values`; 0 for quantities that no row has.
    """
    from scipy.optimize import nnls

    occurring = (quantities > 0).sum(axis=0)
    measured = occurring > 0
    # The mean over all rows would make a rare quantity look small, and leave its price to the few rows that have it.
    scale = np.where(measured, quantities.sum(axis=0) / np.maximum(1, occurring), 1.0)
    shares = quantities / scale / values[:, None]
    normal = shares.T @ shares
    normal += np.diag(np.broadcast_to(ridge, len(scale)) * len(values) * shares.mean() ** 2)
    normal += _JITTER * np.trace(normal) / len(scale) * np.eye(len(scale))
    root = np.linalg.cholesky(normal)
    wanted = np.ones(len(values)) if left is None else left
    target = np.linalg.solve(root, shares.T @ wanted)
    prices, _ = nnls(root.T, target, maxiter=200 * len(scale))
    return np.where(measured, prices / scale, 0.0)
