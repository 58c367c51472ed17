"""The physical surrogates against laws that are known."""

from __future__ import annotations

import numpy as np
import pytest

from edgeperf.network.graph_quantities import QUANTITY_NAMES
from edgeperf.surrogates import physical
from edgeperf.surrogates.additive import fit_layer_prices, fit_prices
from edgeperf.surrogates.configuration import Configuration
from edgeperf.surrogates.descriptors import column
from edgeperf.surrogates.rows import Corpus
from edgeperf.surrogates.scores import percentage_errors


def test_prices_are_recovered_where_the_quantities_tell_them_apart() -> None:
    rng = np.random.default_rng(1)
    quantities = rng.lognormal(size=(300, 4))
    prices = np.array([2.0, 0.0, 0.5, 7.0])
    found = fit_prices(quantities, quantities @ prices, ridge=1e-9)
    np.testing.assert_allclose(found, prices, atol=1e-3)


def test_prices_weigh_a_small_network_as_much_as_a_large_one() -> None:
    quantities = np.array([[1.0], [1e6]])
    values = np.array([1.0, 2e6])
    found = float(fit_prices(quantities, values, ridge=0.0)[0])
    # The minimum of (w - 1)^2 + (w / 2 - 1)^2; a fit on absolute errors would give 2.
    assert found == pytest.approx(1.2, rel=1e-4)


def test_prices_are_never_negative() -> None:
    rng = np.random.default_rng(2)
    quantities = rng.lognormal(size=(50, len(QUANTITY_NAMES)))
    values = np.maximum(quantities[:, 0] - 0.5 * quantities[:, 1], 0.1)
    assert (fit_layer_prices(quantities, values) >= 0).all()


def test_a_class_that_was_never_measured_costs_what_its_like_cost() -> None:
    rng = np.random.default_rng(3)
    measured, unseen = QUANTITY_NAMES.index("conv3_macs"), QUANTITY_NAMES.index("conv_small_macs")
    quantities = np.zeros((40, len(QUANTITY_NAMES)))
    quantities[:, measured] = rng.lognormal(size=40)
    prices = fit_layer_prices(quantities, 3 * quantities[:, measured])
    assert prices[measured] == pytest.approx(3.0, rel=0.02)
    assert prices[unseen] > 0.5 * prices[measured]


@pytest.mark.parametrize(
    ("metric", "most"), [("latency_ms", 3.0), ("power_mw", 3.0), ("energy_mj", 5.0), ("memory_mib", 3.0)]
)
def test_known_laws_are_learned(prepared: Corpus, metric: str, most: float) -> None:
    training = prepared.training("board-a", metric)
    surrogate = Configuration(algorithm="physical", params={}).fit(training)
    rows = prepared.rows("board-a", metric)
    test = rows.take(rows.split != "train")
    assert percentage_errors(test.value, surrogate.predict_rows(test)).mean() < most


def test_power_finds_the_hosts_overhead(prepared: Corpus) -> None:
    training = prepared.training("board-a", "power_mw")
    hyper = physical.tune(training, seed=0)
    per_inference, per_call = hyper["overhead"]
    assert (per_inference, per_call) == (5.0, 0.0)


def test_predictions_are_positive_far_away(prepared: Corpus) -> None:
    training = prepared.training("board-a", "latency_ms")
    surrogate = physical.fit(training, physical.tune(training, seed=0))
    rows = training.rows
    for factor in (1e-3, 1e3):
        predicted = surrogate.predict(rows.features * factor)
        assert np.isfinite(predicted).all()
        assert (predicted > 0).all()


def test_the_same_seed_gives_the_same_surrogate(prepared: Corpus) -> None:
    training = prepared.training("board-a", "latency_ms")
    first, second = (physical.tune(training, seed=4) for _ in range(2))
    assert first == second


def test_more_calls_of_the_same_work_never_cost_less(prepared: Corpus) -> None:
    training = prepared.training("board-a", "latency_ms")
    fitted = physical.fit(training, physical.tune(training, seed=0))
    assert isinstance(fitted, physical.AdditiveSurrogate)
    assert (fitted.prices >= 0).all()
    assert column(training.rows.features, "calls").min() > 0
