"""Network and runtime → the `Job` that a board's agent carries out.

* ``keras``: the network is rebuilt on the device from its recipe (`edgeperf.profilers.recipes`). On a board with nvprof
  or nsys it runs twice: under the profiler for its latency, then alone for its power, which a profiler would change.
* ``trtexec``: TensorRT builds an engine from an ONNX file, then times it, then loops it for its power.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.profilers import state
from edgeperf.profilers.board import Facts, Job
from edgeperf.profilers.sensors import Sensor
from edgeperf.profilers.transport import INFERENCE
from edgeperf.records import Plan

REPEAT_S = 0.25
"""One window of inferences; several readings of the slowest sensor (30 ms) fall into it."""
TRTEXEC_WARM_UP_MS = 200
_PRECISION_FLAGS: Mapping[str, tuple[str, ...]] = {
    "float32": ("--noTF32",),
    "float16": ("--fp16",),
    "int8": ("--int8",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """How networks run on one device.

    Attributes:
        name: ``"keras"`` or ``"trtexec"``.
        python: interpreter of the keras runtime.
        trtexec: where it lies on the board.
        nvprof: the same; None where the board has none.
        nsys: the same.
    """

    name: str
    python: str = "python3"
    trtexec: str | None = None
    nvprof: str | None = None
    nsys: str | None = None


def choose(facts: Facts, wanted: str, *, python: str) -> Runtime:
    """The runtime of a device: the one that is wanted, or for ``"auto"`` the paper's, else what there is.

    Raises:
        InvalidInput: the device lacks it.
    """
    trt = _found(facts, "trtexec")
    if wanted not in ("auto", "keras", "trtexec"):
        raise InvalidInput(f"Unknown runtime {wanted!r}. Expected auto, keras or trtexec.")
    if wanted == "trtexec" and trt is None:
        raise InvalidInput("The board has no trtexec, neither on its PATH nor in /usr/src/tensorrt/bin.")
    if wanted == "trtexec" or (wanted == "auto" and trt and state.is_jetson(facts.state)):
        return Runtime(name="trtexec", trtexec=trt)
    return Runtime(name="keras", python=python, nvprof=_found(facts, "nvprof"), nsys=_found(facts, "nsys"))


def _found(facts: Facts, tool: str) -> str | None:
    return next((path for name, path in facts.tools.items() if name.rpartition("/")[2] == tool), None)


def keras_job(
    job_id: str,
    recipe: Path,
    folder: Path,
    *,
    runtime: Runtime,
    sensor: Sensor,
    plan: Plan,
    env: Mapping[str, str],
    train_batch: int | None = None,
) -> Job:
    """The job that rebuilds a network from its recipe.

    The files that say what to do are written to `folder`, which must stay until the job is done. With `train_batch` the
    network's kernels are traced and training steps are timed too, after everything else.
    """
    with_power, profiled = sensor.request is not None, runtime.nvprof or runtime.nsys
    phases = ["latency"] * (not profiled) + ["idle", "plateau"] * with_power
    phases += ["kernels", "training"] * (train_batch is not None)
    steps: list[dict[str, Any]] = []
    if profiled:
        steps += _profiler_steps(runtime, plan)
    if phases:
        argv = [runtime.python, INFERENCE.name, "job.json"]
        step = {"name": "run", "argv": argv, "timeout_s": plan.timeout_s, "sample": True}
        steps.append({**step, "collect": ["trace.json"] * (train_batch is not None)})
    common = {
        "recipe": "recipe.json",
        "batch_size": plan.batch_size,
        "precision": plan.precision,
        "seed": 0,
        "warmup_runs": plan.warmup_runs,
        "timed_runs": plan.timed_runs,
        "idle_s": plan.idle_s,
        "settle_s": sensor.settle_s,
        "repeats": plan.repeats,
        "repeat_s": REPEAT_S,
        "train_batch": train_batch,
    }
    for name, own in (("job.json", sorted(phases)), ("profiled.json", ["latency"])):
        (folder / name).write_text(json.dumps({**common, "phases": own}), encoding="utf-8")
    files = {"recipe.json": recipe, "job.json": folder / "job.json", "profiled.json": folder / "profiled.json"}
    return Job(
        id=job_id,
        files=files,
        steps=tuple(steps),
        sensor=sensor.request,
        idle_s=plan.idle_s if with_power else 0.0,
        timeout_s=plan.timeout_s * len(steps),
        env=env,
    )


def _profiler_steps(runtime: Runtime, plan: Plan) -> Iterator[dict[str, Any]]:
    child = [runtime.python, INFERENCE.name, "profiled.json"]
    if runtime.nvprof:
        options = ["--csv", "--print-gpu-summary", "--normalized-time-unit", "us", "--profile-from-start", "off"]
        argv = [runtime.nvprof, *options, "--force-overwrite", "--log-file", "nvprof.csv", *child]
        yield {"name": "latency", "argv": argv, "timeout_s": plan.timeout_s, "collect": ["nvprof.csv"]}
    elif runtime.nsys:
        options = ["--capture-range=cudaProfilerApi", "--trace=cuda", "--force-overwrite=true", "--output=trace"]
        argv = [runtime.nsys, "profile", *options, *child]
        yield {"name": "latency", "argv": argv, "timeout_s": plan.timeout_s}
        # The default reports: the name of the kernel summary changed between releases.
        report = [runtime.nsys, "stats", "--force-export=true", "trace.nsys-rep"]
        yield {"name": "nsys", "argv": report, "timeout_s": plan.timeout_s}


def trtexec_job(job_id: str, onnx: Path, *, runtime: Runtime, sensor: Sensor, plan: Plan) -> Job:
    """The job that builds an engine, times it and loops it."""
    if runtime.trtexec is None:
        raise InvalidInput("This runtime has no trtexec.")
    if plan.precision not in _PRECISION_FLAGS:
        raise InvalidInput(
            f"trtexec does not know the precision {plan.precision!r}, but {', '.join(_PRECISION_FLAGS)}."
        )
    load = [runtime.trtexec, "--loadEngine=model.plan", "--useSpinWait", "--noDataTransfers"]
    build = [runtime.trtexec, "--onnx=model.onnx", "--saveEngine=model.plan", *_PRECISION_FLAGS[plan.precision]]
    latency = [f"--iterations={plan.timed_runs}", f"--warmUp={TRTEXEC_WARM_UP_MS}", "--duration=0"]
    seconds = round(sensor.settle_s + plan.repeats * REPEAT_S + 1)
    steps: list[dict[str, Any]] = [
        {"name": "build", "argv": [*build, "--iterations=1", "--warmUp=0", "--duration=0"]},
        {"name": "latency", "argv": [*load, *latency, "--exportTimes=times.json"], "collect": ["times.json"]},
    ]
    if sensor.request is not None:
        steps.append({"name": "run", "argv": [*load, "--warmUp=0", f"--duration={seconds}"], "sample": True})
    return Job(
        id=job_id,
        files={"model.onnx": onnx},
        steps=tuple({**step, "timeout_s": plan.timeout_s} for step in steps),
        sensor=sensor.request,
        idle_s=plan.idle_s if sensor.request is not None else 0.0,
        timeout_s=plan.timeout_s * len(steps),
    )
