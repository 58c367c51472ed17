"""RawRun → Measurement: pure, so that a better rule re-applies to every recording.

::

    idle          load    settle      repeat 1  repeat 2  ...  repeat n
    ____________ ......../‾‾‾‾‾‾‾‾‾‾|‾‾‾‾‾‾‾‾‾|‾‾‾‾‾‾‾‾‾|    |‾‾‾‾‾‾‾‾‾|
    idle power            not read    peak      peak           peak       → power: median of the peaks

Latency is the mean over the timed runs, or the time of all kernels over the number of runs. Power is read only where
inferences ran back to back for longer than the sensor's filter needs (see `edgeperf.profilers.filters`). Energy of one
inference is power times latency, or a counter's difference over the inferences of the plateau where there is a counter.
Idle power is told beside the label and subtracted from nothing.

Reference: Bouzidi et al. 2022, section 4 (medians of peaks over repeats; mean latency of 100 images).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from edgeperf import units
from edgeperf.errors import InvalidInput
from edgeperf.profilers import kernels, nsys, nvprof, readings, trtexec, verdicts
from edgeperf.profilers.readings import Reading, Trace
from edgeperf.records import Measurement, RawRun

KIB_PER_MIB = 1024.0
_KERNEL_READERS = {"nvprof": (nvprof.parse_kernels, nvprof.METHOD), "nsys": (nsys.parse_kernels, nsys.METHOD)}
WALL_METHOD = "wall clock of one inference, mean"


def reduce(run: RawRun) -> Measurement:
    """The labels of one run, with verdicts on what may be wrong with them."""
    if run.status != "ok":
        return Measurement(
            network=run.network, device=run.device, plan=run.plan, status=run.status, warnings=(run.message,)
        )
    latency_ms, method, problems = _latency(run)
    trace, missing = _trace(run)
    problems += missing
    peaks = plateau_peaks(run, trace) if trace else ()
    power_mw = statistics.median(peaks) if peaks else None
    before, peak = _memory(run, trace)
    return Measurement(
        network=run.network,
        device=run.device,
        plan=run.plan,
        latency_ms=latency_ms,
        latency_method=method,
        power_mw=power_mw,
        power_rail=trace.rail if trace and power_mw is not None else None,
        idle_power_mw=_idle_mw(run, run.idle_lines),
        idle_loaded_power_mw=_idle_mw(run, run.loaded_idle_lines),
        energy_mj=_energy(run, trace, latency_ms, power_mw),
        memory_mib=peak,
        memory_before_mib=before,
        power_quantum_mw=trace.quantum_mw if trace else None,
        power_period_ms=period_ms(trace.readings) if trace else None,
        latency_spread=spread(run.latencies_ms),
        sampler_cpu_share=run.sampler_cpu_share,
        warnings=(*problems, *verdicts.all_of(run, trace, peaks)),
    )


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation over mean; None for fewer than two values.

    >>> spread([9.0, 10.0, 11.0])
    0.1
    """
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else None


def period_ms(found: Sequence[Reading]) -> float | None:
    """Median time between two readings in ms; None for fewer than two."""
    gaps = [(later.t_s - earlier.t_s) * 1000.0 for earlier, later in pairwise(found)]
    return statistics.median(gaps) if gaps else None


def plateau_peaks(run: RawRun, trace: Trace) -> tuple[float, ...]:
    """Highest reading in each repeat, in mW; repeats without a reading give none."""
    peaks = []
    for begin, end, _ in run.windows:
        powers = [reading.power_mw for reading in trace.between(begin, end) if reading.power_mw is not None]
        if powers:
            peaks.append(max(powers))
    return tuple(peaks)


def _latency(run: RawRun) -> tuple[float | None, str | None, tuple[str, ...]]:
    """Mean latency in ms, how it came about, and why there is none."""
    for tool, (parse, method) in _KERNEL_READERS.items():
        if tool in run.outputs:
            try:
                return kernels.total_ms(parse(run.outputs[tool])) / run.plan.timed_runs, method, ()
            except InvalidInput as problem:
                return None, None, (f"no latency: {problem}",)
    if not run.latencies_ms:
        return None, None, ("no latency: the runs left no times",)
    method = trtexec.METHOD if "trtexec" in run.outputs else WALL_METHOD
    return statistics.fmean(run.latencies_ms), method, ()


def _trace(run: RawRun) -> tuple[Trace | None, tuple[str, ...]]:
    if run.sensor_missing is not None or run.sensor == "none":
        return None, (f"no power: {run.sensor_missing or 'no sensor was asked for'}",)
    try:
        return readings.read(run.sensor, run.sensor_lines), ()
    except InvalidInput as problem:
        return None, (f"no power: {problem}",)


def _idle_mw(run: RawRun, lines: readings.StampedLines) -> float | None:
    """Mean idle power in mW over what came after the filter had settled."""
    if run.sensor == "none" or not lines:
        return None
    try:
        trace = readings.read(run.sensor, lines)
    except InvalidInput:
        return None  # said once, by the trace under load
    settled = trace.readings[0].t_s + 5.0 * trace.time_constant_ms / units.MILLISECONDS_PER_SECOND
    powers = [reading.power_mw for reading in trace.readings if reading.t_s >= settled and reading.power_mw is not None]
    return statistics.fmean(powers) if powers else None


def _energy(run: RawRun, trace: Trace | None, latency_ms: float | None, power_mw: float | None) -> float | None:
    """Energy of one inference in mJ."""
    counted = _counted_energy(run, trace) if trace else None
    if counted is not None:
        return counted
    return None if latency_ms is None or power_mw is None else units.energy_mj(latency_ms, power_mw)


def _counted_energy(run: RawRun, trace: Trace) -> float | None:
    """A counter's difference over the inferences of the plateau, in mJ each; None without counter or inferences."""
    if not run.windows or any(runs is None for _, _, runs in run.windows):
        return None
    begin, end = run.windows[0][0], run.windows[-1][1]
    counted = [reading for reading in trace.between(begin, end) if reading.energy_mj is not None]
    if len(counted) < 2:
        return None
    first, last = counted[0], counted[-1]
    inferences = sum(runs or 0 for _, _, runs in run.windows) * (last.t_s - first.t_s) / (end - begin)
    return ((last.energy_mj or 0.0) - (first.energy_mj or 0.0)) / inferences if inferences > 0 else None


def _memory(run: RawRun, trace: Trace | None) -> tuple[float | None, float | None]:
    """Memory in use before and, at its peak, while running, in MiB: of the process, else of the whole board."""
    if run.process_memory_kib is not None:
        before_kib, peak_kib = run.process_memory_kib
        return before_kib / KIB_PER_MIB, peak_kib / KIB_PER_MIB
    if trace is None:
        return None, None
    begin = run.windows[0][0] if run.windows else float("-inf")
    used = [reading.memory_mib for reading in trace.readings if reading.memory_mib is not None and reading.t_s >= begin]
    return _idle_memory(run), max(used, default=None)


def _idle_memory(run: RawRun) -> float | None:
    try:
        idle = readings.read(run.sensor, run.idle_lines).readings if run.idle_lines else ()
    except InvalidInput:
        return None
    used = [reading.memory_mib for reading in idle if reading.memory_mib is not None]
    return statistics.median(used) if used else None
