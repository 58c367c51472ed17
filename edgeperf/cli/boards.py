"""Commands about devices, and commands that measure on them: devices, profile, operations."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeperf.cli.options import Json, MeasuredDevice, OutFolder, Resume
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.records import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeperf.layerwise.operations import Operation

_PLAN = Plan()


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(devices)
    app.command()(profile)
    app.command()(operations)


def devices(json: Json = False) -> None:
    """Devices that can be predicted, and GPUs and boards whose data sheet is known."""
    from edgeperf import surrogates
    from edgeperf.hardware import GPUS

    predicted = {name: tuple(surrogates.load(name).trained) for name in surrogates.devices()}
    names = [*predicted, *(name for name in GPUS if name not in predicted)]
    if json:
        rows = [
            {"name": name, "predicts": predicted.get(name, ()), "gpu": asdict(GPUS[name]) if name in GPUS else None}
            for name in names
        ]
        print_json({"devices": rows})
        return
    print_table(
        "Devices",
        ("name", "predicts", "GPU", "compute capability", "cores", "clock", "bandwidth"),
        (_row(name, predicted.get(name, ())) for name in names),
        left=3,
    )


def profile(
    models: Annotated[list[str], typer.Argument(help="Model files, zoo:FAMILY, zoo:FAMILY/VARIANT or zoo:all.")],
    device: MeasuredDevice,
    out: OutFolder,
    board: Annotated[
        list[str] | None,
        typer.Option(
            metavar="USER@HOST", help="user@host of the board; repeat to share the queue. Without: this machine."
        ),
    ] = None,
    runtime: Annotated[str, typer.Option(metavar="NAME", help="auto, keras or trtexec.")] = "auto",
    input_size: Annotated[
        list[int] | None, typer.Option(metavar="PIXELS", help="Input size in pixels; may be repeated.")
    ] = None,
    timed_runs: Annotated[int, typer.Option(min=1, metavar="N", help="Timed inferences.")] = _PLAN.timed_runs,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Power readings under load.")] = _PLAN.repeats,
    idle_s: Annotated[float, typer.Option(min=0, metavar="S", help="Idle time recorded before.")] = _PLAN.idle_s,
    timeout_s: Annotated[float, typer.Option(min=1, metavar="S", help="Limit per network.")] = _PLAN.timeout_s,
    resume: Resume = False,
) -> None:
    """Measure networks on a board over ssh, or on this machine; each finished measurement is kept at once."""
    from edgeperf.profilers import profile as measure

    on_gpu = _host_gpu(device, on_board=bool(board))
    summary = measure(
        models,
        device=device,
        boards=board or (),
        out=out,
        plan=replace(_PLAN, timed_runs=timed_runs, repeats=repeats, idle_s=idle_s, timeout_s=timeout_s),
        runtime=runtime,
        input_sizes=tuple(input_size or ()),
        resume=resume,
        host_gpu=on_gpu,
    )
    note(f"{summary.finished} measured, {summary.failed} failed. Look at {summary.page}")
    typer.echo(summary.dataset)


def operations(
    models: Annotated[list[str], typer.Argument(help="Model files, zoo:FAMILY, zoo:FAMILY/VARIANT or zoo:all.")],
    device: MeasuredDevice,
    out: OutFolder,
    board: Annotated[
        str | None, typer.Option(metavar="USER@HOST", help="user@host of the board. Without: this machine.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Operations to measure per batch size.")] = 600,
    training: Annotated[bool, typer.Option("--training", help="Forward and backward instead of inference.")] = False,
    batch_size: Annotated[
        list[int] | None, typer.Option(min=1, metavar="N", help="Images per call; may be repeated.")
    ] = None,
    input_size: Annotated[
        list[int] | None, typer.Option(metavar="PIXELS", help="Input size in pixels; may be repeated.")
    ] = None,
    least_s: Annotated[float, typer.Option(min=0, metavar="S", help="Time that each is measured for.")] = 0.3,
    gpu_clock: Annotated[
        list[float] | None,
        typer.Option(min=1, metavar="MHZ", help="Fix the GPU at this clock, which takes root; repeat for a sweep."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the sample.")] = 0,
    resume: Resume = False,
) -> None:
    """Measure the operations of networks one by one, for `edgeperf layers --operations`."""
    from edgeperf.layerwise.measuring import profile_operations
    from edgeperf.layerwise.sampling import can_stand_alone, sample
    from edgeperf.layerwise.workloads import EAGER, EAGER_TRAINING, workloads
    from edgeperf.profilers.blocks import BlockPlan
    from edgeperf.profilers.items import expand

    on_gpu = _host_gpu(device, on_board=board is not None)
    networks = [item.load()[0] for item in expand(models, tuple(input_size or ()))]
    fusion = EAGER_TRAINING if training else EAGER
    wanted = [
        op
        for size in dict.fromkeys(batch_size or (1,))
        for op in sample(networks, count, batch_size=size, fusion=fusion, seed=seed)
    ]
    left_out = Counter(op.kind for op in workloads(networks, fusion=fusion) if not can_stand_alone(op))
    if left_out:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in sorted(left_out.items()))
        note(f"{left_out.total():,} operation(s) left out that cannot be measured alone: {kinds}.")
    plan = replace(BlockPlan(), training=training, least_s=least_s)
    clocks = tuple(dict.fromkeys(gpu_clock or ()))
    table = profile_operations(
        wanted,
        device=device,
        out=out,
        board=board,
        plan=plan,
        gpu_clocks_mhz=clocks,
        resume=resume,
        host_gpu=on_gpu,
    )
    measured = _measured(table, wanted)
    note(f"{measured:,} of {len(wanted):,} operations measured; the column status tells of the others.")
    typer.echo(table)


def _measured(table: Path, wanted: Sequence[Operation]) -> int:
    """How many of the wanted operations were measured, at whatever clock."""
    from edgeperf.layerwise.measurements import read_measured
    from edgeperf.layerwise.operations import COLUMNS

    measured = set(read_measured(table)[list(COLUMNS)].itertuples(index=False, name=None))
    return sum(astuple(op) in measured for op in wanted)


def _host_gpu(device: str, *, on_board: bool) -> bool:
    """Whether this machine's GPU is measured; says so where its CPU is, under a name that does not tell.

    Raises:
        InvalidInput: the name is that of a board or of a GPU that would not be measured.
    """
    from edgeperf.profilers.bench import HOST_CPU, uses_host_gpu
    from edgeperf.profilers.naming import cpu_remark

    found = uses_host_gpu(device, on_board=on_board, wanted=None)
    if not (found or on_board or device == HOST_CPU):
        note(cpu_remark(device))
    return found


def _row(name: str, metrics: tuple[str, ...]) -> tuple[str, ...]:
    from edgeperf.hardware import GPUS

    predicts = ", ".join(metrics) or "-"
    if name not in GPUS:
        return (name, predicts, "-", "-", "-", "-", "-")
    gpu = GPUS[name]
    numbers = (f"{gpu.cores:,}", f"{gpu.clock_mhz:,g} MHz", f"{gpu.memory_bandwidth_gb_s:,g} GB/s")
    return (name, predicts, gpu.title, gpu.compute_capability, *numbers)
