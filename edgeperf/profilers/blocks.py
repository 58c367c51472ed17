"""Small models, many per process → how long a call of each takes, and what the sensor said meanwhile.

For operations that are too short for a process of their own; see `edgeperf.profilers.board_operations` for how they are
run. Everything here is pure but for the files of the job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgeperf.errors import InvalidInput
from edgeperf.profilers import readings, recordings
from edgeperf.profilers.board import Job
from edgeperf.profilers.recipes import Recipe
from edgeperf.profilers.runtimes import Runtime
from edgeperf.profilers.sensors import Sensor
from edgeperf.profilers.transport import OPERATIONS
from edgeperf.records import Status

CACHE_BYTES = 64 * 2**20
"""A block's tensors together exceed this where that takes at most `MOST_INSTANCES`."""
MOST_INSTANCES = 8
LEAST_TIMING_S = 0.005
"""Of one timing, so that reading the clock and waiting for the device do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlan:
    """How small models are measured.

    Attributes:
        gpu_mhz: clock to keep the GPU at, or the nearest that it offers, where the user has the right; None leaves it
            alone.
        training: forward pass and gradients for a given one, instead of inference.
        least_s: of timings of one model; the sensor's settling time comes on top.
        least_timings: of one model, whatever the time.
        warmup_blocks: untimed.
        sample_period_ms: what the power sensor is asked for.
        timeout_s: of one model beyond the time that it is measured for, and of the process's start.
    """

    gpu_mhz: float | None = None
    training: bool = False
    least_s: float = 0.3
    least_timings: int = 10
    warmup_blocks: int = 3
    sample_period_ms: float = 20.0
    timeout_s: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun:
    """What became of one model.

    Attributes:
        status: ``"ok"``, ``"oom"``, ``"timeout"`` or ``"crashed"``; the caller may say ``"skipped"``.
        message: why it is not ``"ok"``.
        timings_ms: per call, one of each timing.
        calls: timed in all.
        powers_mw: readings meanwhile; empty where there is no sensor.
        clocks_mhz: of the GPU, likewise.
        power_quantum_mw: step between two readings; None where not known.
    """

    status: Status | Literal["skipped"]
    message: str = ""
    timings_ms: tuple[float, ...] = ()
    calls: int = 0
    powers_mw: tuple[float, ...] = ()
    clocks_mhz: tuple[float, ...] = ()
    power_quantum_mw: float | None = None


def job(
    job_id: str,
    models: Mapping[str, Recipe],
    folder: Path,
    *,
    batch_size: int,
    runtime: Runtime,
    sensor: Sensor,
    plan: BlockPlan,
    env: Mapping[str, str],
) -> Job:
    """The job that measures models, each under its key; its file is written to `folder`.

    Raises:
        InvalidInput: the runtime does not build models from recipes.
    """
    if runtime.name != "keras":
        raise InvalidInput("Operations are measured with the runtime keras alone; pass --runtime keras.")
    share_s = plan.timeout_s + plan.least_s + sensor.settle_s
    timeout_s = share_s * (1 + len(models))  # the process keeps to the shares itself; this ends one that cannot
    asked = {
        "operations": [{"key": key, "recipe": recipe} for key, recipe in models.items()],
        "batch_size": batch_size,
        "training": plan.training,
        "seed": 0,
        "cache_bytes": CACHE_BYTES,
        "most_instances": MOST_INSTANCES,
        "warmup_blocks": plan.warmup_blocks,
        "settle_s": sensor.settle_s,
        "least_timing_s": LEAST_TIMING_S,
        "least_s": plan.least_s,
        "least_timings": plan.least_timings,
        "share_s": share_s,
    }
    path = folder / "operations.json"
    path.write_text(json.dumps(asked), encoding="utf-8")
    argv = [runtime.python, OPERATIONS.name, path.name]
    step = {"name": "run", "argv": argv, "timeout_s": timeout_s, "sample": True}
    return Job(
        id=job_id,
        files={path.name: path},
        steps=(step,),
        sensor=sensor.request,
        idle_s=0.0,
        timeout_s=timeout_s,
        env=env,
        gpu_mhz=plan.gpu_mhz,
    )


def clock_job(gpu_mhz: float) -> Job:
    """The job that runs nothing at a clock; `set_clock` of its recording is the one that the device then had."""
    return Job(id=f"clock-{gpu_mhz:g}", files={}, steps=(), sensor=None, idle_s=0.0, timeout_s=0.0, gpu_mhz=gpu_mhz)


def set_clock(recording: Mapping[str, Any]) -> float | None:
    """The clock in MHz that the GPU was kept at, which need not be offered as asked for; None: it was left alone."""
    found: float | None = recording.get("gpu_mhz")
    return found


def runs(recording: Mapping[str, Any], keys: Sequence[str], sensor: Sensor) -> dict[str, BlockRun]:
    """Key → what became of the model.

    A process that ends early takes the model that it was at with it, and those after that are left out: they were
    never tried. A model counts as too slow only where it used up its own share of the time.

    Raises:
        InvalidInput: the process ended before it had loaded Keras.
    """
    step = next(step for step in recording["steps"] if step["name"] == "run")
    said = list(recordings.events(step))
    trace = _trace(step, sensor)
    found = {event["key"]: _run(event, said, trace) for event in said if event["event"] in ("operation", "failed")}
    status, message = recordings.ending(recording)
    if not any(event["event"] == "before" for event in said):
        raise InvalidInput(f"Keras does not start on the device: {message}.")
    missing = [key for key in keys if key not in found]
    if status == "ok":
        return {**found, **{key: BlockRun(status="crashed", message="it left no times") for key in missing}}
    begun = next((event for event in said if event["event"] == "begin" and event["key"] in missing), None)
    if begun is not None and step["end"] - begun["t"] >= begun["share_s"]:
        message = f"it did not end within {begun['share_s']:g} s"
        return {**found, begun["key"]: BlockRun(status="timeout", message=message)}
    if status == "timeout" and found:  # those before it took the time; it is tried again
        return found
    return {**found, **{key: BlockRun(status=status, message=message) for key in missing[:1]}}


def _run(event: Mapping[str, Any], said: Sequence[Mapping[str, Any]], trace: readings.Trace | None) -> BlockRun:
    if event["event"] == "failed":
        status: Status = "oom" if recordings.tells_out_of_memory(event["message"]) else "crashed"
        return BlockRun(status=status, message=event["message"])
    times = (each["ms"] for each in said if each["event"] == "times" and each["key"] == event["key"])
    during = trace.between(event["begin"], event["end"]) if trace else ()
    return BlockRun(
        status="ok",
        timings_ms=tuple(float(time) for some in times for time in some),
        calls=event["calls"],
        powers_mw=tuple(reading.power_mw for reading in during if reading.power_mw is not None),
        clocks_mhz=tuple(reading.gpu_mhz for reading in during if reading.gpu_mhz is not None),
        power_quantum_mw=trace.quantum_mw if trace else None,
    )


def _trace(step: Mapping[str, Any], sensor: Sensor) -> readings.Trace | None:
    if sensor.request is None:
        return None
    try:
        return readings.read(sensor.name, [(float(stamp), str(line)) for stamp, line in step["sensor"]])
    except InvalidInput:  # the sensor said nothing; times stand without power
        return None
