"""Comparison over devices, choice of a device, local or offloaded: closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.ptx.choice import rank_devices
from edgeperf.ptx.comparison import by_data_sheet, compare
from edgeperf.ptx.offload import Link, Task, curve, decide
from edgeperf.records import Device, Estimate, Measurement, Plan
from edgeperf.units import METRICS


def estimate(device: str, metric: str, value: float, *, width: float = 0.1, in_range: bool = True) -> Estimate:
    return Estimate(
        network="net",
        device=device,
        metric=metric,
        value=value,
        low=value * (1 - width),
        high=value * (1 + width),
        unit=METRICS[metric].unit,
        predictor="test",
        in_range=in_range,
        out_of_range_reason=None if in_range else "too large",
    )


NANO = [estimate("jetson-nano", "latency_ms", 100.0), estimate("jetson-nano", "power_mw", 3000.0)]
TX2 = [estimate("jetson-tx2", "latency_ms", 50.0), estimate("jetson-tx2", "power_mw", 5000.0, in_range=False)]


def test_measured_before_predicted_before_extrapolated() -> None:
    measurement = Measurement(
        network="net",
        device=Device(name="jetson-nano", board="Nano"),
        plan=Plan(),
        latency_ms=90.0,
        latency_method="nvprof",
    )
    rows = compare([*NANO, *TX2], [measurement])
    found = {(row.device, row.metric): (row.value, row.origin) for row in rows}
    assert found == {
        ("jetson-nano", "latency_ms"): (90.0, "measured"),
        ("jetson-nano", "power_mw"): (3000.0, "predicted"),
        ("jetson-tx2", "latency_ms"): (50.0, "predicted"),
        ("jetson-tx2", "power_mw"): (5000.0, "extrapolated"),
    }
    assert [row.device for row in rows if row.metric == "latency_ms"] == ["jetson-tx2", "jetson-nano"]
    assert {row.note for row in rows} == {"nvprof", "", "too large"}


def test_a_device_without_surrogate_is_scaled_by_data_sheets() -> None:
    other_runtime = estimate("jetson-nano-tensorrt", "latency_ms", 1.0)
    rows = {row.metric: row for row in by_data_sheet([other_runtime, *NANO, *TX2], "jetson-xavier-nx")}
    # The TX2 is nearer to the Xavier NX in peak rate than the Nano is.
    ratio = gpu("jetson-tx2").peak_gflops / gpu("jetson-xavier-nx").peak_gflops
    assert rows["latency_ms"].value == pytest.approx(50 * ratio)
    assert rows["power_mw"].value == pytest.approx(5000 * 20 / 15)
    assert rows["latency_ms"].low < rows["latency_ms"].value < rows["latency_ms"].high
    assert not rows["latency_ms"].in_range
    assert {row.origin for row in compare(rows.values())} == {"extrapolated"}
    with pytest.raises(InvalidInput, match="No latency estimate"):
        by_data_sheet([], "jetson-xavier-nx")


def test_devices_in_the_order_in_which_they_fit() -> None:
    rows = compare(
        [
            *NANO,
            estimate("jetson-tx2", "latency_ms", 48.0),
            estimate("jetson-agx-xavier", "latency_ms", 20.0),
            estimate("jetson-xavier-nx", "power_mw", 1.0),
        ]
    )
    ranked = rank_devices(rows, limits={"latency_ms": 50.0}, prefer="latency_ms")
    assert [(item.device, item.verdict) for item in ranked] == [
        ("jetson-agx-xavier", "meets"),
        ("jetson-tx2", "may meet"),
        ("jetson-xavier-nx", "unknown"),
        ("jetson-nano", "misses"),
    ]


def test_price_is_a_limit_and_a_preference() -> None:
    rows = compare([*NANO, *TX2])
    ranked = rank_devices(
        rows, limits={"price": 150.0}, prices={"jetson-nano": 99.0, "jetson-tx2": 399.0}, prefer="price"
    )
    assert [(item.device, item.verdict, item.price) for item in ranked] == [
        ("jetson-nano", "meets", 99.0),
        ("jetson-tx2", "misses", 399.0),
    ]
    with pytest.raises(InvalidInput, match="Unknown quantity 'speed'"):
        rank_devices(rows, limits={"speed": 1.0})


TASK = Task(sent_bytes=150_000, received_bytes=4_000, local_latency_ms=120, local_energy_mj=600, server_latency_ms=10)
LINK = Link(round_trip_ms=20, radio_uj_per_byte=1.0, idle_power_mw=800)


def test_offloading_by_hand() -> None:
    found = decide(TASK, LINK, bandwidth_mbit_s=12.32)
    # 154,000 bytes at 1.54 MB/s take 100 ms.
    assert found.offloaded_latency_ms == pytest.approx(130)
    assert found.offloaded_energy_mj == pytest.approx(154 + 0.8 * 130)
    assert (found.faster, found.cheaper) == ("local", "offloaded")
    assert found.faster_from_mbit_s == pytest.approx(154_000 * 8 / 90 / 1000)


@given(
    sent=st.integers(1, 10**7),
    local=st.floats(1, 1e4),
    energy=st.floats(1, 1e5),
    server=st.floats(0, 1e3),
    trip=st.floats(0, 500),
    radio=st.floats(0, 10),
    idle=st.floats(0, 5000),
)
def test_the_answer_turns_where_it_says(
    sent: int, local: float, energy: float, server: float, trip: float, radio: float, idle: float
) -> None:
    task = Task(
        sent_bytes=sent, received_bytes=0, local_latency_ms=local, local_energy_mj=energy, server_latency_ms=server
    )
    link = Link(round_trip_ms=trip, radio_uj_per_byte=radio, idle_power_mw=idle)
    turn = decide(task, link, bandwidth_mbit_s=1.0).faster_from_mbit_s
    if turn is None:
        assert decide(task, link, bandwidth_mbit_s=1e12).faster == "local"
    elif 1e-9 < turn < 1e12:
        assert decide(task, link, bandwidth_mbit_s=turn * 1.01).faster == "offloaded"
        assert decide(task, link, bandwidth_mbit_s=turn * 0.99).faster == "local"
    turn = decide(task, link, bandwidth_mbit_s=1.0).cheaper_from_mbit_s
    if turn is None:
        assert decide(task, link, bandwidth_mbit_s=1e15).cheaper == "local"
    elif turn == 0:
        assert decide(task, link, bandwidth_mbit_s=1e-3).cheaper == "offloaded"
    elif 1e-9 < turn < 1e9:
        above, below = (
            decide(task, link, bandwidth_mbit_s=turn * factor).offloaded_energy_mj for factor in (1.05, 0.95)
        )
        assert above <= energy * (1 + 1e-9)
        assert below >= energy * (1 - 1e-9)


def test_a_curve_falls_with_the_bandwidth() -> None:
    points = curve(TASK, LINK, [1, 5, 25, 125])
    latencies = [point.offloaded_latency_ms for point in points]
    assert latencies == sorted(latencies, reverse=True)
    assert [point.faster for point in points] == ["local", "local", "offloaded", "offloaded"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: decide(TASK, LINK, bandwidth_mbit_s=0),
        lambda: Link(round_trip_ms=-1, radio_uj_per_byte=1),
        lambda: Link(round_trip_ms=float("nan"), radio_uj_per_byte=1),
        lambda: Task(sent_bytes=1, received_bytes=1, local_latency_ms=0, local_energy_mj=1, server_latency_ms=1),
        lambda: Task(sent_bytes=-1, received_bytes=1, local_latency_ms=1, local_energy_mj=1, server_latency_ms=1),
    ],
)
def test_impossible_input(make: object) -> None:
    with pytest.raises(InvalidInput):
        make()  # type: ignore[operator]
