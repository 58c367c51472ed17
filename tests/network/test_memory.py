"""The memory plan against a simulation that allocates and frees tensors one call at a time."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.network import memory_plan
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network


def _simulated_peak(network: Network) -> int:
    """Runs the network on a heap: a tensor is freed when nobody waits for it any more."""
    waiting = Counter(name for layer in network.layers for name in layer.inputs)
    waiting.update(network.outputs)
    sizes = {layer.name: 4 * math.prod(layer.output_shape) for layer in network.layers}
    heap = {layer.name for layer in network.layers if layer.kind == "InputLayer"}
    peak = 0
    for layer in network.layers:
        heap.add(layer.name)
        peak = max(peak, sum(sizes[name] for name in heap))
        waiting.subtract(layer.inputs)
        heap -= {name for name in heap if not waiting[name]}
    return peak


@st.composite
def graphs(draw):
    """Random graphs of a few kinds with branches; inputs may stay unused and may come late."""
    layers = LayerNamespace()
    side = draw(st.integers(2, 6))
    tensors = [layers.Input((side, side, draw(st.integers(1, 5)))) for _ in range(draw(st.integers(1, 3)))]
    inputs = list(tensors)
    for _ in range(draw(st.integers(1, 12))):
        source = draw(st.sampled_from(tensors))
        made = draw(st.sampled_from(["conv", "relu", "concat"]))
        if made == "conv":
            tensors.append(layers.Conv2D(draw(st.integers(1, 9)), 1)(source))
        elif made == "relu":
            tensors.append(layers.ReLU()(source))
        else:
            tensors.append(layers.Concatenate()([source, draw(st.sampled_from(tensors))]))
    outputs = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=3))
    return layers.Model(inputs, outputs)


@given(graphs())
def test_peak_equals_a_simulated_execution(network):
    assert memory_plan(network).peak_activation_bytes == _simulated_peak(network)


@given(graphs())
def test_peak_is_at_least_every_layers_inputs_and_output(network):
    sizes = {layer.name: 4 * math.prod(layer.output_shape) for layer in network.layers}
    largest = max(sum(sizes[name] for name in {*layer.inputs, layer.name}) for layer in network.layers)
    assert memory_plan(network).peak_activation_bytes >= largest


@given(graphs(), st.integers(1, 64))
def test_activations_scale_with_the_batch_and_weights_do_not(network, batch):
    one, many = memory_plan(network), memory_plan(network, batch_size=batch)
    assert many.peak_activation_bytes == batch * one.peak_activation_bytes
    assert many.weight_bytes == one.weight_bytes
    half = memory_plan(network, precision="float16")
    assert 2 * half.total_bytes == one.total_bytes


def test_a_chain_by_hand():
    """Input 4·4·3, convolution 4·4·8, pooling 2·2·8: the convolution holds the first two at once."""
    layers = LayerNamespace()
    image = layers.Input((4, 4, 3))
    hidden = layers.Conv2D(8, 1, name="conv")(image)
    plan = memory_plan(layers.Model(image, layers.MaxPooling2D(2)(hidden)))
    assert plan.live_bytes == (4 * 48, 4 * (48 + 128), 4 * (128 + 32))
    assert (plan.peak_activation_bytes, plan.peak_layer) == (4 * 176, "conv")
    assert plan.weight_bytes == 4 * (3 * 8 + 8)
    assert plan.two_largest_bytes == 4 * (128 + 48)
    assert plan.twice_mean_bytes == pytest.approx(2 * 4 * (48 + 128 + 32) / 3)


@pytest.mark.parametrize("arguments", [{"precision": "int3"}, {"batch_size": 0}])
def test_impossible_requests_are_refused(arguments):
    layers = LayerNamespace()
    image = layers.Input((4, 4, 3))
    with pytest.raises(InvalidInput):
        memory_plan(layers.Model(image, layers.ReLU()(image)), **arguments)
