"""A recording, as the agent wrote it → `RawRun`: sorted by what it is, and still unparsed.

What the agent's steps are called is agreed with `edgeperf.profilers.runtimes`: "run" is the step that the sensor
watched, "latency" the one that a profiler or trtexec timed, "nsys" the report on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.profilers import state, trtexec
from edgeperf.profilers.runtimes import REPEAT_S
from edgeperf.profilers.sensors import Sensor
from edgeperf.records import Device, Plan, RawRun, Status

_MARK = "EDGEPERF "
_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|ResourceExhausted|RESOURCE_EXHAUSTED|OOM when allocating|MemoryError|NvMapMemAlloc"
    r"|Cannot allocate memory|bad_alloc",
    re.IGNORECASE,
)
_TENSORRT = re.compile(r"\[TensorRT v([0-9]{1,9})\]")
_TRTEXEC_BEGINS, _TRTEXEC_ENDS = "Starting inference", "=== Performance summary"
_MESSAGE_LINES = 5
Step = Mapping[str, Any]


def to_raw_run(recording: Mapping[str, Any], *, network: str, device: Device, plan: Plan, sensor: Sensor) -> RawRun:
    """The run that a recording holds.

    Args:
        recording: what the agent wrote.
        network: its name in the dataset.
        device: the state it was in.
        plan: what was asked for.
        sensor: what was recorded with.
    """
    steps = {step["name"]: step for step in recording["steps"]}
    status, message = ending(recording)
    said = list(events(steps.get("run")))
    return RawRun(
        network=network,
        device=device,
        plan=plan,
        status=status,
        message=message,
        latencies_ms=_latencies(steps, said) if status == "ok" else (),
        sensor=sensor.name,
        sensor_missing=sensor.missing or _failure_of_sensor(steps.get("run")),
        sensor_lines=_stamped(steps["run"]["sensor"]) if "run" in steps else (),
        idle_lines=_stamped(recording["idle"]),
        loaded_idle_lines=_loaded_idle(steps.get("run"), said),
        windows=_windows(steps.get("run"), said, sensor.settle_s)[: plan.repeats],
        outputs=dict(_outputs(steps)),
        state_before=recording["state_before"],
        state_after=recording["state_after"],
        process_memory_kib=None if _tells_memory(recording, sensor) else _process_memory(said),
        sampler_cpu_share=_sampler_share(steps.get("run")) if sensor.request else None,
        agent_sha256=recording["agent_sha256"],
    )


def ending(recording: Mapping[str, Any]) -> tuple[Status, str]:
    """How the steps ended, and the last lines of the one that failed."""
    failed = next((step for step in recording["steps"] if step["returncode"] != 0), None)
    if failed is None:
        return "ok", ""
    lines = [line for _, line in failed["output"] if line.strip() and not line.startswith(_MARK)]
    said = " / ".join(lines[-_MESSAGE_LINES:]) or "it printed nothing"
    if failed["timed_out"]:
        return "timeout", f"{failed['name']} did not end within its time limit: {said}"
    before, after = (state.out_of_memory_kills(recording[when]) for when in ("state_before", "state_after"))
    if after > before or any(tells_out_of_memory(line) for line in lines):
        return "oom", f"{failed['name']} ran out of memory: {said}"
    return "crashed", f"{failed['name']} ended with exit code {failed['returncode']}: {said}"


def framework(recording: Mapping[str, Any]) -> str | None:
    """What ran the networks, with versions, e.g. ``"keras 3.10.0 on jax 0.7.0"``; None where nothing says."""
    for step in recording["steps"]:
        for event in events(step):
            if event["event"] == "before" and "keras" in event:
                return f"keras {event['keras']} on {event['backend']} {event.get('backend_version') or ''}".strip()
        for _, line in step["output"]:
            if found := _TENSORRT.search(line):
                return f"TensorRT {found[1]}"
    return None


def tells_out_of_memory(text: str) -> bool:
    """Whether a message of a framework, a driver or the system says that memory ran out."""
    return _OUT_OF_MEMORY.search(text) is not None


def events(step: Step | None) -> Iterator[dict[str, Any]]:
    """What the inference process said; a line that another message ran into is lost, and the counts tell."""
    for _, line in step["output"] if step else ():
        if line.startswith(_MARK):
            try:
                yield json.loads(line.removeprefix(_MARK))
            except json.JSONDecodeError:
                continue


def _stamped(lines: Sequence[Sequence[Any]]) -> tuple[tuple[float, str], ...]:
    return tuple((float(stamp), str(line)) for stamp, line in lines)


def _latencies(steps: Mapping[str, Step], said: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    times = steps.get("latency", {}).get("files", {}).get("times.json")
    if times is not None:
        try:
            return trtexec.parse_times(times)
        except InvalidInput:  # no times, which the reduction says
            return ()
    return tuple(float(time) for event in said if event["event"] == "latency" for time in event["ms"])


def _failure_of_sensor(step: Step | None) -> str | None:
    return step["sensor_error"] if step else None


def _loaded_idle(step: Step | None, said: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, str], ...]:
    spans = [(event["begin"], event["end"]) for event in said if event["event"] == "idle"]
    lines = _stamped(step["sensor"]) if step else ()
    return tuple((stamp, line) for stamp, line in lines for begin, end in spans if begin <= stamp <= end)


def _windows(
    step: Step | None, said: Sequence[Mapping[str, Any]], settle_s: float
) -> tuple[tuple[float, float, int | None], ...]:
    counted = tuple((event["begin"], event["end"], event["runs"]) for event in said if event["event"] == "repeat")
    return counted or tuple((begin, end, None) for begin, end in _trtexec_windows(step, settle_s))


def _trtexec_windows(step: Step | None, settle_s: float) -> Iterator[tuple[float, float]]:
    """Windows between the lines with which trtexec begins and ends its inferences, after the sensor has settled."""
    stamps = {
        mark: stamp
        for stamp, line in (step["output"] if step else ())
        for mark in (_TRTEXEC_BEGINS, _TRTEXEC_ENDS)
        if mark in line
    }
    if len(stamps) == 2:
        begin, end = stamps[_TRTEXEC_BEGINS] + settle_s, stamps[_TRTEXEC_ENDS]
        for number in range(int((end - begin) / REPEAT_S)):
            yield begin + number * REPEAT_S, begin + (number + 1) * REPEAT_S


def _outputs(steps: Mapping[str, Step]) -> Iterator[tuple[str, str]]:
    latency = steps.get("latency")
    if latency and "nvprof.csv" in latency["files"]:
        yield "nvprof", latency["files"]["nvprof.csv"]
    if "nsys" in steps:
        yield "nsys", _text(steps["nsys"])
    if latency and "times.json" in latency["files"]:
        yield "trtexec", _text(latency)


def _text(step: Step) -> str:
    return "\n".join(line for _, line in step["output"])


def _tells_memory(recording: Mapping[str, Any], sensor: Sensor) -> bool:
    """Whether memory is told by the sensor: of the board, which CPU and GPU share, or of a host's GPU."""
    return state.is_jetson(recording["state_before"]) or sensor.name == "nvml"


def _process_memory(said: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    before = next((event["memory_kib"] for event in said if event["event"] == "before"), None)
    peak = next((event["peak_kib"] for event in said if event["event"] == "after"), None)
    return None if before is None or peak is None else (before, peak)


def _sampler_share(step: Step | None) -> float | None:
    return step["sampler_cpu_s"] / (step["end"] - step["begin"]) if step else None
