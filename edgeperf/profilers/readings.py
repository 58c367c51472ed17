"""Raw sensor lines → a `Trace`: power of one rail over time, with memory, clock and temperature where they are told.

Sensors and their lines:

* ``tegrastats``: see `edgeperf.profilers.tegrastats`;
* ``ina3221``: ``RAIL.mW=1234`` (JetPack 3 and 4), or ``RAIL.mV=5000 RAIL.mA=250`` (5 and later), with ``MEMORY=...``;
* ``rapl``: ``package-0.uJ=123456 package-0.range=262143328850``: a counter, and where it begins anew;
* ``nvml``: ``power_mw=61000 energy_mj=123456 memory_mib=1830 gpu_mhz=1980 temperature_c=41``; a value may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from edgeperf.errors import InvalidInput
from edgeperf.profilers import tegrastats
from edgeperf.profilers.rails import JETPACK_5_FILTER_MS, Rail, RailLayout, gpu_mw, layout_of, total_mw

StampedLines = Sequence[tuple[float, str]]

NVML_FILTER_MS = 100.0
"""Power of data-centre cards is an average over 25 to 100 ms."""
_FIELD = re.compile(r"(\S+?)=(\S*)")
_AVAILABLE = re.compile(r"MemTotal:,([0-9]{1,12}),kB.*?MemAvailable:,([0-9]{1,12}),kB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One line.

    Attributes:
        t_s: seconds on the board's clock.
        power_mw: of the trace's rail; None where the line does not say.
        total_mw: of the whole board.
        energy_mj: counter that only grows; where it starts means nothing.
        memory_mib: in use.
    """

    t_s: float
    power_mw: float | None = None
    total_mw: float | None = None
    energy_mj: float | None = None
    memory_mib: float | None = None
    gpu_mhz: float | None = None
    temperature_c: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a sensor said, and what is known of the sensor.

    Attributes:
        rail: which power it is; part of the label.
        readings: in the order of time.
        quantum_mw: step between two readings of the rail; None where not known.
        time_constant_ms: of the sensor's averaging.
        skipped_lines: lines that held no reading.
    """

    rail: str
    readings: tuple[Reading, ...]
    quantum_mw: float | None
    time_constant_ms: float
    skipped_lines: int = 0

    def between(self, begin_s: float, end_s: float) -> tuple[Reading, ...]:
        """Readings from `begin_s` to `end_s`."""
        return tuple(reading for reading in self.readings if begin_s <= reading.t_s <= end_s)


def read(sensor: str, lines: StampedLines) -> Trace:
    """The trace in the lines of a sensor.

    Raises:
        InvalidInput: no line holds a power reading, or there is no such sensor.
    """
    if sensor not in _READERS:
        raise InvalidInput(f"Unknown sensor {sensor!r}. Known sensors: {', '.join(_READERS)}.")
    trace = _READERS[sensor](lines)
    if all(reading.power_mw is None for reading in trace.readings):
        raise InvalidInput(f"None of {len(lines)} line(s) of {sensor} holds a reading of {trace.rail}.")
    return trace


def _tegrastats(lines: StampedLines) -> Trace:
    parsed = [(stamp, tegrastats.parse_line(line)) for stamp, line in lines]
    samples = [(stamp, sample) for stamp, sample in parsed if sample is not None and sample.rails]
    if not samples:
        tegrastats.parse_log("\n".join(line for _, line in lines))  # says why there is none
    layouts = {layout.gpu: layout for _, sample in samples if (layout := layout_of(r.name for r in sample.rails))}
    if len(layouts) != 1:
        raise InvalidInput(f"The rails of these lines are of {len(layouts)} known boards; expected one.")
    layout = next(iter(layouts.values()))
    late = any("mW/" in line for _, line in lines)
    return Trace(
        rail=layout.gpu,
        readings=tuple(_of_sample(stamp, sample) for stamp, sample in samples),
        quantum_mw=layout.quantum_mw,
        time_constant_ms=JETPACK_5_FILTER_MS if late else layout.time_constant_ms,
        skipped_lines=len(lines) - len(samples),
    )


def _of_sample(stamp: float, sample: tegrastats.Sample) -> Reading:
    return Reading(
        t_s=stamp,
        power_mw=sample.gpu_mw,
        total_mw=sample.total_mw,
        memory_mib=sample.ram_used_mib,
        gpu_mhz=sample.gpu_mhz,
        temperature_c=max((degrees for _, degrees in sample.temperatures_c), default=None),
    )


def _ina3221(lines: StampedLines) -> Trace:
    fields = [(stamp, dict(_FIELD.findall(line))) for stamp, line in lines]
    rails = [(stamp, _rails(values), values) for stamp, values in fields]
    layout: RailLayout | None = next((found for _, own, _ in rails if (found := layout_of(r.name for r in own))), None)
    if layout is None:
        names = sorted({rail.name for _, own, _ in rails for rail in own})
        raise InvalidInput(f"The INA3221 rails {', '.join(names) or '(none)'} are of no known board.")
    early = any(name.endswith(".mW") for _, values in fields for name in values)
    return Trace(
        rail=layout.gpu,
        readings=tuple(
            Reading(t_s=stamp, power_mw=gpu_mw(own), total_mw=total_mw(own), memory_mib=_used_mib(values))
            for stamp, own, values in rails
        ),
        quantum_mw=layout.quantum_mw,
        time_constant_ms=layout.time_constant_ms if early else JETPACK_5_FILTER_MS,
    )


def _rails(values: Mapping[str, str]) -> list[Rail]:
    rails = []
    for name, text in values.items():
        rail, _, unit = name.rpartition(".")
        power = _number(text) if unit == "mW" else None
        if unit == "mV":
            volts, amperes = _number(text), _number(values.get(f"{rail}.mA", ""))
            power = None if volts is None or amperes is None else volts * amperes / 1000.0
        if power is not None:
            rails.append(Rail(name=rail, current_mw=round(power), average_mw=round(power)))
    return rails


def _used_mib(values: Mapping[str, str]) -> float | None:
    found = _AVAILABLE.search(values.get("MEMORY", ""))
    return (int(found[1]) - int(found[2])) / 1024.0 if found else None


def _rapl(lines: StampedLines) -> Trace:
    counters: dict[str, _Counter] = {}
    readings: list[Reading] = []
    for stamp, line in lines:
        energy = _package_mj(dict(_FIELD.findall(line)), counters)
        if energy is not None:
            readings.append(Reading(t_s=stamp, energy_mj=energy))
    return Trace(
        rail="package (RAPL)",
        readings=(*readings[:1], *(_with_mean_power(*pair) for pair in pairwise(readings))),
        quantum_mw=None,
        time_constant_ms=1.0,
        skipped_lines=len(lines) - len(readings),
    )


class _Counter:
    """A counter of microjoules that begins anew at its range, made to grow for ever."""

    def __init__(self) -> None:
        self._before, self._wrapped = 0.0, 0.0

    def __call__(self, microjoules: float, range_microjoules: float) -> float:
        if microjoules < self._before:
            self._wrapped += range_microjoules
        self._before = microjoules
        return self._wrapped + microjoules


def _package_mj(values: Mapping[str, str], counters: dict[str, _Counter]) -> float | None:
    """Energy of all packages in mJ; None where a counter, or its range, could not be read."""
    names = [name.removesuffix(".uJ") for name in values if name.endswith(".uJ")]
    pairs = {name: (_number(values[f"{name}.uJ"]), _number(values.get(f"{name}.range", ""))) for name in names}
    total = 0.0
    for name, (energy, highest) in pairs.items():
        if energy is None or highest is None:
            return None
        total += counters.setdefault(name, _Counter())(energy, highest)
    return total / 1000.0 if pairs else None


def _with_mean_power(before: Reading, reading: Reading) -> Reading:
    elapsed = reading.t_s - before.t_s
    if elapsed <= 0 or before.energy_mj is None or reading.energy_mj is None:
        return reading
    return replace(reading, power_mw=(reading.energy_mj - before.energy_mj) / elapsed)


def _nvml(lines: StampedLines) -> Trace:
    parsed = [(stamp, {name: _number(text) for name, text in _FIELD.findall(line)}) for stamp, line in lines]
    readings = [
        Reading(
            t_s=stamp,
            power_mw=values.get("power_mw"),
            energy_mj=values.get("energy_mj"),
            memory_mib=values.get("memory_mib"),
            gpu_mhz=values.get("gpu_mhz"),
            temperature_c=values.get("temperature_c"),
        )
        for stamp, values in parsed
        if values
    ]
    return Trace(
        rail="GPU board (NVML)",
        readings=tuple(readings),
        quantum_mw=None,
        time_constant_ms=NVML_FILTER_MS,
        skipped_lines=len(lines) - len(readings),
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_READERS: Mapping[str, Callable[[StampedLines], Trace]] = {
    "tegrastats": _tegrastats,
    "ina3221": _ina3221,
    "rapl": _rapl,
    "nvml": _nvml,
}
