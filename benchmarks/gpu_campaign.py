"""Measures zoo networks on this machine's NVIDIA GPU with Keras on JAX or PyTorch: one line of JSON per network.

    python benchmarks/gpu_campaign.py --backend jax --out gpu.jsonl --minutes 9

A call ends before its minutes are over; the same command goes on with what is missing in the file. Each network runs in
a process of its own: wall-clock latency, the sum of its kernels' times, power and energy of the board by NVML, peak
memory, and the time of a training step. Needs keras, numpy, nvidia-ml-py and jax or torch; no TensorFlow.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.profilers import chrome_trace, kernels, recordings, runtimes, sensors
from edgeperf.profilers.bench import environment
from edgeperf.profilers.board import Board, Facts
from edgeperf.profilers.items import Item, expand
from edgeperf.profilers.reduce import reduce
from edgeperf.profilers.transport import Local
from edgeperf.records import Device, Plan

PLAN = Plan(idle_s=1.0, repeats=8, timeout_s=150.0)
TRAIN_BATCH = 8
LEAST_S = 40.0
"""No network is begun with less time left than this."""


def finished(out: Path) -> dict[str, dict[str, Any]]:
    """Rows in the file, by network; a line that was cut off by the end of a call is measured again."""
    rows = {}
    for line in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["network"]] = row
    return rows


def append(out: Path, row: Mapping[str, Any]) -> None:
    """Adds one row and waits until it is on disk."""
    with out.open("a", encoding="utf-8") as stream:
        if stream.tell() and not out.read_text(encoding="utf-8").endswith("\n"):
            stream.write("\n")  # ends the line that was cut off
        stream.write(json.dumps(row) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def gpu_name() -> str:
    """What NVML calls the first GPU.

    Raises:
        InvalidInput: there is none that can be measured.
    """
    sensor_missing = sensors.nvml.why_missing()
    if sensor_missing:
        raise InvalidInput(f"No GPU to measure: {sensor_missing}.")
    import pynvml

    pynvml.nvmlInit()
    try:
        return str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)))
    finally:
        pynvml.nvmlShutdown()


class Gpu:
    """The GPU of this machine, ready to measure one network after the other."""

    def __init__(self, folder: Path, backend: str, plan: Plan) -> None:
        self._board = Board(Local(folder))
        self._backend, self._plan, self._name = backend, plan, gpu_name()
        facts: Facts = self._board.prepare()
        self._sensor = sensors.choose(facts, period_ms=plan.sample_period_ms, host_gpu=True)
        self._runtime = runtimes.Runtime(name="keras", python=sys.executable)

    def measure(self, item: Item) -> dict[str, Any]:
        """Everything about one network, as one row."""
        network, recipe = item.load()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "recipe.json"
            path.write_text(json.dumps(recipe), encoding="utf-8")
            job = runtimes.keras_job(
                item.key,
                path,
                Path(folder),
                runtime=self._runtime,
                sensor=self._sensor,
                plan=self._plan,
                env=environment({"KERAS_BACKEND": self._backend}, host_gpu=True, on_board=False),
                train_batch=TRAIN_BATCH,
            )
            recording, remote = self._board.measure(job)
            self._board.forget(remote)
        device = Device(name="host-gpu", board=self._name, runtime=f"keras on {self._backend}")
        run = recordings.to_raw_run(recording, network=item.key, device=device, plan=self._plan, sensor=self._sensor)
        row = {"model": item.model, "family": item.family, "input_size": network.input_shape[0]}
        return {**row, **reduce(run).to_dict(), **dict(_beyond(recording))}


def _beyond(recording: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a campaign on a board does not ask for: kernels, training, the framework's own peak of GPU memory."""
    step = recording["steps"][-1]
    events = list(recordings.events(step))
    training = [time for event in events if event["event"] == "training" for time in event["ms"]]
    yield "training_step_ms", sum(training) / len(training) if training else None
    yield "training_batch", TRAIN_BATCH
    for name, event in (("gpu_peak_bytes", "after"), ("training_gpu_peak_bytes", "trained")):
        yield name, next((found["gpu_peak_bytes"] for found in events if found["event"] == event), None)
    traced = next((found["runs"] for found in events if found["event"] == "kernels"), None)
    yield "kernel_sum_ms", _kernel_sum(step["files"].get("trace.json"), traced)


def _kernel_sum(trace: str | None, runs: int | None) -> float | None:
    if trace is None or runs is None:
        return None
    found = chrome_trace.parse_kernels(trace)
    return kernels.total_ms(found) / runs if found else None


def campaign(gpu: Gpu, items: tuple[Item, ...], out: Path, *, end: float) -> int:
    """Measures what is missing in the file until the time is over; how many networks are left."""
    done = finished(out)
    due = [item for item in items if item.key not in done]
    longest = LEAST_S
    while due and time.monotonic() + longest < end:
        begin = time.monotonic()
        append(out, gpu.measure(due.pop(0)))
        longest = max(longest, time.monotonic() - begin)
        print(f"{len(items) - len(due)} of {len(items)}", flush=True)
    return len(due)


def main() -> None:
    """Parse the arguments and go on with the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["zoo:all"], help="as for `edgeperf profile`")
    parser.add_argument("--input-size", type=int, action="append", default=[])
    parser.add_argument("--backend", choices=["jax", "torch"], required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    given = parser.parse_args()
    end = time.monotonic() + 60.0 * given.minutes
    with tempfile.TemporaryDirectory() as folder:
        gpu = Gpu(Path(folder), given.backend, PLAN)
        left = campaign(gpu, expand(given.models, given.input_size), given.out, end=end)
    print(f"{left} networks are left" if left else "all networks are measured")


if __name__ == "__main__":
    try:
        main()
    except InvalidInput as problem:
        sys.exit(f"gpu_campaign: {problem}")
