"""Coverage of intervals, and what lies outside the measured range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.surrogates.configuration import Configuration
from edgeperf.surrogates.evaluation import distance, hold_out
from edgeperf.surrogates.intervals import Interval, calibrate, weighted_quantile
from edgeperf.surrogates.ranges import LIMIT, measured
from edgeperf.surrogates.rows import Corpus


def test_intervals_cover_new_models_and_sizes(prepared: Corpus) -> None:
    training = prepared.training("board-a", "latency_ms")
    chosen = Configuration(algorithm="physical", params={}).settled(training)
    interval = calibrate(hold_out(training, chosen))
    rows = prepared.rows("board-a", "latency_ms")
    test = rows.take(rows.split != "train")
    predicted = chosen.fit(training).predict_rows(test)
    half_width = interval.half_width(predicted, distance(training, test))
    covered = (np.abs(np.log(test.value / predicted)) <= half_width).mean()
    assert covered >= 0.8
    assert np.median(half_width) < 0.15


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=40), st.floats(0.05, 1))
def test_weighted_quantile_holds_at_least_its_level(values: list[float], level: float) -> None:
    array = np.array(values)
    quantile = weighted_quantile(array, np.ones(len(array)), level)
    assert (array <= quantile).mean() >= level - 1e-9
    smaller = array[array < quantile]
    if len(smaller):
        assert (array <= smaller.max()).mean() < level + 1e-9


def test_half_widths_grow_outside_the_range_alone() -> None:
    interval = Interval(base=0.05, step=0.0, near=0.0, far=0.1)
    distances = np.array([0.0, LIMIT, LIMIT + 1, 1e9, np.inf])
    widths = interval.half_width(np.ones(5), distances)
    assert widths[0] == widths[1] == pytest.approx(0.05)
    assert widths[2] == pytest.approx(0.15)
    assert widths[3] == widths[4]


def test_measured_networks_are_in_range_and_nearest_to_themselves(prepared: Corpus) -> None:
    rows = prepared.training("board-a", "latency_ms").rows
    networks = measured(rows.features, rows.network)
    near, place = networks.nearest(rows.features)
    assert (near < 0.05).all()  # single precision
    assert [networks.names[at] for at in place] == list(rows.network)
    assert networks.reasons(rows.features[:3]) == [None] * 3


def test_a_far_larger_network_is_flagged_with_the_size_that_is_beyond(prepared: Corpus) -> None:
    rows = prepared.training("board-a", "latency_ms").rows
    networks = measured(rows.features, rows.network)
    (reason,) = networks.reasons(rows.features[-1:] * 1000)
    assert reason is not None
    assert "times more" in reason


def test_a_family_of_other_layers_is_flagged_with_the_share_that_differs(prepared: Corpus) -> None:
    rows = prepared.training("board-a", "latency_ms").rows
    plain = rows.take(rows.family == "PlainNet")
    separable = rows.take((rows.family == "SepNet") & (rows.value < plain.value.max()))
    networks = measured(plain.features, plain.network)
    near, _ = networks.nearest(separable.features)
    assert (near > LIMIT).all()
    reasons = networks.reasons(separable.features)
    assert all(reason is not None for reason in reasons)
    assert any("no measured network is like it" in str(reason) for reason in reasons)
