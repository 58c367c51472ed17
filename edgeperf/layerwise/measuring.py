"""Operations, measured on a board or on this machine → rows of an operation table, on disk.

::

    networks ──► sample ──► jobs of `PER_JOB` operations ──► rows of each job on disk ──► operations.csv
                            (one process on the device)      (measurements/JOB.json)

A block of instances with weights and inputs of their own is cycled, so that caches are neither always hit nor always
missed; see `edgeperf.profilers.board_operations`. Power is sampled meanwhile where there is a sensor. Timings and power
samples far off are dropped (`edgeperf.layerwise.measurements.filtered_mean`), and energy is mean power times mean time
per call.

The identity operation, measured the same way, shows what the loop itself costs (`edgeperf.layerwise.loops`).

Reference: Nicolai 2025, measurement protocol; batch sizes ascending, and larger ones skipped after a failure: Sponner
et al. 2022, section 3.2.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.measurements import OperationMeasurement, reduce_run
from edgeperf.layerwise.operations import Operation
from edgeperf.layerwise.singles import single
from edgeperf.profilers import blocks, recordings
from edgeperf.profilers.bench import Access, Bench, environment, uses_host_gpu
from edgeperf.profilers.blocks import BlockPlan, BlockRun
from edgeperf.profilers.progress import Bar, Progress
from edgeperf.profilers.recipes import from_definition
from edgeperf.profilers.store import Store, operation_rows, write_atomically

Tell = Callable[[Progress], None]
PER_JOB = 20
"""Operations of one process, whose start takes seconds on a host and half a minute on a small board."""
FORMAT = 1
"""Version of the files in `measurements`. 1: first version."""


def profile_operations(
    operations: Sequence[Operation],
    *,
    device: str,
    out: Path,
    board: str | None = None,
    plan: BlockPlan | None = None,
    gpu_clocks_mhz: Sequence[float] = (),
    resume: bool = False,
    host_gpu: bool | None = None,
    env: Mapping[str, str] | None = None,
    ssh_config: Path | None = None,
    root: str = "/",
    progress: Tell | None = None,
) -> Path:
    """Measures operations with Keras, smaller batches first, and keeps every row in `out`.

    Args:
        operations: what to measure; see `edgeperf.layerwise.sampling.sample`.
        device: name that the rows carry.
        out: folder of the campaign.
        board: ssh target; None measures this machine.
        plan: how each is measured.
        gpu_clocks_mhz: clocks to sweep, all operations at each; empty leaves the GPU's clock as `plan` says. Of those
            for which the GPU has but one clock, the first is measured.
        resume: go on with what is in `out`.
        host_gpu: without a board, whether they run on this host's NVIDIA GPU; None: where there is one that can be
            measured and the device is not called ``"host-cpu"``.
        env: variables for what runs them, e.g. ``{"KERAS_BACKEND": "jax"}``.
        ssh_config: file for ``ssh -F``, where not the user's own configuration.
        root: where the device's file system begins; another folder for a simulated board.
        progress: called after each job; None shows a bar on standard error.

    Returns:
        The table ``operations.csv``, which holds what is finished after an interruption too.

    Raises:
        InvalidInput: the folder cannot be used, a board's name was given to this machine, or the GPU's clock cannot be
            set, before anything is measured at it.
        IncompatibleData: `resume`, but the folder was begun with something else, on another machine or with another
            framework.
        BoardError: the board needs a person, or stayed away.
    """
    wanted, on_board = plan or BlockPlan(), board is not None
    gpu = uses_host_gpu(device, on_board=on_board, wanted=host_gpu)
    access = Access(
        device=device,
        runtime="keras",
        host_gpu=gpu,
        sample_period_ms=wanted.sample_period_ms,
        env=environment(env, host_gpu=gpu, on_board=on_board),
        ssh_config=ssh_config,
        root=root,
    )
    store = Store(out)
    with store.locked():
        asked = {"measures": "operations", "device": device, "host_gpu": gpu, "plan": asdict(wanted), "env": access.env}
        store.agree(asked, resume=resume)
        try:
            plans = [replace(wanted, gpu_mhz=clock) for clock in gpu_clocks_mhz] or [wanted]
            if any(_due(operations, each, store) for each in plans):
                bench = Bench(board, access, workdir=store.folder / ".work")
                store.same(**bench.identity())
                for set_mhz, each in _at_clocks(plans, bench).items():
                    _work(operations, bench, access, each, set_mhz, store, progress)
        finally:
            table = _write_table(store)
    return table


def _work(
    operations: Sequence[Operation],
    bench: Bench,
    access: Access,
    plan: BlockPlan,
    set_mhz: float | None,
    store: Store,
    progress: Tell | None,
) -> None:
    known = {row["key"]: row["status"] for row in _rows(store)}
    queue = sorted(dict.fromkeys(operations), key=lambda op: op.batch_size)
    due = [op for op in queue if _key(op, plan) not in known]
    failed = {_per_image(op) for op in queue if known.get(_key(op, plan), "ok") != "ok"}
    bar = Bar()
    with bar.shown() if progress is None else nullcontext():
        tell = progress or bar
        while due:
            tell(Progress(done=len(queue) - len(due), total=len(queue)))
            found = _skipped(due, failed, access.device, plan, set_mhz) or _measured(due, bench, access, plan, store)
            _save(store, found, plan)
            failed |= {_per_image(each.operation) for each in found if each.status != "ok"}
            finished = {each.operation for each in found}
            due = [op for op in due if op not in finished]
        tell(Progress(done=len(queue), total=len(queue)))


def _skipped(
    due: Sequence[Operation], failed: Set[Operation], device: str, plan: BlockPlan, set_mhz: float | None
) -> list[OperationMeasurement]:
    """Rows of operations that failed at a smaller batch size."""
    why = BlockRun(status="skipped", message="a smaller batch of it failed")
    skipped = [op for op in due if _per_image(op) in failed]
    return [reduce_run(why, op, device=device, plan=plan, set_clock_mhz=set_mhz) for op in skipped]


def _measured(
    due: Sequence[Operation], bench: Bench, access: Access, plan: BlockPlan, store: Store
) -> list[OperationMeasurement]:
    """Rows of the next operations, all of one batch size."""
    batch_size = due[0].batch_size
    chunk = {_key(op, plan): op for op in due[:PER_JOB] if op.batch_size == batch_size}
    models = {key: from_definition(partial(single, op=op))[1] for key, op in chunk.items()}
    asked = json.dumps([models, asdict(plan), sorted(access.env.items()), str(store.folder.resolve())])
    job_id = f"operations-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    with tempfile.TemporaryDirectory(prefix="edgeperf-job-") as folder:
        job = blocks.job(
            job_id,
            models,
            Path(folder),
            batch_size=batch_size,
            runtime=bench.runtime,
            sensor=bench.sensor,
            plan=plan,
            env=access.env,
        )
        recording, remote = bench.record(job)
    try:
        store.same(framework=recordings.framework(recording))
        found = blocks.runs(recording, list(chunk), bench.sensor)
    except InvalidInput:
        bench.forget(remote)  # asked again, it must be measured again
        raise
    store.keep_recording(job_id, recording, bench.sensor)
    bench.forget(remote)
    set_mhz = blocks.set_clock(recording)
    return [
        reduce_run(run, chunk[key], device=access.device, plan=plan, set_clock_mhz=set_mhz)
        for key, run in found.items()
    ]


def _save(store: Store, found: Sequence[OperationMeasurement], plan: BlockPlan) -> None:
    rows = [{"key": _key(each.operation, plan), **each.row()} for each in found]
    name = hashlib.sha256(" ".join(row["key"] for row in rows).encode()).hexdigest()[:16]
    content = json.dumps({"format": FORMAT, "rows": rows}, indent=1)
    write_atomically(store.folder / "measurements" / f"{name}.json", content.encode())


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    for path in sorted((store.folder / "measurements").glob("*.json")):
        yield from operation_rows(path, FORMAT)


def _write_table(store: Store) -> Path:
    import pandas as pd

    path = store.folder / "operations.csv"
    rows = sorted(_rows(store), key=lambda row: (int(row["batch_size"]), str(row["key"])))
    write_atomically(path, pd.DataFrame(rows).to_csv(index=False).encode())
    return path


def _key(op: Operation, plan: BlockPlan) -> str:
    what = repr(op) if plan.gpu_mhz is None else repr((op, plan.gpu_mhz))
    return f"{op.kind}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"


def _due(operations: Sequence[Operation], plan: BlockPlan, store: Store) -> bool:
    known = {row["key"] for row in _rows(store)}
    return any(_key(op, plan) not in known for op in operations)


def _at_clocks(plans: Sequence[BlockPlan], bench: Bench) -> dict[float | None, BlockPlan]:
    """Clock that the device has when a plan asks for its own → the first plan that comes out there."""
    found: dict[float | None, BlockPlan] = {}
    for plan in plans:
        set_mhz = None
        if plan.gpu_mhz is not None:
            recording, remote = bench.record(blocks.clock_job(plan.gpu_mhz))
            bench.forget(remote)
            set_mhz = blocks.set_clock(recording)
        found.setdefault(set_mhz, plan)
    return found


def _per_image(op: Operation) -> Operation:
    """The same at batch size 1."""
    per = op.batch_size
    return replace(
        op,
        batch_size=1,
        input_elements=op.input_elements // per,
        output_elements=op.output_elements // per,
        macs=op.macs // per,
    )
