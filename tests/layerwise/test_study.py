from __future__ import annotations

from functools import partial

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.roofline import roofline_ms
from edgeperf.layerwise.study import SizePoint, enough, size_study
from edgeperf.layerwise.validation import configurations
from tests.layerwise.networks import ROOF, made_up_table

MAKE = partial(OneForAll, algorithm="tree", scale=partial(roofline_ms, roof=ROOF), seed=0)


def test_more_operations_leave_less_error():
    table = made_up_table(400)
    labels, groups = table["latency_ms"].to_numpy(), configurations(table)
    points = size_study(MAKE, table, labels, groups, sizes=(4, 250), repeats=3, seed=0)
    assert [point.configurations for point in points] == [4, 250]
    assert points[1].mape < 0.5 * points[0].mape
    assert set(points[0].by_kind) == {"Conv2D", "relu"}


def test_sizes_that_leave_nothing_to_test_are_refused():
    table = made_up_table(40)
    with pytest.raises(InvalidInput, match="four fifths"):
        size_study(MAKE, table, table["latency_ms"].to_numpy(), configurations(table), sizes=(40,), repeats=1, seed=0)


def test_too_few_operations_to_hold_one_out_are_refused():
    table = made_up_table(4)
    with pytest.raises(InvalidInput, match="4 different operations; expected 5"):
        size_study(MAKE, table, table["latency_ms"].to_numpy(), configurations(table), sizes=(4,), repeats=1, seed=0)


def test_it_is_never_enough_while_doubling_pays():
    points = [SizePoint(configurations=n, mape=1000 / n, by_kind={}) for n in (50, 100, 200)]
    assert enough(points) is None
