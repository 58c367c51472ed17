from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.crossing import AcrossGpus, PhysicalTimes
from edgeperf.layerwise.hardware_features import HARDWARE, own_roofline, with_hardware
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.quantities import quantities
from edgeperf.layerwise.validation import mape
from tests.layerwise.networks import made_up_table

DEVICES = ("p4", "p100", "v100", "a100-80gb")


def on_gpus() -> pd.DataFrame:
    """Every operation on every GPU, at 60 % of its peak, 80 % of its bandwidth, and 5 us."""
    parts = []
    for device in DEVICES:
        part = made_up_table(200).assign(device=device, phase="inference")
        found, spec = quantities(part), gpu(device)
        arithmetic = found["operations"] / (0.6 * spec.peak_gflops) / 1e6
        part["latency_ms"] = 0.005 + arithmetic + found["bytes"] / (0.8 * spec.memory_bandwidth_gb_s) / 1e6
        parts.append(part)
    return with_hardware(pd.concat(parts, ignore_index=True))


@pytest.mark.parametrize("left_out", DEVICES)
def test_a_gpu_that_follows_its_data_sheet_is_predicted_from_the_others(left_out: str):
    table = on_gpus()
    labels, here = table["latency_ms"].to_numpy(), (table["device"] == left_out).to_numpy()
    physical = PhysicalTimes().fit(table[~here], labels[~here]).predict(table[here])
    assert mape(labels[here], physical) < 0.1
    corrected = AcrossGpus(seed=0).fit(table[~here], labels[~here]).predict(table[here])
    plain = OneForAll(algorithm="rf", seed=0).fit(table[~here], labels[~here]).predict(table[here])
    assert mape(labels[here], corrected) < 5 < mape(labels[here], plain)


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
