"""What a machine has → the sensor to record power with, or why there is none.

On a Jetson: tegrastats, else INA3221 in sysfs. On a host: the GPU's counters through NVML, else the package's through
RAPL. A Jetson is recognised first, because NVML initialises on newer ones and then answers no query.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeperf.profilers import filters, nvml, state
from edgeperf.profilers.board import Facts
from edgeperf.profilers.rails import JETPACK_5_FILTER_MS, LAYOUTS, NANO_FILTER_MS, RailLayout, layout_of

SENSOR_PERIOD_S = 0.02
"""Of sensor files: a conversion cycle of the INA3221 takes 6.6 ms or longer, and a shorter period costs more."""
_EARLY_RAIL = re.compile(r"(sys/bus/i2c/drivers/ina3221x/.*)/rail_name_([0-9])")
_LATE_RAIL = re.compile(r"(sys/bus/i2c/drivers/ina3221/.*)/in([0-9])_label")
_RAPL_ZONE = re.compile(r"(sys/class/powercap/intel-rapl:[0-9]+)/name")
_FIRST_RELEASE_WITHOUT_FILTER = 35
_SAFE_QUANTUM_MW = 38.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """How power is recorded.

    Attributes:
        name: as in `edgeperf.profilers.readings`; ``"none"`` where there is no sensor.
        request: what the agent is asked to run or read; None for none.
        settle_s: how long a load must last before a reading counts.
        missing: why there is none, and what to do; None where there is one.
    """

    name: str
    request: Mapping[str, Any] | None
    settle_s: float
    missing: str | None = None


def choose(facts: Facts, *, root: str = "/", period_ms: float, host_gpu: bool = False) -> Sensor:
    """The sensor for a machine.

    Args:
        facts: what its agent found.
        root: where its file system begins.
        period_ms: wanted time between two readings; a sensor that cannot do it takes longer.
        host_gpu: whether the network runs on an NVIDIA GPU of this host.
    """
    if state.is_jetson(facts.state):
        return _of_jetson(facts, root, period_ms)
    if host_gpu:
        return _of_gpu()
    return _of_host(facts, root)


def _of_jetson(facts: Facts, root: str, period_ms: float) -> Sensor:
    settle_s = _settle_s(facts)
    if "tegrastats" in facts.tools:
        command = [facts.tools["tegrastats"], "--interval", str(max(1, round(period_ms)))]
        return Sensor(name="tegrastats", request={"argv": command}, settle_s=settle_s)
    files = _ina3221_files(facts.sensors, root)
    if files:
        request = {"files": files, "period_s": max(SENSOR_PERIOD_S, period_ms / 1000.0)}
        return Sensor(name="ina3221", request=request, settle_s=settle_s)
    return _none(
        "neither tegrastats nor an INA3221 in sysfs was found on the board; tegrastats is in the package "
        "nvidia-l4t-tools, and its folder must be on the PATH of a login without a terminal"
    )


def _settle_s(facts: Facts) -> float:
    """The longest of what the board's family needs; the slowest filter where the family is not known."""
    release = re.search(r"R([0-9]+)", facts.state.get("etc/nv_tegra_release", ""))
    if release and int(release[1]) >= _FIRST_RELEASE_WITHOUT_FILTER:
        return filters.settle_s(time_constant_ms=JETPACK_5_FILTER_MS, quantum_mw=_SAFE_QUANTUM_MW)
    layout = _layout(facts)
    slowest = max(known.time_constant_ms for known in LAYOUTS)
    return filters.settle_s(
        time_constant_ms=layout.time_constant_ms if layout else slowest,
        quantum_mw=layout.quantum_mw if layout else _SAFE_QUANTUM_MW,
    )


def _layout(facts: Facts) -> RailLayout | None:
    by_rails = layout_of(text.strip() for text in facts.sensors.values())
    if by_rails is None and "Nano" in (state.board_model(facts.state) or ""):
        return next(layout for layout in LAYOUTS if layout.time_constant_ms == NANO_FILTER_MS)
    return by_rails


def _ina3221_files(names: Mapping[str, str], root: str) -> dict[str, str]:
    files = {}
    for path, text in names.items():
        rail = re.sub(r"\s+", "_", text.strip())
        early, late = _EARLY_RAIL.fullmatch(path), _LATE_RAIL.fullmatch(path)
        if early and rail:
            files[f"{rail}.mW"] = f"{root}/{early[1]}/in_power{early[2]}_input"
        elif late and rail != "NC":
            files[f"{rail}.mV"] = f"{root}/{late[1]}/in{late[2]}_input"
            files[f"{rail}.mA"] = f"{root}/{late[1]}/curr{late[2]}_input"
    return {**files, "MEMORY": f"{root}/proc/meminfo"} if files else {}


def _of_gpu() -> Sensor:
    missing = nvml.why_missing()
    if missing:
        return _none(missing)
    settle_s = filters.settle_s(time_constant_ms=nvml.FILTER_MS, quantum_mw=1000.0, step_mw=700_000.0)
    command = [sys.executable, "-m", "edgeperf.profilers.nvml"]
    return Sensor(name="nvml", request={"argv": command}, settle_s=settle_s)


def _of_host(facts: Facts, root: str) -> Sensor:
    zones = {path: text.strip() for path, text in facts.sensors.items() if _RAPL_ZONE.fullmatch(path)}
    packages = {path: name for path, name in zones.items() if name.startswith("package")}
    if not packages:
        return _none(
            "this host has no power counters (RAPL, /sys/class/powercap); virtual machines and most ARM hosts lack them"
        )
    files: dict[str, str] = {}
    for path, name in packages.items():
        zone = f"{root}/{path.removesuffix('/name')}"
        files |= {f"{name}.uJ": f"{zone}/energy_uj", f"{name}.range": f"{zone}/max_energy_range_uj"}
    return Sensor(name="rapl", request={"files": files, "period_s": SENSOR_PERIOD_S}, settle_s=0.1)


def _none(why: str) -> Sensor:
    return Sensor(name="none", request=None, settle_s=0.0, missing=why)
