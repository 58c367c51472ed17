from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeperf.profilers import filters, rails
from edgeperf.profilers.reduce import reduce
from edgeperf.records import RawRun
from tests.profilers import runs

NANO, TX2, XAVIER = runs.layout("Nano"), runs.layout("TX2"), runs.layout("AGX Xavier")
BOARDS = pytest.mark.parametrize("board", [NANO, TX2, XAVIER], ids=lambda board: board.board)

QUIET = runs.loaded_run(NANO, idle_mw=80.0, plateau_mw=3000.0)


def nvml_run(power_mw: float, *, latency_ms: float, with_counter: bool) -> RawRun:
    """A GPU at constant power, one inference after the other for 3 s."""
    times = np.arange(0.0, 4.0, 0.02)
    lines = tuple(
        (float(time), f"power_mw={power_mw}" + (f" energy_mj={5e6 + power_mw * time}" if with_counter else ""))
        for time in times
    )
    runs_of_a_repeat = round(250 / latency_ms)
    windows = tuple((1.0 + 0.25 * n, 1.25 + 0.25 * n, runs_of_a_repeat) for n in range(12))
    return replace(QUIET, sensor="nvml", sensor_lines=lines, windows=windows, latencies_ms=(latency_ms,) * 50)


@BOARDS
@given(idle_mw=st.floats(0, 2000), plateau_mw=st.floats(100, 15_000), period_ms=st.sampled_from([10, 30, 100]))
@settings(max_examples=8, deadline=None)
def test_the_true_plateau_is_recovered_within_one_quantum(
    board: rails.RailLayout, idle_mw: float, plateau_mw: float, period_ms: int
) -> None:
    run = runs.loaded_run(board, idle_mw=idle_mw, plateau_mw=plateau_mw, period_s=period_ms / 1000)
    found = reduce(run)
    assert found.power_mw is not None
    assert abs(found.power_mw - plateau_mw) <= board.quantum_mw
    assert found.idle_power_mw == pytest.approx(idle_mw, abs=board.quantum_mw)
    assert (found.power_rail, found.power_quantum_mw) == (board.gpu, board.quantum_mw)
    assert found.power_period_ms == pytest.approx(period_ms, rel=1e-6)


@pytest.mark.parametrize(("board", "share"), [(NANO, 0.17), (TX2, 0.023), (XAVIER, 0.023)])
def test_a_short_burst_hardly_moves_the_sensor(board: rails.RailLayout, share: float) -> None:
    times = np.array([0.0, 0.010, 0.020])
    seen = filters.simulate(
        times, np.array([10_000.0, 0.0, 0.0]) * (times < 0.01), time_constant_ms=board.time_constant_ms, quantum_mw=1e-6
    )
    assert seen[0] == 10_000.0  # it has seen the first value for ever
    times, truth = np.array([0.0, 1.0, 1.010]), np.array([0.0, 10_000.0, 0.0])
    seen = filters.simulate(times, truth, time_constant_ms=board.time_constant_ms, quantum_mw=1e-6)
    assert seen[-1] == pytest.approx(share * 10_000, rel=0.02)


@BOARDS
def test_windows_that_begin_too_early_read_too_little(board: rails.RailLayout) -> None:
    run = runs.loaded_run(board, idle_mw=100.0, plateau_mw=9000.0)
    early = tuple((10.0 + 0.01 * n, 10.01 + 0.01 * n, 1) for n in range(4))
    times = np.arange(9.0, 12.0, 0.002)
    lines = runs.readings(board, times, np.where(times < 10.0, 100.0, 9000.0))
    found = reduce(replace(run, windows=early, sensor_lines=lines))
    assert found.power_mw is not None
    assert found.power_mw < 9000.0 - board.quantum_mw


@pytest.mark.parametrize(("board", "known_rule_s"), [(NANO, 0.3), (TX2, 2.2), (XAVIER, 2.2)])
def test_the_time_to_settle_is_at_least_that_of_the_known_rule(board: rails.RailLayout, known_rule_s: float) -> None:
    settled = filters.settle_s(time_constant_ms=board.time_constant_ms, quantum_mw=board.quantum_mw)
    assert settled >= known_rule_s
    left = filters.LARGEST_STEP_MW * np.exp(-settled * 1000 / board.time_constant_ms)
    assert left == pytest.approx(board.quantum_mw / 2)


