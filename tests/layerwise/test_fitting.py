from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.fitting import fit_measured, latency_maker
from edgeperf.layerwise.hints import slow_layers
from edgeperf.layerwise.loops import without_calls
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.roofline import roof_reached, roofline_ms
from edgeperf.layerwise.workloads import EAGER, steps
from tests.layerwise.networks import ROOF, made_up_table, relu, small_network

CALL_MS = 0.2


def measured(device: str = "host-cpu", *, with_power: bool = True) -> pd.DataFrame:
    """A made-up table as the profiler writes it, every call `CALL_MS` longer than its work."""
    table = made_up_table().assign(device=device, phase="inference", status="ok")
    identity = operation_table([relu(56, 64)]).assign(
        kind="Identity", latency_ms=0.0, power_mw=4000.0, energy_mj=0.0, device=device, phase="inference", status="ok"
    )
    table = pd.concat([table, identity], ignore_index=True)
    table["latency_ms"] += CALL_MS
    return table if with_power else table.assign(power_mw=np.nan, energy_mj=np.nan)


def test_what_a_call_costs_comes_off_where_nothing_hides_it():
    table = measured()
    found = without_calls(table)
    assert "Identity" not in set(found["kind"])
    truth = made_up_table()["latency_ms"]
    long = (truth > CALL_MS).to_numpy()
    assert found["latency_ms"][long].to_numpy() == pytest.approx(truth[long].to_numpy())
    assert (found["latency_ms"] > 0).all()
    assert without_calls(found) is found


def test_the_roof_is_what_the_fastest_operations_came_near():
    table = made_up_table()
    table["latency_ms"] = roofline_ms(table, ROOF)
    found = roof_reached(table, device="somewhere")
    assert found.peak_gflops == pytest.approx(ROOF.peak_gflops, rel=0.1)
    assert found.bandwidth_gb_s == pytest.approx(ROOF.bandwidth_gb_s, rel=0.1)
    assert roof_reached(table, device="jetson-tx2").peak_gflops == gpu("jetson-tx2").peak_gflops


def test_a_network_from_operations_measured_on_a_processor_has_no_calls_in_it():
    network = small_network()
    table = measured()
    without = fit_measured(table, device="host-cpu", seed=0).cost(network)
    with_calls = fit_measured(table[table["kind"] != "Identity"], device="host-cpu", seed=0).cost(network)
    assert with_calls.latency_ms - without.latency_ms > 0.5 * CALL_MS * len(without.steps)
    assert without.energy_mj > 0


def test_a_gpu_keeps_its_data_sheet_and_its_launches():
    found = fit_measured(measured("jetson-tx2"), device="jetson-tx2", seed=0)
    assert found.roof.peak_gflops == gpu("jetson-tx2").peak_gflops
    assert found.loop.floor_ms["relu"] > CALL_MS
    assert found.loop.leaf_ms == 0


def test_without_power_there_is_no_energy():
    cost = fit_measured(measured(with_power=False), device="host-cpu", seed=0).cost(small_network())
    assert cost.energy_mj is None
    assert cost.power_mw is None


def test_tables_of_two_phases_are_refused():
    table = measured()
    mixed = pd.concat([table, table.assign(phase="training")], ignore_index=True)
    with pytest.raises(InvalidInput, match="mix the phases inference, training"):
        fit_measured(mixed, device="host-cpu", seed=0)


def test_a_measured_layer_that_takes_longer_than_its_like_is_named():
    network = small_network()
    own = operation_table(step.operation for step in steps(network, fusion=EAGER) if step.layer == "inner")
    own = own[own["kind"] == "Conv2D"]
    table = made_up_table()
    expected = OneForAll(seed=0).fit(table, table["latency_ms"].to_numpy()).predict(own)[0]
    slow = pd.concat([table, own.assign(latency_ms=4 * expected)], ignore_index=True)
    (found,) = slow_layers(network, slow, latency_maker(ROOF, seed=0), fusion=EAGER)
    assert found.layer == "inner"
    assert found.factor > 2
    usual = pd.concat([table, own.assign(latency_ms=expected)], ignore_index=True)
    assert slow_layers(network, usual, latency_maker(ROOF, seed=0), fusion=EAGER) == ()
    assert slow_layers(network, table.head(1), latency_maker(ROOF, seed=0), fusion=EAGER) == ()
