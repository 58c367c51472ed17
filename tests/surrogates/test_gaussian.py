"""The Gaussian process against closed forms and scikit-learn."""

from __future__ import annotations

import numpy as np
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from edgeperf.surrogates import gaussian


def _points(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(rows, 3)) * [1.0, 5.0, 0.2]
    return points, np.sin(points[:, 0]) + 0.1 * points[:, 1]


def test_the_mean_is_scikit_learns() -> None:
    points, values = _points()
    lengths, amplitude, noise = np.array([0.8, 1.5, 3.0]), 0.7, 0.05
    hyper = np.log(np.r_[amplitude, lengths, noise])
    ours = gaussian.fit_process(points, values, hyper)
    kernel = ConstantKernel(amplitude, "fixed") * Matern(lengths * points.std(axis=0), "fixed", nu=1.5)
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(points, values)
    elsewhere = points + 0.3
    np.testing.assert_allclose(ours.mean(elsewhere), theirs.predict(elsewhere), rtol=1e-4, atol=1e-5)


def test_the_gradient_is_the_slope_of_the_value() -> None:
    points, values = _points(25)
    hyper = np.array([0.2, 0.5, 1.2, 0.1, -2.0])
    error = check_grad(
        lambda h: gaussian._negative_log_posterior(h, points, values)[0],
        lambda h: gaussian._negative_log_posterior(h, points, values)[1],
        hyper,
    )
    assert error < 1e-3


def test_far_from_all_points_nothing_is_known() -> None:
    points, values = _points()
    process = gaussian.fit_process(points, values, gaussian.optimise(points, values, seed=0))
    np.testing.assert_allclose(process.mean(points[:2] + 1e4), 0, atol=1e-9)


def test_repeated_points_with_equal_values_are_no_trouble() -> None:
    points, values = _points()
    doubled = np.vstack([points, points])
    hyper = np.array([0.0, 1.0, 1.0, 1.0, -14.0])
    process = gaussian.fit_process(doubled, np.r_[values, values], hyper)
    np.testing.assert_allclose(process.mean(points), values, atol=0.05)


def test_no_rows_give_no_values() -> None:
    points, values = _points()
    process = gaussian.fit_process(points, values, np.array([0.0, 1.0, 1.0, 1.0, -4.0]))
    assert process.mean(np.empty((0, 3))).shape == (0,)
