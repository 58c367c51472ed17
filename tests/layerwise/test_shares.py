"""A whole-network prediction shared out over layers."""

from __future__ import annotations

import numpy as np
import pytest

from edgeperf.layerwise.shares import _layer_matrix, distributed
from edgeperf.surrogates.shipped import load
from tests.layerwise.networks import small_network

BOARDS = ("jetson-nano", "jetson-tx2", "jetson-agx-xavier")


@pytest.mark.parametrize("device", BOARDS)
def test_energy_priced_layer_by_layer_adds_up_to_latency_times_power(device: str) -> None:
    surrogates, network = load(device), small_network()
    latency, power = (surrogates.estimate(network, [metric])[0].value for metric in ("latency_ms", "power_mw"))
    matrix = _layer_matrix(network)
    times = matrix @ surrogates.trained["latency_ms"].surrogate.prices
    energies = surrogates.trained["energy_mj"].surrogate.power.layer_energies(matrix, times * latency / times.sum())
    # Both sides in uJ; what the Gaussian process corrects is left between them.
    assert energies.sum() == pytest.approx(latency * power, rel=0.25)


@pytest.mark.parametrize("device", BOARDS)
def test_a_layer_draws_no_less_than_the_board_at_rest(device: str) -> None:
    surrogates = load(device)
    table = distributed(small_network(), surrogates)
    rest_mw = surrogates.trained["power_mw"].surrogate.prices[-1]
    drawn = np.array([1e3 * layer.energy_mj / layer.latency_ms for layer in table.layers if layer.latency_ms])
    assert (drawn >= 0.7 * rest_mw).all()


@pytest.mark.parametrize("device", BOARDS)
def test_shares_add_up_to_the_prediction(device: str) -> None:
    surrogates = load(device)
    table = distributed(small_network(), surrogates)
    for metric in ("latency_ms", "energy_mj"):
        estimate = surrogates.estimate(small_network(), [metric])[0].value
        assert sum(getattr(layer, metric) for layer in table.layers) == pytest.approx(estimate)
