"""The surrogates in the package, as a user and a search call them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgeperf
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.network import FEATURE_NAMES, features
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Features, Network
from edgeperf.surrogates import devices, load
from edgeperf.units import METRICS

JETSONS = ("jetson-agx-xavier", "jetson-nano", "jetson-tx2")


def _vgg_like(size: int = 224, width: int = 64, depth: int = 8, name: str = "net") -> Network:
    layers = LayerNamespace()
    x = start = layers.Input((size, size, 3))
    for place in range(depth):
        x = layers.Conv2D(width * 2 ** (place // 2), 3, strides=2 if place % 2 else 1, padding="same", use_bias=False)(
            x
        )
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Model(start, layers.Dense(1000)(x), name=name)


def test_all_jetsons_have_all_metrics() -> None:
    assert set(JETSONS) <= set(devices())
    for device in JETSONS:
        assert tuple(load(device).trained) == tuple(METRICS)


def test_together_they_are_small() -> None:
    folder = Path(edgeperf.__file__).parent / "pretrained"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 10_000_000
    for path in folder.glob("*.edgeperf"):
        card = path.with_suffix(".md").read_text()
        assert "mean absolute error" in card
        assert "SHA-256" in card


@pytest.mark.parametrize("device", JETSONS)
def test_an_estimate_lies_in_its_interval_and_carries_its_unit(device: str) -> None:
    estimates = edgeperf.predict(_vgg_like(), device=device)
    assert [estimate.metric for estimate in estimates] == list(METRICS)
    for estimate in estimates:
        assert 0 < estimate.low < estimate.value < estimate.high
        assert estimate.unit == METRICS[estimate.metric].unit
        assert (estimate.out_of_range_reason is None) == estimate.in_range


def test_energy_is_about_latency_times_power() -> None:
    by_metric = {e.metric: e.value for e in edgeperf.predict(_vgg_like(), device="jetson-tx2")}
    assert by_metric["energy_mj"] == pytest.approx(by_metric["latency_ms"] * by_metric["power_mw"] / 1000, rel=0.25)


def test_a_larger_image_and_a_slower_board_take_longer() -> None:
    latency = {
        (device, size): edgeperf.predict(_vgg_like(size), device=device, metrics=["latency_ms"])[0].value
        for device in JETSONS
        for size in (112, 224)
    }
    for device in JETSONS:
        assert latency[device, 112] < latency[device, 224]
    for size in (112, 224):
        assert latency["jetson-agx-xavier", size] < latency["jetson-tx2", size] < latency["jetson-nano", size]


def test_a_batch_gives_what_single_calls_give() -> None:
    networks = [_vgg_like(size, width) for size in (96, 128) for width in (16, 48)]
    surrogates = load("jetson-nano")
    batch = surrogates.predict_batch([features(network) for network in networks])
    for place, network in enumerate(networks):
        for estimate in surrogates.estimate(network):
            prediction = batch[estimate.metric]
            assert prediction.value[place] == pytest.approx(estimate.value, rel=1e-4)
            assert prediction.low[place] == pytest.approx(estimate.low, rel=1e-4)
            assert prediction.in_range[place] == estimate.in_range
            assert prediction.reasons()[place] == estimate.out_of_range_reason


def test_an_array_is_as_good_as_features() -> None:
    row = features(_vgg_like())
    array = np.array([[row.values[name] for name in FEATURE_NAMES]])
    surrogates = load("jetson-tx2")
    assert surrogates.predict_batch(array)["power_mw"].value == surrogates.predict_batch([row])["power_mw"].value


def test_a_network_unlike_all_is_flagged_with_a_reason() -> None:
    (estimate,) = edgeperf.predict(_vgg_like(2048, 256, 12), device="jetson-nano", metrics=["latency_ms"])
    assert not estimate.in_range
    assert estimate.out_of_range_reason is not None
    assert "measured network" in estimate.out_of_range_reason


def test_wrong_input_is_named() -> None:
    network = _vgg_like(64)
    with pytest.raises(InvalidInput, match=r"device 'jetson-orin'.*jetson-tx2.*adapt"):
        edgeperf.predict(network, device="jetson-orin")
    with pytest.raises(InvalidInput, match="Unknown metric 'speed'"):
        edgeperf.predict(network, device="jetson-tx2", metrics=["speed"])
    row = features(network)
    old = Features(network="old", schema=row.schema + 1, values=row.values)
    with pytest.raises(IncompatibleData, match="schema is"):
        load("jetson-tx2").predict_batch([old])
    broken = np.full((2, len(FEATURE_NAMES)), np.nan)
    with pytest.raises(InvalidInput, match="not all numbers"):
        load("jetson-tx2").predict_batch(broken)
    with pytest.raises(IncompatibleData, match="expected"):
        load("jetson-tx2").predict_batch(np.zeros((2, 3)))


def test_no_networks_give_no_predictions() -> None:
    empty = load("jetson-tx2").predict_batch([])
    assert all(len(prediction.value) == 0 for prediction in empty.values())


def test_predicting_loads_neither_tensorflow_nor_what_only_training_needs() -> None:
    code = (
        "import sys, edgeperf.surrogates as s; s.load('jetson-tx2');"
        "print([m for m in ('tensorflow', 'keras', 'sklearn', 'xgboost', 'optuna', 'pandas', 'skops', 'scipy')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
