from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from edgeperf.hardware import gpu
from edgeperf.layerwise.corrected import CorrectedTimes
from edgeperf.layerwise.fitting import latency_maker
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.quantities import quantities
from edgeperf.layerwise.roofline import roof_of, roofline_ms
from edgeperf.layerwise.validation import mape
from tests.layerwise.networks import ROOF, made_up_table, relu

ROOF_OF_GPU = roof_of("v100")


def test_operations_larger_than_any_measured_one_follow_the_sum_of_their_costs():
    table, spec = made_up_table(400), gpu("v100")
    found = quantities(table)
    arithmetic = (found["macs"] > 0) * found["operations"] / (0.5 * spec.sustained_gflops) / 1e6
    latency = np.asarray(0.004 + arithmetic + found["bytes"] / (0.3 * spec.memory_bandwidth_gb_s) / 1e6)
    small = latency < np.quantile(latency, 0.7)
    errors = [
        mape(latency[~small], maker().fit(table[small], latency[small]).predict(table[~small]))
        for maker in (
            latency_maker(ROOF_OF_GPU, seed=0),
            lambda: OneForAll(scale=partial(roofline_ms, roof=ROOF_OF_GPU), seed=0),
        )
    ]
    assert errors[0] < min(5, errors[1] / 2), errors


def test_the_roofline_stands_in_for_kinds_that_were_not_measured():
    table = made_up_table(120)
    weighted = table[table["kind"] == "Conv2D"].reset_index(drop=True)
    latency = 3 * roofline_ms(weighted, ROOF_OF_GPU)
    predictor = CorrectedTimes(roof=ROOF_OF_GPU, seed=0).fit(weighted, latency)
    unseen = operation_table([relu(28, 64), relu(56, 64)])
    ratio = predictor.predict(unseen) / roofline_ms(unseen, ROOF_OF_GPU)
    # What trees learned of convolutions, a factor of 3, is the most that they may carry over.
    assert (ratio > 0.5).all()
    assert (ratio < 3.5).all()


def test_few_operations_are_not_priced_but_corrected():
    table = made_up_table(200)
    few = table[table["kind"] == "Conv2D"].head(9).reset_index(drop=True)
    latency = 3 * roofline_ms(few, ROOF_OF_GPU)
    found = CorrectedTimes(roof=ROOF_OF_GPU, seed=0).fit(few, latency).predict(table[table["kind"] == "Conv2D"])
    assert found / roofline_ms(table[table["kind"] == "Conv2D"], ROOF_OF_GPU) == pytest.approx(3)


def test_devices_without_a_data_sheet_learn_the_ratio_to_the_roofline():
    assert isinstance(latency_maker(ROOF, seed=0)(), OneForAll)
    assert isinstance(latency_maker(ROOF_OF_GPU, seed=0)(), CorrectedTimes)
