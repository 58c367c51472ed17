"""The hardware table against itself, against closed forms and against a second public table."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import ALIASES, GPUS, gpu

CORES_PER_SM = {
    "3.5": 192, "3.7": 192, "5.2": 128, "5.3": 128, "6.0": 64, "6.1": 128, "6.2": 128, "7.0": 64, "7.2": 64,
    "7.5": 64, "8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128, "9.0": 128, "12.0": 128,
}  # fmt: skip
"""CUDA C++ Programming Guide, arithmetic throughput: FP32 results per clock and SM."""

SHARED_DATA = Path(os.environ.get("EDGEPERF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.mark.parametrize("name", GPUS)
def test_cores_follow_from_sms_and_compute_capability(name: str) -> None:
    spec = GPUS[name]
    assert spec.cores == spec.sms * CORES_PER_SM[spec.compute_capability]


@pytest.mark.parametrize("name", GPUS)
def test_figures_are_plausible_and_sourced(name: str) -> None:
    spec = GPUS[name]
    assert 600 <= spec.clock_mhz <= 2700
    assert 1 <= spec.memory_gib <= 192
    assert 25 <= spec.memory_bandwidth_gb_s <= 8000
    assert spec.l2_kib is None or spec.l2_kib % 256 == 0
    assert 5 <= spec.power_limit_w <= 1000
    assert spec.source.startswith("NVIDIA, ")


def test_boards_are_integrated_and_cards_are_not() -> None:
    assert {name for name, spec in GPUS.items() if spec.integrated} == {name for name in GPUS if "jetson" in name}


def test_published_peak_rates() -> None:
    # Tesla V100 PCIe 14 TFLOP/s, A100 19.5, H100 SXM 66.9, Jetson TX2 0.665 (data sheets, FP32).
    for name, teraflops in {"v100": 14.1, "a100-40gb": 19.5, "h100": 66.9, "jetson-tx2": 0.666}.items():
        assert gpu(name).peak_gflops == pytest.approx(1000 * teraflops, rel=0.005)


def test_kepler_feeds_two_thirds_of_its_cores_at_the_clock_it_runs_at() -> None:
    assert gpu("k40").sustained_gflops == pytest.approx(2 * 15 * 128 * 0.745)
    assert gpu("k80").sustained_gflops == pytest.approx(gpu("k80").peak_gflops * 2 / 3)


@pytest.mark.parametrize("name", [name for name, spec in GPUS.items() if spec.family != "Kepler"])
def test_all_later_gpus_feed_all_their_cores(name: str) -> None:
    assert GPUS[name].sustained_gflops == pytest.approx(GPUS[name].peak_gflops)


def test_load_store_units_and_boards_with_two_gpus() -> None:
    assert [gpu(name).load_store_units_per_sm for name in ("p100", "p4", "v100", "t4", "l4")] == [16, 32, 32, 16, 16]
    assert {name for name, spec in GPUS.items() if spec.gpus_on_board == 2} == {"k80", "m60"}


def test_later_families_are_made_in_smaller_processes() -> None:
    sizes = [gpu(name).process_nm for name in ("k40", "p100", "v100", "a100-40gb", "h100")]
    assert sizes == sorted(sizes, reverse=True) == [28, 16, 12, 7, 4]


def test_names_resolve_in_any_case_and_by_alias() -> None:
    assert gpu("JETSON-TX2").compute_capability == "6.2"
    assert all(gpu(alias).name == name for alias, name in ALIASES.items())


def test_unknown_name_proposes_close_ones() -> None:
    with pytest.raises(InvalidInput, match="jetson-nano"):
        gpu("jetson-nanoo")


def test_record_refuses_an_unknown_cache() -> None:
    assert gpu("jetson-nano").record().l2_kib == 256
    with pytest.raises(InvalidInput, match="L2"):
        gpu("jetson-orin-nx").record()


@pytest.mark.data
def test_checked_figures_agree_with_the_second_table() -> None:
    path = SHARED_DATA / "neusight_ops" / "devices.csv"
    if not path.exists():
        pytest.skip("needs neusight_ops/devices.csv of the measured tables")
    with path.open() as file:
        rows = {gpu(row["Device"]).name: row for row in csv.DictReader(file)}
    checked = {name for name, spec in GPUS.items() if spec.checked_against}
    assert checked <= rows.keys()
    for name in checked:
        spec, row = GPUS[name], rows[name]
        assert spec.sms == int(row["Num_Sm"])
        assert spec.memory_gib == float(row["Dev_Mem"])
        assert spec.memory_bandwidth_gb_s == pytest.approx(float(row["Mem_Bw"]), rel=0.03)
        assert spec.clock_mhz == pytest.approx(float(row["Freq"]), rel=0.07)
        assert spec.l2_kib == 1024 * int(row["L2Cache"])
