"""Objectives and constraints as users write them."""

import numpy as np
import pytest

from edgeperf.errors import InvalidInput
from search.objectives import constraints, objectives, quantity

ONE, BOTH = ["jetson-tx2"], ["jetson-nano", "jetson-tx2"]
COLUMNS = {
    "accuracy": np.array([70.0, 75.0]),
    "accuracy:low": np.array([68.0, 71.0]),
    "params": np.array([1e6, 2e6]),
    "latency_ms@jetson-nano": np.array([40.0, 90.0]),
    "latency_ms@jetson-tx2": np.array([50.0, 30.0]),
    "latency_ms@jetson-tx2:high": np.array([60.0, 36.0]),
}


def test_accuracy_is_maximised_and_costs_are_minimised():
    assert quantity("accuracy", ONE).minimised(COLUMNS).tolist() == [-70.0, -75.0]
    assert quantity("latency_ms", ONE).minimised(COLUMNS).tolist() == [50.0, 30.0]


def test_a_metric_of_several_devices_is_that_of_the_worst():
    assert quantity("latency_ms", BOTH).of(COLUMNS).tolist() == [50.0, 90.0]
    assert quantity("latency_ms@jetson-nano", BOTH).of(COLUMNS).tolist() == [40.0, 90.0]


def test_each_device_can_be_an_objective_of_its_own():
    texts = [part.text for part in objectives(["accuracy", "latency_ms"], BOTH, each_device=True)]
    assert texts == ["accuracy", "latency_ms@jetson-nano", "latency_ms@jetson-tx2"]


def test_an_end_of_the_interval_can_stand_for_the_value():
    assert quantity("latency_ms:high", ONE).of(COLUMNS).tolist() == [60.0, 36.0]
    assert quantity("accuracy:low", ONE).minimised(COLUMNS).tolist() == [-68.0, -71.0]


@pytest.mark.parametrize("text", ["latency_ms<=40", "latency_ms <= 40", " latency_ms<40.0", "latency_ms<=4e1"])
def test_bounds_are_read_with_or_without_spaces(text):
    (bound,) = constraints([text], ONE)
    assert bound.violation(COLUMNS).tolist() == [0.25, 0.0]


def test_a_lower_bound_is_missed_from_below():
    (bound,) = constraints(["accuracy>=72"], ONE)
    assert bound.violation(COLUMNS) == pytest.approx([2 / 72, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency_ms=30", "Cannot read the constraint"),
        ("latency_ms<=fast", "Cannot read the constraint"),
        ("latency_ms<=1.2.3", "is not a number"),
        ("speed<=30", "Known objectives: accuracy"),
        ("latency_ms@jetson-orin<=30", "not part of this search"),
    ],
)
def test_constraints_that_cannot_be_read_say_why(text, message):
    with pytest.raises(InvalidInput, match=message):
        constraints([text], ONE)


def test_contradicting_constraints_are_named():
    with pytest.raises(InvalidInput, match=r"accuracy>=80 and accuracy<=70 contradict"):
        constraints(["accuracy<=70", "accuracy>=80"], ONE)


@pytest.mark.parametrize(
    ("texts", "devices", "message"),
    [
        (["accuracy"], ONE, "at least two objectives"),
        (["accuracy", "accuracy"], ONE, "named twice"),
        (["accuracy", "energy_mj"], [], "needs a device"),
        (["accuracy", "energy_mj:middle"], ONE, "low or high"),
        (["accuracy", "params:high"], ONE, "low or high"),
        (["accuracy", "joules"], ONE, "Unknown objective"),
    ],
)
def test_objectives_that_do_not_exist_say_what_does(texts, devices, message):
    with pytest.raises(InvalidInput, match=message):
        objectives(texts, devices)
