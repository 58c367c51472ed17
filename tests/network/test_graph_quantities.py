"""Additive quantities against counts by hand, and the law that they add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.network import FEATURE_NAMES, features
from edgeperf.network.builder import LayerNamespace
from edgeperf.network.graph_quantities import QUANTITY_NAMES, graph_quantities, layer_quantities
from edgeperf.records import Network


def _network(size: int = 32, filters: int = 16) -> Network:
    layers = LayerNamespace()
    x = start = layers.Input((size, size, 3))
    x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False, name="first")(x)
    x = layers.DepthwiseConv2D(5, padding="same", name="depthwise")(x)
    y = layers.Conv2D(filters, 1, activation="relu", name="pointwise")(x)
    x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Model(start, layers.Dense(10, name="dense")(x), name="net")


def _values(network: Network) -> dict[str, float]:
    return dict(zip(QUANTITY_NAMES, graph_quantities(network), strict=True))


def test_work_and_traffic_by_hand() -> None:
    values = _values(_network())
    assert values["first_macs"] == 16 * 16 * 16 * 9 * 3
    assert values["depthwise_macs"] == values["depthwise_macs_large"] == 16 * 16 * 16 * 25
    assert values["pointwise_macs"] == 16 * 16 * 16 * 16
    assert values["dense_macs"] == 160
    assert values["dense_bytes_weights"] == 160 * 4
    assert values["pointwise_bytes_in"] == values["pointwise_bytes_out"] == 16 * 16 * 16 * 4
    assert values["add_bytes"] == 3 * 16 * 16 * 16 * 4
    assert values["relu_bytes"] == 2 * 16 * 16 * 16 * 4
    assert values["bias_count"] == 3
    assert values["calls"] == 7


def test_tiles_and_waves_by_hand() -> None:
    values = _values(_network())
    # 256 pixels x 16 filters x 27 terms: two tiles of 128 x 128, in one wave of two or one of eight.
    assert values["first_tile128x128"] == 2 * 128 * 128 * 27
    assert values["first_wave2_128"] == 2 * 128 * 128 * 27
    assert values["first_wave8_128"] == 8 * 128 * 128 * 27
    assert values["first_roof30"] == max(values["first_macs"], 30 * (32 * 32 * 3 + 16**3 + 27 * 16) * 4)


@given(st.integers(8, 64), st.integers(1, 40))
def test_layers_add_up_to_the_network(size: int, filters: int) -> None:
    network = _network(size, filters)
    total: dict[str, float] = {}
    for layer in network.layers:
        for name, value in layer_quantities(layer).items():
            total[name] = total.get(name, 0) + value
    assert total == {name: value for name, value in _values(network).items() if value}


@given(st.integers(8, 64), st.integers(1, 40))
def test_quantised_work_is_never_less_than_the_work(size: int, filters: int) -> None:
    values = _values(_network(size, filters))
    for name in ("first", "pointwise"):
        for quantity, value in values.items():
            if quantity.startswith(name + "_") and ("tile" in quantity or "wave" in quantity or "roof" in quantity):
                assert value >= values[f"{name}_macs"]


def test_macs_of_all_classes_are_the_networks() -> None:
    network = _network()
    found = features(network).values
    assert sum(value for name, value in found.items() if name.endswith("_macs")) == found["macs"]


def test_a_separable_convolution_costs_what_its_two_parts_cost() -> None:
    def build(separable: bool) -> Network:
        layers = LayerNamespace()
        start = layers.Input((16, 16, 8))
        if separable:
            end = layers.SeparableConv2D(12, 3, padding="same", use_bias=False)(start)
        else:
            middle = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(start)
            end = layers.Conv2D(12, 1, use_bias=False)(middle)
        return layers.Model(start, end, name="n")

    one, two = _values(build(True)), _values(build(False))
    for name in QUANTITY_NAMES:
        if name != "calls":
            assert one[name] == pytest.approx(two[name]), name


def test_a_transposed_convolution_counts_the_macs_of_its_layer() -> None:
    layers = LayerNamespace()
    start = layers.Input((7, 7, 12))
    network = layers.Model(start, layers.Conv2DTranspose(5, 2, strides=2, use_bias=False)(start), name="n")
    assert _values(network)["pointwise_macs"] == features(network).values["macs"] == 7 * 7 * 12 * 5 * 4


def test_an_unknown_kind_is_a_launch_without_traffic() -> None:
    network = _network()
    odd = replace(network.layers[-2], kind="Something")
    assert layer_quantities(odd) == {"other_count": 1, "other_bytes_floored": 100_000, "calls": 1}


def test_they_are_the_last_features() -> None:
    assert FEATURE_NAMES[-len(QUANTITY_NAMES) :] == QUANTITY_NAMES
    values = list(features(_network()).values.values())
    np.testing.assert_array_equal(values[-len(QUANTITY_NAMES) :], graph_quantities(_network()))
