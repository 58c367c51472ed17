"""Random Keras models: every shape, every parameter and every multiply-accumulate as Keras has them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeperf.network import memory_plan, read_network
from edgeperf.network.memory import output_elements
from tests.network.keras_truth import inferred, kernel_macs, shapes_and_params, shapes_only
from tests.network.random_models import random_model

_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def _equals_keras(model) -> None:
    network = read_network(model)
    found, expected = inferred(network), shapes_and_params(model)
    assert {name: found.get(name) for name in expected} == expected
    assert sum(layer.params for layer in network.layers) == model.count_params()
    first_calls = [layer for layer in network.layers if layer.shares_weights_with is None]
    assert sum(layer.macs for layer in first_calls) == kernel_macs(model)


def _memory_suffices(model) -> None:
    network = read_network(model)
    plan = memory_plan(network)
    for layer in network.layers:
        taken = {name for name in layer.inputs if name != layer.name}
        sources = [other for other in network.layers if other.name in taken]
        needed = 4 * (sum(map(output_elements, sources)) + output_elements(layer))
        assert plan.peak_activation_bytes >= needed


@settings(max_examples=200, deadline=None, suppress_health_check=_CHECKS)
@given(data=st.data())
def test_equal_to_keras(data):
    with shapes_only():
        model = random_model(data.draw)
    _equals_keras(model)
    _memory_suffices(model)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=_CHECKS)
@given(data=st.data())
def test_equal_to_keras_at_length(data):
    with shapes_only():
        model = random_model(data.draw)
    _equals_keras(model)
