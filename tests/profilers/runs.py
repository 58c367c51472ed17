"""Synthetic runs: a board whose truth is known, seen through its sensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.profilers import filters
from edgeperf.profilers.rails import LAYOUTS, RailLayout
from edgeperf.records import Device, Plan, RawRun

JETSON = {"etc/nv_tegra_release": "# R32 (release), REVISION: 7.1"}


def layout(board: str) -> RailLayout:
    return next(each for each in LAYOUTS if each.board == board)


def line(board: RailLayout, gpu_mw: float, *, ram: int = 1000, mhz: int = 921) -> str:
    rails = dict.fromkeys((*board.total, *board.marks), 2000) | {board.gpu: round(gpu_mw)}
    readings = " ".join(f"{name} {value}/{value}" for name, value in rails.items())
    return f"RAM {ram}/3964MB (lfb 3x4MB) CPU [1%@102] GR3D_FREQ 9%@{mhz} GPU@31C {readings}"


def readings(
    board: RailLayout, times: npt.NDArray[np.float64], truth: npt.NDArray[np.float64], *, ram: int = 1000
) -> tuple[tuple[float, str], ...]:
    """Lines of tegrastats while the GPU truly takes `truth` mW."""
    seen = filters.simulate(times, truth, time_constant_ms=board.time_constant_ms, quantum_mw=board.quantum_mw)
    return tuple((float(time), line(board, power, ram=ram)) for time, power in zip(times, seen, strict=True))


def loaded_run(
    board: RailLayout, *, idle_mw: float, plateau_mw: float, period_s: float = 0.02, **wanted: Any
) -> RawRun:
    """Idle for 10 s, then inferences back to back: the sensor settles, then come the repeats."""
    plan = Plan(repeats=12, timed_runs=50)
    settle_s = filters.settle_s(time_constant_ms=board.time_constant_ms, quantum_mw=board.quantum_mw)
    begin = 10.0 + settle_s
    windows = tuple((begin + 0.25 * n, begin + 0.25 * (n + 1), 20) for n in range(plan.repeats))
    times = np.arange(9.0, windows[-1][1], period_s)
    idle_times = np.arange(0.0, 9.0, period_s)
    given: dict[str, Any] = {
        "network": "net",
        "device": Device(name="device", board=board.board, clocks_locked=True),
        "plan": plan,
        "latencies_ms": tuple(10.0 + 0.01 * (n % 5) for n in range(plan.timed_runs)),
        "sensor_lines": readings(board, times, np.where(times < 10.0, idle_mw, plateau_mw), ram=1500),
        "idle_lines": readings(board, idle_times, np.full_like(idle_times, idle_mw)),
        "loaded_idle_lines": readings(board, idle_times, np.full_like(idle_times, idle_mw)),
        "agent_sha256": "0" * 64,
        "windows": windows,
        "state_before": JETSON,
        "state_after": JETSON,
    }
    return RawRun(**{**given, **wanted})
