"""Fronts, hypervolumes and knees against brute force and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from search.front import attainment, dominators, hypervolume, knee, nondominated, scaled

GRID = st.integers(0, 6).map(float)


SEVERAL = st.integers(2, 4)


def clouds(objectives=SEVERAL, most=25):
    return objectives.flatmap(lambda m: st.integers(1, most).flatmap(lambda n: arrays(float, (n, m), elements=GRID)))


def beats(a, b):
    return bool((a <= b).all() and (a < b).any())


@given(clouds())
def test_the_front_holds_exactly_what_nothing_beats_once(points):
    kept = nondominated(points)
    unbeaten = {tuple(p) for p in points if not any(beats(q, p) for q in points)}
    assert [tuple(p) for p in points[kept]] == list(dict.fromkeys(tuple(p) for p in points if tuple(p) in unbeaten))


@given(
    clouds(), st.lists(st.floats(0.1, 50), min_size=4, max_size=4), st.lists(st.floats(-5, 5), min_size=4, max_size=4)
)
def test_the_front_does_not_depend_on_the_objectives_scale(points, factors, shifts):
    m = points.shape[1]
    # Grid values stay apart under these factors, so that rounding cannot make two of them equal.
    moved = points * np.array(factors[:m]) + np.round(shifts[:m])
    assert (nondominated(moved) == nondominated(points)).all()


@given(clouds(most=12))
@settings(max_examples=60)
def test_the_hypervolume_is_the_number_of_unit_cells_covered(points):
    # On an integer grid the dominated volume below the reference is a number of whole cells.
    m, top = points.shape[1], 7
    cells = np.indices((top,) * m).reshape(m, -1).T
    covered = (points[None, :, :] <= cells[:, None, :]).all(axis=2).any(axis=1).sum()
    assert hypervolume(points, np.full(m, float(top))) == pytest.approx(covered)


def test_nothing_below_the_reference_covers_nothing():
    assert hypervolume(np.array([[2.0, 0.5]]), np.array([1.0, 1.0])) == 0.0


def test_one_objective_covers_a_length():
    assert hypervolume(np.array([[0.25], [0.5]]), np.array([1.0])) == 0.75


@given(clouds(objectives=st.just(2)), st.floats(0.1, 50), st.floats(0.1, 50))
def test_the_knee_does_not_depend_on_the_objectives_scale(points, a, b):
    front = points[nondominated(points)]
    low, high = front.min(axis=0), front.max(axis=0)
    sums = np.sort(scaled(front, low, high).sum(axis=1))
    if len(sums) > 1 and sums[1] - sums[0] < 1e-9:
        return  # a tie has no answer that rounding respects
    assert knee(front * np.array([a, b])) == knee(front)


def test_the_knee_of_a_bent_front_is_its_bend():
    front = np.array([[0.0, 10.0], [1.0, 2.0], [5.0, 1.0], [9.0, 0.0]])
    assert knee(front) == 1


def test_half_of_the_runs_attain_the_median_surface():
    runs = [np.array([[1.0, 3.0], [2.0, 1.0]]), np.array([[1.0, 2.0]]), np.array([[2.0, 5.0]])]
    assert attainment(runs, np.array([0.5, 1.0, 2.0]), 0.5).tolist() == [np.inf, 3.0, 2.0]
    assert attainment(runs, np.array([1.0, 2.0]), 1.0).tolist() == [np.inf, 5.0]


def test_a_point_is_beaten_by_what_is_no_worse_and_better_in_one():
    front = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]])
    assert dominators(np.array([1.0, 1.0]), front).tolist() == []
    assert dominators(np.array([2.0, 1.0]), front).tolist() == [1]
