"""Commands that look across GPUs: compare, ptx."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgeperf.cli.options import InputSize, Json, Model
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.errors import InvalidInput
from edgeperf.units import METRICS

if TYPE_CHECKING:
    from edgeperf.ptx.comparison import ComparisonRow
    from edgeperf.records import Estimate

ALL = "all"


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(compare)
    app.command()(ptx)


def compare(
    model: Model,
    devices: Annotated[str, typer.Option(metavar="D1,D2|all", help="Devices, with commas between them, or all.")],
    input_size: InputSize = None,
    json: Json = False,
) -> None:
    """One table over devices that tells predicted numbers from extrapolated ones."""
    from edgeperf.network import read_network
    from edgeperf.ptx.comparison import by_data_sheet
    from edgeperf.ptx.comparison import compare as compare_estimates
    from edgeperf.surrogates import devices as predicted_devices
    from edgeperf.surrogates import load

    network = read_network(model, input_size=input_size)
    known = [estimate for name in predicted_devices() for estimate in load(name).estimate(network)]
    wanted = _wanted(devices, predicted_devices())
    estimates: list[Estimate] = []
    for name in wanted:
        own = [estimate for estimate in known if estimate.device == name]
        estimates += own or by_data_sheet(known, name)
    rows = compare_estimates(estimates)
    if json:
        print_json({"network": network.name, "rows": [asdict(row) for row in rows]})
        return
    columns = ("metric", "device", "value", "low", "high", "origin", "note")
    print_table(f"{network.name} across devices", columns, (_comparison_row(row) for row in rows), left=2)


def ptx(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL|BUNDLE", help="A model file, a .tar.xz bundle or a .ptx file.")
    ],
    arch: Annotated[str | None, typer.Option(metavar="SM", help="Compute capability such as sm_53.")] = None,
    kernels: Annotated[
        Literal["all", "fusions"], typer.Option(help="Which kernels of a model file to count: all, or fusions only.")
    ] = "all",
    launches: Annotated[Path | None, typer.Option(metavar="FILE", help="Launch list of a .ptx file.")] = None,
    input_size: InputSize = None,
    json: Json = False,
) -> None:
    """Count executed PTX instructions without a GPU."""
    from edgeperf.ptx import count

    counted = count(source, arch=arch, kernels=kernels, input_size=input_size, launches=launches)
    if json:
        print_json(counted.to_dict())
        return
    print_table(
        f"{counted.network} on {counted.arch}: {counted.executed:,} instructions by threads, "
        f"{counted.warp_executed:,} by warps, {counted.launches:,} launches",
        ("category", "executed by threads", "share"),
        ((name, f"{times:,}", f"{times / counted.executed:.1%}") for name, times in counted.categories.items()),
    )
    note(f"Compiled by {counted.compiler}; the count belongs to that compiler.")
    for refusal in counted.refused:
        note(f"Not counted: {refusal.kernel}, {refusal.launches} launches, line {refusal.line}: {refusal.reason}")


def _wanted(devices: str, predicted: list[str]) -> list[str]:
    """Names of the devices, each once.

    Raises:
        InvalidInput: a name is empty; unknown ones are refused where their data sheet is looked up.
    """
    from edgeperf.hardware import GPUS

    if devices == ALL:
        return [*predicted, *(name for name in GPUS if name not in predicted)]
    names = list(dict.fromkeys(name.strip() for name in devices.split(",")))
    if not all(names):
        raise InvalidInput(f"--devices {devices!r} holds an empty name. Expected names with commas between, or all.")
    return names


def _comparison_row(row: ComparisonRow) -> tuple[str, ...]:
    metric = METRICS[row.metric]
    ends = (metric.format(end) if end is not None else "-" for end in (row.low, row.high))
    return (metric.label, row.device, metric.format(row.value), *ends, row.origin, row.note)
