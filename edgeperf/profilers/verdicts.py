"""A run and its trace → what a person should know before trusting its labels.

A verdict is a sentence, stored with the measurement, printed and shown. It never changes a number.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import chain

from edgeperf.profilers import nvprof, state
from edgeperf.profilers.readings import Trace
from edgeperf.profilers.runtimes import TRTEXEC_WARM_UP_MS
from edgeperf.records import RawRun

LARGEST_SPREAD = 0.10
LARGEST_DRIFT = 0.05
LARGEST_SAMPLER_SHARE = 0.02
FEWEST_PEAKS = 3
FEWEST_TIMES = 10
LOWEST_CLOCK_RATIO = 0.95


def all_of(run: RawRun, trace: Trace | None, peaks: Sequence[float]) -> tuple[str, ...]:
    """Every verdict on one run, in the order: latency, power, board, plan."""
    return tuple(chain(_on_latency(run), _on_power(run, trace, peaks), _on_board(run), _on_plan(run)))


def drift(values: Sequence[float]) -> float:
    """Mean of the last third over that of the first, less one; 0 for fewer than six values.

    >>> drift([1.0, 1.0, 1.0, 1.0, 1.5, 1.5])
    0.5
    """
    third = len(values) // 3
    if third < 2:
        return 0.0
    return statistics.fmean(values[-third:]) / statistics.fmean(values[:third]) - 1.0


def _on_latency(run: RawRun) -> Iterator[str]:
    times = run.latencies_ms
    if 0 < len(times) < min(FEWEST_TIMES, run.plan.timed_runs):
        yield f"too few timed runs: {len(times)}"
    if len(times) > 1:
        ratio = statistics.stdev(times) / statistics.fmean(times)
        if ratio > LARGEST_SPREAD:
            yield f"unstable latency: its standard deviation is {ratio:.0%} of its mean"
        if abs(drift(times)) > LARGEST_DRIFT:
            yield f"latency drifts: the last third of the runs takes {drift(times):+.0%} against the first"
    for tool, text in run.outputs.items():
        yield from (f"{tool}: {remark}" for remark in nvprof.remarks(text) if tool == "nvprof")


def _on_power(run: RawRun, trace: Trace | None, peaks: Sequence[float]) -> Iterator[str]:
    if trace is None:
        return
    if len(peaks) < min(FEWEST_PEAKS, run.plan.repeats):
        yield f"too few power readings: {len(peaks)} of {run.plan.repeats} repeats hold one"
    if len(peaks) > 1 and statistics.median(peaks) > 0:
        middle = statistics.median(peaks)
        quantum = trace.quantum_mw or 0.0
        deciles = statistics.quantiles(peaks, n=10)
        if deciles[-1] - deciles[0] > max(LARGEST_SPREAD * middle, 2.0 * quantum):
            yield f"unstable power: the middle 80 % of the peaks span {deciles[-1] - deciles[0]:.0f} mW"
        if abs(drift(peaks)) * middle > max(LARGEST_DRIFT * middle, quantum):
            yield f"power drifts: the last third of the repeats takes {drift(peaks):+.0%} against the first"
    if trace.skipped_lines:
        yield f"{trace.skipped_lines} sensor line(s) held no reading"
    clocks = [reading.gpu_mhz for reading in trace.between(*_loaded(run)) if reading.gpu_mhz]
    if run.device.clocks_locked and clocks and min(clocks) < LOWEST_CLOCK_RATIO * max(clocks):
        yield f"throttling: the GPU clock fell from {max(clocks):.0f} to {min(clocks):.0f} MHz under load"


def _loaded(run: RawRun) -> tuple[float, float]:
    return (run.windows[0][0], run.windows[-1][1]) if run.windows else (0.0, -1.0)


def _on_board(run: RawRun) -> Iterator[str]:
    before, after = run.state_before, run.state_after
    loose = state.unlocked(before)
    if state.is_jetson(before) and loose:
        yield f"clocks are not locked ({', '.join(loose[:3])}): run `sudo jetson_clocks` on the board after each reboot"
    slower = state.slower_mode(before)
    if slower:
        yield f"power mode {slower} is not the fastest: run `sudo nvpmodel -m ID` with the id of MAXN"
    if state.power_mode(before) != state.power_mode(after):
        yield f"the power mode changed to {state.power_mode(after)} meanwhile"
    for cause in state.throttling(before, after):
        yield f"throttling: {cause}"
    if run.sampler_cpu_share is not None and run.sampler_cpu_share > LARGEST_SAMPLER_SHARE:
        share = f"{run.sampler_cpu_share:.1%}"
        yield f"the sampler took {share} of a core, which the network lacked; a longer sample_period_ms costs less"


def _on_plan(run: RawRun) -> Iterator[str]:
    """What was not done as the plan says."""
    if run.latencies_ms and len(run.latencies_ms) != run.plan.timed_runs:
        yield f"{len(run.latencies_ms)} timed runs instead of {run.plan.timed_runs}"
    if "trtexec" in run.outputs:
        yield f"trtexec warms up for {TRTEXEC_WARM_UP_MS} ms instead of {run.plan.warmup_runs} runs"
    if run.windows and len(run.windows) != run.plan.repeats:
        yield f"{len(run.windows)} power repeats instead of {run.plan.repeats}"
    if run.process_memory_kib is not None:
        yield "memory is that of the process, not of the whole machine"
    if run.sensor == "nvml":
        yield "memory is that of the GPU, all processes together"
    if run.sensor_missing is None and run.windows and not run.loaded_idle_lines:
        yield "idle power with the network loaded was not recorded: this runtime cannot wait before it runs"
