from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.profilers import nvml, readings, runtimes, sensors, state
from edgeperf.profilers.board import Facts
from edgeperf.records import Plan

RELEASE_4 = {"etc/nv_tegra_release": "# R32 (release), REVISION: 7.1, GCID: 1"}
RELEASE_5 = {"etc/nv_tegra_release": "# R35 (release), REVISION: 4.1, GCID: 1"}


def facts(**given: Any) -> Facts:
    empty: dict[str, Any] = {"state": {}, "sensors": {}, "tools": {}, "recordings": {}}
    return Facts(**{**empty, "machine": "aarch64", "cores": 4, "free_mib": 9000, "python": "3.6.9", **given})


def choose(found: Facts, **given: Any) -> sensors.Sensor:
    return sensors.choose(found, **{"period_ms": 1.0, **given})


class FakeNvml:
    """The calls of pynvml that edgeperf makes; a card that tells its power and energy, and no clock."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM = NVML_TEMPERATURE_GPU = 1

    def __init__(self, *, with_power: bool = True) -> None:
        self.with_power = with_power
        self.energy_mj = 1_000_000
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's own name
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, _: int) -> str:  # noqa: N802
        return "NVIDIA L4"

    def nvmlDeviceGetCudaComputeCapability(self, _: int) -> tuple[int, int]:  # noqa: N802
        if not self.with_power:
            raise self.NVMLError("Not Supported")
        return 8, 9

    def nvmlDeviceGetPowerUsage(self, _: int) -> int:  # noqa: N802
        if not self.with_power:
            raise self.NVMLError("Not Supported")
        return 61_000

    def nvmlDeviceGetTotalEnergyConsumption(self, _: int) -> int:  # noqa: N802
        self.energy_mj += 1220
        return self.energy_mj

    def nvmlDeviceGetMemoryInfo(self, _: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(used=2 << 30)

    def nvmlDeviceGetClockInfo(self, _: int, __: int) -> int:  # noqa: N802
        raise self.NVMLError("Not Supported")

    def nvmlDeviceGetTemperature(self, _: int, __: int) -> int:  # noqa: N802
        return 41


@pytest.fixture
def fake_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNvml]:
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    yield library
    assert library.open == 0, "NVML was not shut down"


def test_a_jetson_is_read_with_tegrastats() -> None:
    sensor = choose(facts(state=RELEASE_4, tools={"tegrastats": "/usr/bin/tegrastats"}), period_ms=100)
    assert sensor.name == "tegrastats"
    assert sensor.request == {"argv": ["/usr/bin/tegrastats", "--interval", "100"]}


@pytest.mark.parametrize(
    ("given", "settle_s"),
    [
        ({"state": {**RELEASE_4, "proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit"}}, 0.4),
        ({"state": RELEASE_4, "sensors": {"a": "VDD_IN", "b": "VDD_SYS_GPU"}}, 2.9),
        ({"state": RELEASE_4}, 3.2),
        ({"state": RELEASE_5}, 0.05),
    ],
)
def test_the_plateau_is_as_long_as_the_boards_filter_needs(given: dict[str, Any], settle_s: float) -> None:
    sensor = choose(facts(tools={"tegrastats": "/usr/bin/tegrastats"}, **given))
    assert sensor.settle_s == pytest.approx(settle_s, abs=0.05)


def test_ina3221_of_late_releases_is_voltage_times_current() -> None:
    folder = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    names = {
        f"{folder}/in1_label": "VDD_IN\n",
        f"{folder}/in2_label": "VDD_CPU_GPU_CV\n",
        f"{folder}/in3_label": "NC\n",
    }
    sensor = choose(facts(state=RELEASE_5, sensors=names))
    assert sensor.request is not None
    assert sensor.request["files"]["VDD_IN.mA"] == f"//{folder}/curr1_input"
    line = "MEMORY=MemTotal:,8000000,kB,MemFree:,1,kB,MemAvailable:,6976000,kB VDD_CPU_GPU_CV.mA=300 "
    line += "VDD_CPU_GPU_CV.mV=5000 VDD_IN.mA=1000 VDD_IN.mV=5040"
    (reading,) = readings.read("ina3221", [(0.0, line)]).readings
    assert (reading.power_mw, reading.total_mw, reading.memory_mib) == (1500, 5040, 1000)


def test_a_jetson_without_sensors_is_told_what_to_do_and_nvml_is_not_asked() -> None:
    sensor = choose(facts(state=RELEASE_5), host_gpu=True)
    assert (sensor.name, sensor.request) == ("none", None)
    assert "tegrastats" in (sensor.missing or "")


def test_a_host_is_read_through_rapl_or_says_why_not() -> None:
    zones = {"sys/class/powercap/intel-rapl:0/name": "package-0\n", "sys/class/powercap/intel-rapl:0:0/name": "core\n"}
    sensor = choose(facts(sensors=zones))
    assert sensor.request is not None
    zone = "//sys/class/powercap/intel-rapl:0"
    wanted = {"package-0.uJ": f"{zone}/energy_uj", "package-0.range": f"{zone}/max_energy_range_uj"}
    assert sensor.request["files"] == wanted
    assert "virtual machines" in (choose(facts()).missing or "")


def test_a_gpu_is_read_through_nvml_with_its_energy_counter(fake_nvml: FakeNvml) -> None:
    assert choose(facts(), host_gpu=True).name == "nvml"
    lines = list(nvml.lines(count=3, period_s=0.0))
    assert "gpu_mhz" not in lines[0]
    trace = readings.read("nvml", [(0.02 * n, line) for n, line in enumerate(lines)])
    assert [reading.power_mw for reading in trace.readings] == [61_000] * 3
    energies = [reading.energy_mj for reading in trace.readings]
    assert energies[2] is not None
    assert energies[0] is not None
    assert energies[2] - energies[0] == 2440
    assert trace.readings[0].memory_mib == 2048
    assert fake_nvml.energy_mj > 1_000_000


def test_a_gpu_says_which_one_it_is(fake_nvml: FakeNvml) -> None:
    assert nvml.identity() == ("NVIDIA L4", "8.9")
    fake_nvml.with_power = False
    assert nvml.identity() is None


def test_a_gpu_that_answers_no_power_query_is_told(fake_nvml: FakeNvml) -> None:
    fake_nvml.with_power = False
    assert "no power query" in (choose(facts(), host_gpu=True).missing or "")


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "edgeperf[nvml]" in (choose(facts(), host_gpu=True).missing or "")


def test_a_sensor_without_readings_is_an_error() -> None:
    for sensor in ("tegrastats", "ina3221", "rapl", "nvml"):
        with pytest.raises(InvalidInput):
            readings.read(sensor, [(0.0, "nothing here")])
    with pytest.raises(InvalidInput, match="Unknown sensor"):
        readings.read("thermometer", [])


def test_clocks_modes_and_reboots_are_read_from_files() -> None:
    gpu = "sys/class/devfreq/17000000.gv11b/"
    files = {
        **RELEASE_4,
        f"{gpu}min_freq": "1377000000\n",
        f"{gpu}max_freq": "1377000000\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq": "345600\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "2035200\n",
        "nvpmodel -q": "NV Power Mode: 15W\n2\n",
        "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >",
        "proc/sys/kernel/random/boot_id": "a",
        "proc/vmstat": "nr_free_pages 5\noom_kill 3\n",
    }
    assert state.clocks_locked(files) is False
    assert state.unlocked(files) == ("cpu0 346-2035 MHz",)
    assert state.clocks_locked({}) is None
    assert (state.power_mode(files), state.slower_mode(files)) == ("15W", "15W")
    assert state.os_release(files) == "L4T 32.7.1"
    assert state.out_of_memory_kills(files) == 3
    assert state.is_jetson(files)


@pytest.mark.parametrize(
    ("tools", "wanted", "name"),
    [
        ({"trtexec": "/t"}, "auto", "trtexec"),
        ({"/usr/src/tensorrt/bin/trtexec": "/usr/src/tensorrt/bin/trtexec"}, "auto", "trtexec"),
        ({"trtexec": "/t", "nvprof": "/n"}, "keras", "keras"),
        ({}, "auto", "keras"),
    ],
)
def test_the_runtime_is_what_the_board_has(tools: dict[str, str], wanted: str, name: str) -> None:
    assert runtimes.choose(facts(state=RELEASE_4, tools=tools), wanted, python="python3").name == name


def test_a_runtime_that_is_missing_is_told() -> None:
    with pytest.raises(InvalidInput, match="no trtexec"):
        runtimes.choose(facts(state=RELEASE_4), "trtexec", python="python3")
    with pytest.raises(InvalidInput, match="Unknown runtime"):
        runtimes.choose(facts(), "tflite", python="python3")


@pytest.mark.parametrize("profiler", ["nvprof", "nsys"])
def test_under_a_profiler_power_is_measured_in_a_run_of_its_own(profiler: str, tmp_path: Any) -> None:
    runtime = runtimes.choose(facts(tools={profiler: f"/cuda/{profiler}"}), "keras", python="python3")
    sensor = sensors.Sensor(name="tegrastats", request={"argv": ["tegrastats"]}, settle_s=1.0)
    recipe = tmp_path / "recipe.json"
    job = runtimes.keras_job("id", recipe, tmp_path, runtime=runtime, sensor=sensor, plan=Plan(), env={})
    first, last = job.steps[0], job.steps[-1]
    assert first["argv"][0] == f"/cuda/{profiler}"
    assert not first.get("sample")
    assert (last["argv"][0], last["sample"]) == ("python3", True)
