from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.fitting import fit_measured
from edgeperf.layerwise.held_out import held_out
from edgeperf.layerwise.hints import SlowLayer, slow_layers
from edgeperf.layerwise.loops import without_calls
from edgeperf.layerwise.measurements import measured_on_gpu, of_device, read_measured
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


@pytest.mark.parametrize("name", ["Tesla T4", "T4"])
def test_a_gpu_is_the_same_under_all_its_names(name: str):
    network, table = small_network(), measured("t4")
    named = fit_measured(measured(name), device=name, seed=0).cost(network)
    assert named.latency_ms == fit_measured(table, device="t4", seed=0).cost(network).latency_ms
    assert len(of_device(table, name)) == len(table)


def test_where_nothing_tells_the_device_is_taken_for_a_gpu_unless_said_otherwise():
    table = measured("my-gpu")
    assert measured_on_gpu(table, "my-gpu") is None
    found = fit_measured(table, device="my-gpu", seed=0)
    assert found.loop.floor_ms["relu"] > CALL_MS
    assert found.cost(small_network()).latency_ms < CALL_MS  # the host runs ahead of a network
    assert fit_measured(table, device="my-gpu", on_gpu=False, seed=0).loop.floor_ms == {}


@pytest.mark.parametrize(
    ("host_gpu", "board_state", "on_gpu"),
    [(True, {}, True), (False, {}, False), (False, {"etc/nv_tegra_release": "# R32"}, True)],
)
def test_a_campaign_knows_what_it_ran_on(tmp_path: Path, host_gpu: bool, board_state: dict[str, str], on_gpu: bool):
    measured("mine").to_csv(tmp_path / "operations.csv")
    (tmp_path / "campaign.json").write_text(json.dumps({"measures": "operations", "host_gpu": host_gpu}))
    (tmp_path / "raw").mkdir()
    recording = json.dumps({"recording": {"state_before": board_state}})
    (tmp_path / "raw" / "job.json.gz").write_bytes(gzip.compress(recording.encode()))
    table = of_device(read_measured(tmp_path), "mine")
    assert measured_on_gpu(table, "mine") is on_gpu
    assert bool(fit_measured(table, device="mine", seed=0).loop.floor_ms) is on_gpu
    assert measured_on_gpu(table.assign(clock_mhz=900.0), "mine") is True


def test_a_campaign_whose_files_are_damaged_is_refused(tmp_path: Path):
    measured("mine").to_csv(tmp_path / "operations.csv")
    (tmp_path / "campaign.json").write_text("{")
    with pytest.raises(InvalidInput, match=r"campaign\.json cannot be read"):
        read_measured(tmp_path)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("latency_ms", np.nan, "latency_ms is nan; expected a number above 0"),
        ("latency_ms", "fast", "latency_ms is fast; expected a number above 0"),
        ("latency_ms", np.inf, "latency_ms is inf"),
        ("power_mw", -1.0, "power_mw is -1.0"),
        ("macs", -1, "macs is -1; expected a number of at least 0"),
        ("kind", np.nan, "kind is nan; expected a name"),
        ("phase", "both", "phase is both; expected inference or training"),
    ],
)
def test_a_row_that_holds_what_cannot_be_is_refused(tmp_path: Path, column: str, value: object, expected: str):
    table = measured().astype(object)
    table.loc[4, column] = value
    table.to_csv(tmp_path / "operations.csv")
    with pytest.raises(InvalidInput, match=f"row 5: {expected}"):
        read_measured(tmp_path)
    table.assign(status=["oom" if index == 4 else "ok" for index in table.index]).to_csv(tmp_path / "operations.csv")
    assert len(read_measured(tmp_path)) == len(table) - 1


def test_a_table_lacks_power_alone(tmp_path: Path):
    measured().drop(columns="power_mw").to_csv(tmp_path / "operations.csv")
    assert read_measured(tmp_path)["power_mw"].isna().all()
    measured().drop(columns="macs").to_csv(tmp_path / "operations.csv")
    with pytest.raises(InvalidInput, match=r"lacks the column\(s\) macs"):
        read_measured(tmp_path)


@pytest.mark.parametrize("device", ["host-cpu", "t4", "my-gpu"])
def test_the_identity_alone_predicts_nothing_and_one_operation_all(device: str):
    table = measured(device)
    with pytest.raises(InvalidInput, match="Nothing but the identity"):
        fit_measured(table.tail(1), device=device, seed=0)
    assert fit_measured(table.tail(2), device=device, seed=0).cost(small_network()).energy_mj > 0


def test_a_processor_under_the_name_of_a_gpu_is_refused():
    with pytest.raises(InvalidInput, match="measured on a CPU"):
        fit_measured(measured("t4").assign(on_gpu=False), device="t4", seed=0)


def test_without_power_there_is_no_energy():
    cost = fit_measured(measured(with_power=False), device="host-cpu", seed=0).cost(small_network())
    assert cost.energy_mj is None
    assert cost.power_mw is None


@pytest.mark.parametrize("device", ["t4", "my-gpu", "host-cpu"])
def test_the_identity_needs_no_power_for_the_energy_of_a_training_step(device: str):
    table = measured(device).assign(phase="training")
    table.loc[table["kind"] == "Identity", "power_mw"] = np.nan
    assert fit_measured(table, device=device, seed=0).cost(small_network()).energy_mj > 0


def test_tables_of_two_phases_are_refused():
    table = measured()
    mixed = pd.concat([table, table.assign(phase="training")], ignore_index=True)
    with pytest.raises(InvalidInput, match="mix the phases inference, training"):
        fit_measured(mixed, device="host-cpu", seed=0)


def test_tables_of_several_batch_sizes_are_refused():
    mixed = measured()
    mixed.loc[0, "batch_size"] = 8
    with pytest.raises(InvalidInput, match=r"mix batch sizes \[1, 8\]"):
        fit_measured(mixed, device="host-cpu", seed=0)


def test_a_measured_layer_that_takes_longer_than_its_like_is_named():
    network = small_network()
    own = operation_table(step.operation for step in steps(network, fusion=EAGER) if step.layer == "inner")
    own = own[own["kind"] == "Conv2D"]
    table = made_up_table()
    expected = OneForAll(seed=0).fit(table, table["latency_ms"].to_numpy()).predict(own)[0]
    slow = pd.concat([table, own.assign(latency_ms=4 * expected)], ignore_index=True)

    def named(rows: pd.DataFrame, *, on_gpu: bool = True) -> tuple[SlowLayer, ...]:
        found = held_out(rows, ROOF, device="mine", on_gpu=on_gpu, seed=0)
        return () if found is None else slow_layers(network, found, fusion=EAGER)

    (found,) = named(slow)
    assert found.layer == "inner"
    assert found.factor > 2
    assert found.measured_ms == pytest.approx(4 * expected)
    # A processor's call takes half as long as the least operation here, which is no part of what is compared.
    call_ms = table["latency_ms"].min() / 2
    (on_cpu,) = named(
        pd.concat([slow, own.assign(kind="Identity", latency_ms=call_ms)], ignore_index=True), on_gpu=False
    )
    assert on_cpu.measured_ms == pytest.approx(4 * expected - call_ms)
    assert named(pd.concat([table, own.assign(latency_ms=expected)], ignore_index=True)) == ()
    assert named(slow.tail(20)) == ()
