"""Objective values → the front: who is dominated, how much a front covers, where its knee lies.

All functions minimise; a maximised objective enters with its sign changed. Rows are points, columns are objectives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


def nondominated(points: Points) -> npt.NDArray[np.bool_]:
    """Mask of the rows that no other row beats; of equal rows the first stays.

    A row beats another where it is at most as large in every objective and smaller in one.

    >>> nondominated(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]])).tolist()
    [True, True, False, False]
    """
    keep = np.zeros(len(points), dtype=np.bool_)
    order = np.lexsort((np.arange(len(points)), *points.T[::-1]))
    kept = np.empty((0, points.shape[1]))
    for index in order:
        # In this order no later row can beat an earlier one, so a comparison with those kept is enough.
        if not (kept <= points[index]).all(axis=1).any():
            keep[index] = True
            kept = np.vstack((kept, points[index]))
    return keep


def hypervolume(points: Points, reference: Points) -> float:
    """Volume between the points and `reference`, of what the points dominate; 0 where none lies below it.

    Exact, by slicing along the last objective.

    Reference: Zitzler and Thiele 1998, the size of the space covered; slicing as in While et al. 2006, section III.

    >>> hypervolume(np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([1.0, 1.0]))
    0.75
    """
    inside = points[(points < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    inside = inside[nondominated(inside)]
    if points.shape[1] == 1:
        return float(reference[0] - inside[:, 0].min())
    if points.shape[1] == 2:
        return _area(inside, reference)
    order = np.argsort(inside[:, -1], kind="stable")
    levels = np.append(inside[order, -1], reference[-1])
    slices = (
        hypervolume(inside[order[: count + 1], :-1], reference[:-1]) * (levels[count + 1] - levels[count])
        for count in range(len(order))
    )
    return float(sum(slices))


def _area(front: Points, reference: Points) -> float:
    """`hypervolume` of a front in two objectives, all of it below `reference`."""
    front = front[np.argsort(front[:, 0])]
    ceilings = np.concatenate((reference[1:], front[:-1, 1]))
    return float(((reference[0] - front[:, 0]) * (ceilings - front[:, 1])).sum())


def scaled(points: Points, low: Points, high: Points) -> Points:
    """The points with `low` mapped to 0 and `high` to 1, per objective; an objective that does not vary becomes 0."""
    width = np.where(high > low, high - low, 1.0)
    result: Points = (points - low) / width
    return result


def knee(points: Points) -> int:
    """Index of the front point that lies farthest below the plane through the best of each objective.

    After scaling every objective to its range over the front, that is the point with the smallest sum.

    Reference: Das 1999, On characterizing the "knee" of the Pareto curve, with the plane of the scaled extremes.

    >>> knee(np.array([[0.0, 1.0], [0.2, 0.1], [1.0, 0.0]]))
    1
    """
    return int(np.argmin(scaled(points, points.min(axis=0), points.max(axis=0)).sum(axis=1)))


def attainment(fronts: Sequence[Points], grid: Points, share: float) -> Points:
    """For each first-objective value of `grid`, the second-objective value that `share` of the fronts reach.

    Infinite where fewer do. With `share` 0.5 this is the median attainment surface of repeated runs.

    Reference: Fonseca and Fleming 1996, On the performance assessment and comparison of stochastic multiobjective
    optimizers, section 3.
    """
    reached = np.array([[_best_second(front, value) for value in grid] for front in fronts])
    needed = max(1, int(np.ceil(share * len(fronts))))
    result: Points = np.sort(reached, axis=0)[needed - 1]
    return result


def _best_second(front: Points, first: float) -> float:
    """Smallest second objective among the points whose first is at most `first`."""
    within = front[front[:, 0] <= first, 1]
    return float(within.min()) if len(within) else float("inf")


def dominators(point: Points, front: Points) -> npt.NDArray[np.intp]:
    """Indices of the front's rows that beat `point`."""
    beaten = (front <= point).all(axis=1) & (front < point).any(axis=1)
    return np.flatnonzero(beaten)
