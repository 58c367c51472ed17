"""Commands that look across devices: compare, choose, offload, ptx."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgeperf.cli.networks import read, remarks
from edgeperf.cli.options import Device, InputSize, Json, Model
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.errors import InvalidInput
from edgeperf.units import METRICS

if TYPE_CHECKING:
    from edgeperf.ptx.comparison import ComparisonRow
    from edgeperf.records import Estimate, Network, Shape

ALL = "all"
DeviceList = Annotated[str, typer.Option(metavar="D1,D2|all", help="Devices, with commas between them, or all.")]

_BYTES_PER_OUTPUT = 4


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(compare)
    app.command()(choose)
    app.command()(offload)
    app.command()(ptx)


def compare(model: Model, devices: DeviceList, input_size: InputSize = None, json: Json = False) -> None:
    """One table over devices that tells predicted numbers from extrapolated ones."""
    network = _read(model, input_size)
    rows = _compared(network, devices)
    if json:
        print_json({"network": network.name, "rows": [asdict(row) for row in rows]})
        return
    columns = ("metric", "device", "value", "low", "high", "origin", "note")
    print_table(f"{network.name} across devices", columns, (_comparison_row(row) for row in rows), left=2)


def choose(
    model: Model,
    limit: Annotated[
        list[str], typer.Option(metavar="METRIC=MOST", help="A limit such as latency_ms=30 or price=400.")
    ],
    devices: DeviceList = ALL,
    price: Annotated[list[str] | None, typer.Option(metavar="DEVICE=PRICE", help="What a device costs you.")] = None,
    prefer: Annotated[str, typer.Option(metavar="METRIC", help="Orders devices that do equally well.")] = "energy_mj",
    input_size: InputSize = None,
    json: Json = False,
) -> None:
    """Devices in the order in which they keep within limits."""
    from edgeperf.ptx.choice import rank_devices

    limits, prices = _numbers(limit, "--limit"), _numbers(price or (), "--price")
    network = _read(model, input_size)
    choices = rank_devices(_compared(network, devices), limits=limits, prices=prices, prefer=prefer)
    if json:
        print_json({"network": network.name, "choices": [asdict(choice) for choice in choices]})
        return
    print_table(
        f"{network.name} within {', '.join(limit)}",
        ("device", "verdict", *limits),
        ((choice.device, choice.verdict, *(choice.verdicts[name] for name in limits)) for choice in choices),
        left=2,
    )
    note("'may meet': the predicted value keeps within the limit, the upper end of its 90 % interval does not.")


def offload(
    model: Model,
    device: Device,
    bandwidth_mbit_s: Annotated[float, typer.Option(metavar="MBIT/S", help="Of the link to the server.")],
    round_trip_ms: Annotated[float, typer.Option(metavar="MS", help="Of an empty message.")],
    radio_uj_per_byte: Annotated[float, typer.Option(metavar="UJ", help="What a byte on the radio costs the device.")],
    server_ms: Annotated[float, typer.Option(metavar="MS", help="Inference on the server.")],
    idle_power_mw: Annotated[float, typer.Option(metavar="MW", help="What the device draws while it waits.")] = 0.0,
    sent_bytes: Annotated[int | None, typer.Option(metavar="N", help="Default: one byte per input value.")] = None,
    received_bytes: Annotated[int | None, typer.Option(metavar="N", help="Default: four per output value.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw both over the bandwidth.")] = None,
    input_size: InputSize = None,
    json: Json = False,
) -> None:
    """Run a network on the device or send its input to a server: which is faster, which costs less energy."""
    from edgeperf.ptx.offload import Link, Task, decide

    network = _read(model, input_size)
    link = Link(round_trip_ms=round_trip_ms, radio_uj_per_byte=radio_uj_per_byte, idle_power_mw=idle_power_mw)
    local = _predicted(network, device)
    task = Task(
        sent_bytes=prod(network.input_shape) if sent_bytes is None else sent_bytes,
        received_bytes=_BYTES_PER_OUTPUT * prod(_output_shape(network)) if received_bytes is None else received_bytes,
        local_latency_ms=local["latency_ms"],
        local_energy_mj=local["energy_mj"],
        server_latency_ms=server_ms,
    )
    decision = decide(task, link, bandwidth_mbit_s=bandwidth_mbit_s)
    if plot is not None:
        from edgeperf.report.offload_plot import write_offload_plot

        note(f"Drawn to {write_offload_plot(task, link, plot)}")
    if json:
        print_json({"network": network.name, "device": device, **asdict(task), **asdict(decision)})
        return
    rows = (
        ("latency", local["latency_ms"], decision.offloaded_latency_ms, decision.faster, decision.faster_from_mbit_s),
        ("energy", local["energy_mj"], decision.offloaded_energy_mj, decision.cheaper, decision.cheaper_from_mbit_s),
    )
    units = (METRICS["latency_ms"], METRICS["energy_mj"])
    print_table(
        f"{network.name} on {device}, or offloaded at {bandwidth_mbit_s:g} Mbit/s",
        ("of the device", "local", "offloaded", "better", "offloading is better from"),
        (
            (what, unit.format(here), unit.format(there), better, "never" if turn is None else f"{turn:.3g} Mbit/s")
            for (what, here, there, better, turn), unit in zip(rows, units, strict=True)
        ),
    )


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


def _read(model: Path, input_size: int | None) -> Network:
    """The network of a file, after remarking on what the file says and figures here are not for."""
    network = read(model, input_size)
    for remark in remarks(network, why=", as the measurements were"):
        note(remark)
    return network


def _compared(network: Network, devices: str) -> list[ComparisonRow]:
    from edgeperf.ptx.comparison import by_data_sheet
    from edgeperf.ptx.comparison import compare as compare_estimates
    from edgeperf.surrogates import devices as predicted_devices
    from edgeperf.surrogates import load

    known = [estimate for name in predicted_devices() for estimate in load(name).estimate(network)]
    estimates: list[Estimate] = []
    for name in _wanted(devices, predicted_devices()):
        estimates += [estimate for estimate in known if estimate.device == name] or by_data_sheet(known, name)
    return compare_estimates(estimates)


def _predicted(network: Network, device: str) -> dict[str, float]:
    from edgeperf.surrogates import load

    return {estimate.metric: estimate.value for estimate in load(device).estimate(network, ("latency_ms", "energy_mj"))}


def _output_shape(network: Network) -> Shape:
    return next(layer.output_shape for layer in network.layers if layer.name == network.outputs[0])


def _numbers(pairs: Sequence[str], option: str) -> dict[str, float]:
    """Name → number.

    Raises:
        InvalidInput: one of `pairs` is not NAME=NUMBER.
    """
    found = {}
    for pair in pairs:
        name, _, number = pair.partition("=")
        try:
            found[name.strip().rstrip("<")] = float(number)
        except ValueError:
            raise InvalidInput(f"{option} {pair!r} cannot be read. Expected a name, =, and a number.") from None
    return found


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