@given(st.lists(st.floats(0.01, 1e4), min_size=2, max_size=200))
@settings(max_examples=100, deadline=None)
def test_the_latency_summary_is_that_of_numpy(times: list[float]) -> None:
    found = reduce(replace(QUIET, latencies_ms=tuple(times), sensor="none"))
    assert found.latency_ms == pytest.approx(np.mean(times))
    assert found.latency_spread == pytest.approx(np.std(times, ddof=1) / np.mean(times), abs=1e-9)


@given(st.floats(100, 50_000), st.floats(0.1, 500))
@settings(max_examples=50, deadline=None)
def test_constant_power_over_a_time_gives_their_product(power_mw: float, latency_ms: float) -> None:
    found = reduce(nvml_run(power_mw, latency_ms=latency_ms, with_counter=False))
    assert found.energy_mj == pytest.approx(power_mw * latency_ms / 1000)


@pytest.mark.parametrize("latency_ms", [1.0, 5.0, 25.0])
def test_an_energy_counter_gives_the_energy_of_one_inference(latency_ms: float) -> None:
    found = reduce(nvml_run(60_000.0, latency_ms=latency_ms, with_counter=True))
    assert found.energy_mj == pytest.approx(60_000.0 * latency_ms / 1000, rel=1e-6)
    assert found.power_rail == "GPU board (NVML)"


def test_a_rapl_counter_begins_anew_without_a_trace() -> None:
    power_mw, highest = 20_000.0, 3e7  # so low that it begins anew twice
    lines = tuple(
        (t, f"package-0.range={highest} package-0.uJ={power_mw * 1000 * t % highest}")
        for t in np.arange(0.0, 4.0, 0.02)
    )
    base = nvml_run(1.0, latency_ms=5.0, with_counter=False)
    found = reduce(replace(base, sensor="rapl", sensor_lines=lines))
    assert found.power_mw == pytest.approx(power_mw, rel=0.01)
    assert found.energy_mj == pytest.approx(power_mw * 5.0 / 1000, rel=0.01)


def test_power_is_the_median_over_repeats_of_the_highest_reading_in_each() -> None:
    highest = {n: 3000.0 + 10 * n for n in range(12)}
    begin = QUIET.windows[0][0]
    lines = tuple(
        (begin + 0.25 * n + at, runs.line(NANO, power))
        for n, top in highest.items()
        for at, power in ((0.05, top - 400), (0.12, top), (0.2, top - 200))
    )
    assert reduce(replace(QUIET, sensor_lines=lines)).power_mw == np.median(list(highest.values()))


def test_memory_is_the_peak_while_running_with_what_was_used_before_beside_it() -> None:
    found = reduce(QUIET)
    assert (found.memory_mib, found.memory_before_mib) == (1500, 1000)


def test_kernel_times_of_a_profiler_are_divided_by_the_runs() -> None:
    nvprof = "Time(%),Time,Calls,Avg,Min,Max,Name\n90%,100ms,50,2ms,2ms,2ms,conv\n10%,9ms,1,9ms,9ms,9ms,[CUDA memset]\n"
    found = reduce(replace(QUIET, outputs={"nvprof": nvprof}))
    assert found.latency_ms == pytest.approx(2.0)
    assert found.latency_method == "sum of GPU kernel times (nvprof)"


@pytest.mark.parametrize("status", ["oom", "timeout", "crashed", "gone"])
def test_a_failure_has_no_labels(status: str) -> None:
    failed = replace(QUIET, status=status, message="the reason")
    found = reduce(failed)
    assert (found.status, found.warnings) == (status, ("the reason",))
    assert (found.latency_ms, found.power_mw, found.energy_mj, found.memory_mib) == (None,) * 4


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sensor": "none", "sensor_missing": "no counters here"}, "no power: no counters here"),
        ({"sensor_lines": ()}, "no power: None of 0 line"),
        ({"sensor_lines": ((10.0, "RAM 900/3964MB (lfb 3x4MB) CPU [1%@102]"),)}, "no power: No power rail"),
        ({"latencies_ms": ()}, "no latency: the runs left no times"),
        (
            {"outputs": {"nvprof": "nvprof is not supported on devices with compute capability 8.0"}},
            "no latency: No table",
        ),
    ],
)
def test_what_was_not_measured_is_none_with_the_reason(changes: dict[str, object], reason: str) -> None:
    found = reduce(replace(QUIET, **changes))  # type: ignore[arg-type]
    assert any(text.startswith(reason) for text in found.warnings), found.warnings
    assert found.energy_mj is None
    assert found.power_mw != 0
    assert found.latency_ms != 0


