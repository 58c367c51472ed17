from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.crossing import AcrossGpus
from edgeperf.layerwise.hardware_features import HARDWARE, own_roofline, with_hardware
from edgeperf.layerwise.physical import PhysicalTimes
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.quantities import Array, quantities
from edgeperf.layerwise.validation import mape
from tests.layerwise.networks import made_up_table

DEVICES = ("p4", "p100", "v100", "a100-80gb")


def on_gpus(devices: tuple[str, ...] = DEVICES, rows: int = 200) -> pd.DataFrame:
    """Every operation on every GPU, at 60 % of its sustained peak, 80 % of its bandwidth, and 5 us."""
    parts = []
    for device in devices:
        part = made_up_table(rows).assign(device=device, phase="inference")
        found, spec = quantities(part), gpu(device)
        arithmetic = (found["macs"] > 0) * found["operations"] / (0.6 * spec.sustained_gflops) / 1e6
        part["latency_ms"] = 0.005 + arithmetic + found["bytes"] / (0.8 * spec.memory_bandwidth_gb_s) / 1e6
        parts.append(part)
    return with_hardware(pd.concat(parts, ignore_index=True))


def split(table: pd.DataFrame, left_out: str) -> tuple[pd.DataFrame, Array, pd.DataFrame, Array]:
    """Rows and labels of the other GPUs, then of the one that is left out."""
    labels, here = table["latency_ms"].to_numpy(), (table["device"] == left_out).to_numpy()
    return table[~here], labels[~here], table[here], labels[here]


@pytest.mark.parametrize("left_out", DEVICES)
def test_a_gpu_that_follows_its_data_sheet_is_predicted_from_the_others(left_out: str):
    known, times, new, measured = split(on_gpus(), left_out)
    assert mape(measured, PhysicalTimes().fit(known, times).predict(new)) < 2
    corrected = AcrossGpus(seed=0).fit(known, times).predict(new)
    plain = OneForAll(algorithm="rf", seed=0).fit(known, times).predict(new)
    assert mape(measured, corrected) < 3 < mape(measured, plain)


def test_short_calls_take_the_launch_and_long_ones_do_not_add_it():
    table = on_gpus()
    table["latency_ms"] = np.maximum(0.03, table["latency_ms"])
    known, times, new, measured = split(table, "v100")
    assert 0.2 < (measured == 0.03).mean() < 0.95
    assert mape(measured, PhysicalTimes().fit(known, times).predict(new)) < 3


def test_traffic_through_load_store_units_is_told_from_traffic_to_memory():
    # P100 has much memory bandwidth and half the load/store units: the one must not pay for the other.
    table = on_gpus()
    specs = [gpu(name) for name in table["device"]]
    rates = np.array([spec.sms * spec.load_store_units_per_sm * spec.default_clock_mhz for spec in specs])
    elements = table["input_elements"] + table["output_elements"]
    table["latency_ms"] = 0.005 + np.where(table["macs"] > 0, 20 * elements / rates / 1e3, 0.0)
    table = table[table["macs"] > 0].reset_index(drop=True)
    known, times, new, measured = split(table, "p100")
    assert mape(measured, PhysicalTimes().fit(known, times).predict(new)) < 5


def test_what_operations_have_in_common_on_all_gpus_is_believed():
    table = on_gpus(rows=120)
    luck = np.exp(np.random.default_rng(0).normal(0, 0.3, 120))
    table["latency_ms"] *= np.tile(luck, len(DEVICES))
    known, times, new, measured = split(table, "v100")
    physical = mape(measured, PhysicalTimes().fit(known, times).predict(new))
    predictor = AcrossGpus(seed=0).fit(known, times)
    assert sum(predictor.chosen) > 0.5
    assert mape(measured, predictor.predict(new)) < 0.6 * physical
    similar = AcrossGpus(strengths=(0.0, 1.0), seed=0).fit(known, times)
    assert mape(measured, similar.predict(new)) < 0.6 * physical


def test_what_each_gpu_does_in_its_own_way_is_not_believed():
    table = on_gpus(rows=120)
    table["latency_ms"] *= np.exp(np.random.default_rng(0).normal(0, 0.3, len(table)))
    known, times, _, _ = split(table, "v100")
    assert sum(AcrossGpus(seed=0).fit(known, times).chosen) <= 0.25


def test_what_no_measured_operation_has_costs_nothing():
    # None of these has a 3x3 window, so nothing prices Winograd; an operation that has one must not pay at random.
    table = on_gpus(("v100",), rows=300)
    plain = table[(table["kind"] == "Conv2D") & (table["kernel_height"] != 3)].reset_index(drop=True)
    other = table[(table["kind"] == "Conv2D") & (table["kernel_height"] == 3)].reset_index(drop=True)
    found = PhysicalTimes().fit(plain, plain["latency_ms"].to_numpy()).predict(other)
    assert 0.5 < np.median(found / other["latency_ms"]) < 2


def test_two_gpus_are_too_few_to_choose_by():
    table = on_gpus(("p4", "v100"), rows=40)
    assert AcrossGpus(seed=0).fit(table, table["latency_ms"].to_numpy()).chosen == (0.5, 0.0)


def test_hardware_columns_are_finite_and_the_roofline_is_each_gpus_own():
    table = on_gpus()
    assert np.isfinite(table[list(HARDWARE)].to_numpy()).all()
    by_gpu = pd.Series(own_roofline(table)).groupby(table["device"].to_numpy()).sum()
    assert by_gpu["p4"] > by_gpu["p100"] > by_gpu["v100"] > by_gpu["a100-80gb"]


def test_kinds_that_no_gpu_ran_are_refused():
    table = on_gpus()
    known = PhysicalTimes().fit(table, table["latency_ms"].to_numpy())
    with pytest.raises(InvalidInput, match="No Softmax"):
        known.predict(table.head(2).assign(kind="Softmax"))