def test_a_quiet_run_has_no_verdict() -> None:
    assert reduce(QUIET).warnings == ()


GPU = "sys/class/devfreq/57000000.gpu/"
LOCKED = {**runs.JETSON, f"{GPU}min_freq": "921600000", f"{GPU}max_freq": "921600000"}
LOOSE = {**LOCKED, f"{GPU}min_freq": "76800000"}
COOLING = "sys/class/thermal/cooling_device3/"
OVER_CURRENT = "sys/class/hwmon/hwmon2/oc1_event_cnt"
MODES = "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=5W >"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"latencies_ms": tuple(10.0 + 5 * (n % 2) for n in range(50))}, "unstable latency"),
        ({"latencies_ms": tuple(10.0 + 0.03 * n for n in range(50))}, "latency drifts"),
        ({"latencies_ms": (10.0,) * 3}, "too few timed runs: 3"),
        ({"latencies_ms": (10.0,) * 30}, "30 timed runs instead of 50"),
        ({"windows": ((11.0, 11.25, 9), (11.25, 11.5, 9))}, "too few power readings: 2 of 12"),
        ({"state_before": LOOSE}, "clocks are not locked (57000000.gpu 77-922 MHz)"),
        (
            {"state_before": {**LOCKED, "etc/nvpmodel.conf": MODES, "nvpmodel -q": "NV Power Mode: 5W\n1\n"}},
            "power mode 5W",
        ),
        (
            {
                "state_before": {**LOCKED, f"{COOLING}cur_state": "0"},
                "state_after": {**LOCKED, f"{COOLING}cur_state": "2", f"{COOLING}type": "gpu-balanced"},
            },
            "throttling: gpu-balanced went from 0 to 2",
        ),
        (
            {"state_before": {**LOCKED, OVER_CURRENT: "4"}, "state_after": {**LOCKED, OVER_CURRENT: "5"}},
            f"throttling: {OVER_CURRENT} went from 4 to 5",
        ),
        ({"sampler_cpu_share": 0.05}, "the sampler took 5.0% of a core"),
        ({"process_memory_kib": (1000, 2000)}, "memory is that of the process"),
        ({"loaded_idle_lines": ()}, "idle power with the network loaded was not recorded"),
        ({"outputs": {"nvprof": "==1== Warning: 9 records were lost."}}, "nvprof: 9 records were lost."),
        ({"outputs": {"trtexec": "&&&& PASSED"}}, "trtexec warms up for 200 ms instead of 10 runs"),
    ],
)
def test_verdicts(changes: dict[str, object], verdict: str) -> None:
    base = replace(QUIET, state_before=LOCKED, state_after=LOCKED)
    found = reduce(replace(base, **changes))  # type: ignore[arg-type]
    assert any(text.startswith(verdict) for text in found.warnings), found.warnings


def test_power_that_moves_on_the_plateau_is_told() -> None:
    run = QUIET
    begin, end = run.windows[0][0], run.windows[-1][1]
    times = np.arange(9.0, end, 0.01)
    rising = np.where(times < begin, 3000.0, 3000.0 + 1000.0 * (times - begin))
    found = reduce(replace(run, sensor_lines=runs.readings(NANO, times, rising)))
    assert any("power drifts" in text for text in found.warnings)
    assert any("unstable power" in text for text in found.warnings)


def test_a_clock_that_falls_under_load_is_throttling() -> None:
    run = QUIET
    middle = run.windows[5][0]
    slowed = tuple((t, text.replace("@921", "@640") if t > middle else text) for t, text in run.sensor_lines)
    assert any("fell from 921 to 640 MHz" in text for text in reduce(replace(run, sensor_lines=slowed)).warnings)
