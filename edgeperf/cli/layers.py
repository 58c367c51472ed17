"""The command about the parts of a network: layers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeperf.cli.models import print_estimates
from edgeperf.cli.networks import read, remarks, shape_text
from edgeperf.cli.options import Declared, InputSize, Json, Model
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.errors import InvalidInput
from edgeperf.units import METRICS, significant

if TYPE_CHECKING:
    from edgeperf.layerwise.hints import SlowLayer
    from edgeperf.layerwise.layer_table import LayerCost, LayerTable
    from edgeperf.layerwise.sweeps import ClockCost
    from edgeperf.layerwise.validation import Score
    from edgeperf.records import Layer, Network

_SEED = 0
"""Of the predictors that are fitted on the spot; the same table gives the same answer."""
_SLOW_SHOWN = 5
_MEASURED = ", as the measurements were"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What `layers` says of a network on a device.

    Attributes:
        table: its layers.
        slow: layers measured slower than their like.
        held_out: error on operations that a fit did not see; None where there were too few, or none at all.
    """

    table: LayerTable
    slow: tuple[SlowLayer, ...] = ()
    held_out: Score | None = None


def register(app: typer.Typer) -> None:
    """Add this room's command."""
    app.command()(layers)


def layers(
    model: Model,
    input_size: InputSize = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Also say where time and energy go on this device.")
    ] = None,
    operations: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Operations measured there by `edgeperf operations`, to predict each layer by."
        ),
    ] = None,
    on_gpu: Annotated[
        bool | None,
        typer.Option("--gpu/--cpu", help="What these operations ran on; without: as their campaign or the name says."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw time and energy per layer, and the roofline.")
    ] = None,
    clocks: Annotated[
        bool, typer.Option("--clocks", help="Instead: the whole network at each GPU clock of these operations.")
    ] = False,
    declared: Declared = None,
    json: Json = False,
) -> None:
    """One row per layer: shapes, parameters, multiply-accumulates, FLOPs; with a device, time and energy."""
    from edgeperf.network import layer_rows

    network = read(model, input_size, declared)
    if operations is None and (clocks or on_gpu is not None):
        raise InvalidInput("--clocks, --gpu and --cpu speak of measured operations. Add --operations DIR.")
    if clocks and plot is not None:
        raise InvalidInput("--plot draws layers at one clock, and --clocks shows none. Leave one of them out.")
    if clocks and device is not None and operations is not None:
        _print_sweep(network, device, operations, on_gpu, json=json)
        return
    if device is not None:
        found = _distributed(network, device) if operations is None else _predicted(network, device, operations, on_gpu)
        _print_layers(network, found, plot, json=json)
        return
    if operations is not None or plot is not None:
        raise InvalidInput("Time per layer needs a device. Add --device NAME; `edgeperf devices` lists those known.")
    if json:
        print_json({"network": network.name, "layers": layer_rows(network)})
        return
    print_table(
        f"{network.name}, input {shape_text(network.input_shape)}",
        ("layer", "kind", "output", "params", "MACs", "FLOPs"),
        (_layer_row(layer) for layer in network.layers),
        left=2,
    )


def _print_layers(network: Network, found: _Found, plot: Path | None, *, json: bool) -> None:
    slow, own = found.slow, remarks(network, images=found.table.batch_size, why=_MEASURED)
    table = replace(found.table, note=" ".join((found.table.note, *own)))
    if plot is not None:
        from edgeperf.report.layers_plot import write_layers_plot

        note(f"Drawn to {write_layers_plot(table, plot)}")
    if json:
        rows = [{**layer.to_dict(), **asdict(cost)} for layer, cost in zip(network.layers, table.layers, strict=True)]
        held_out = None if found.held_out is None else asdict(found.held_out)
        slow_rows = [asdict(each) for each in slow]
        print_json({**asdict(table), "layers": rows, "slow_layers": slow_rows, "held_out_latency": held_out})
        return
    print_table(
        f"{table.heading}, input {shape_text(network.input_shape)}: {_costs_of(table)} per {table.one_pass}",
        ("layer", "kind", "output", "latency", "share", "energy", "share", "bound by", "of the roofline"),
        (*(_cost_row(cost) for cost in table.layers), _total_row(table)),
        left=2,
    )
    if table.estimates:
        print_estimates(table.estimates)
    else:
        note(_sure(found.held_out))
    longest = ", ".join(f"{cost.name} {cost.latency_share:.0%}" for cost in table.dominant())
    note(f"{table.note} Most time: {longest}.")
    if slow:
        told = "; ".join(
            f"{each.layer} {METRICS['latency_ms'].format(each.measured_ms)} instead of "
            f"{METRICS['latency_ms'].format(each.expected_ms)}"
            for each in slow[:_SLOW_SHOWN]
        )
        note(f"Measured slower than operations like them, perhaps badly tuned kernels: {told}.")


def _sure(held_out: Score | None) -> str:
    """What is known of the error of a sum."""
    if held_out is None:
        return "The total is a sum and has no interval; the operations are too few to tell how far it may be off."
    return (
        "The total is a sum and has no interval. Latency of measured operations that a fit did not see is off by "
        f"{held_out.median:.1f} % (median) and {held_out.mape:.1f} % (mean of {held_out.n:,})."
    )


def _costs_of(table: LayerTable) -> str:
    """What the columns of costs hold."""
    return "latency" if table.energy_mj is None else f"latency and {table.energy_label}"


def _print_sweep(network: Network, device: str, folder: Path, on_gpu: bool | None, *, json: bool) -> None:
    from edgeperf.layerwise.layer_table import one_pass
    from edgeperf.layerwise.measurements import read_measured
    from edgeperf.layerwise.sweeps import swept

    found = swept(network, read_measured(folder), device=device, on_gpu=on_gpu, seed=_SEED)
    for remark in remarks(network, images=found.batch_size, why=_MEASURED):
        note(remark)
    if json:
        print_json(asdict(found))
        return
    best = {each.objective: each.clock_mhz for each in found.optima}
    print_table(
        f"{network.name} on {device}, {found.phase} at batch size {found.batch_size}, over GPU clocks: "
        f"costs per {one_pass(found.phase, found.batch_size)}",
        ("clock", "operations", "latency", "power", "energy", "energy x latency", "least"),
        (_clock_row(cost, [name for name, clock in best.items() if clock == cost.clock_mhz]) for cost in found.clocks),
        left=0,
    )
    note("Each clock's figures are a sum of predicted operations and have no interval.")
    for each in found.optima:
        note(
            f"Least {each.objective} at {each.clock_mhz:g} MHz: {each.saved_share:.1%} less than at the highest clock; "
            f"the next best clock costs {each.margin_share:.1%} more."
        )
    if not found.optima:
        note("Power was not measured at two clocks or more, so none is best in energy.")


def _clock_row(cost: ClockCost, least: list[str]) -> tuple[str, ...]:
    costs = (METRICS[name].format(getattr(cost, name)) for name in ("latency_ms", "power_mw", "energy_mj"))
    product = "-" if cost.energy_delay_mj_ms is None else f"{significant(cost.energy_delay_mj_ms, 3)} mJ ms"
    return (f"{cost.clock_mhz:g} MHz", f"{cost.operations:,}", *costs, product, ", ".join(least))


def _distributed(network: Network, device: str) -> _Found:
    from edgeperf.layerwise.shares import distributed
    from edgeperf.surrogates import load

    return _Found(table=distributed(network, load(device)))


def _predicted(network: Network, device: str, folder: Path, on_gpu: bool | None) -> _Found:
    from edgeperf.layerwise.fitting import fit_measured
    from edgeperf.layerwise.held_out import held_out
    from edgeperf.layerwise.hints import slow_layers
    from edgeperf.layerwise.measurements import measured_on_gpu, of_device, read_measured
    from edgeperf.layerwise.shares import predicted

    measured = of_device(read_measured(folder), device)
    if on_gpu is None and measured_on_gpu(measured, device) is None:
        note(f"Nothing tells whether {device} is a GPU or a CPU. It is taken for a GPU; if it is a CPU, add --cpu.")
    predictor = fit_measured(measured, device=device, on_gpu=on_gpu, seed=_SEED)
    known = held_out(measured, predictor.roof, device=device, on_gpu=on_gpu, seed=_SEED)
    return _Found(
        table=predicted(network, predictor.cost(network), predictor.roof),
        slow=slow_layers(network, known, batch_size=predictor.batch_size, fusion=predictor.fusion) if known else (),
        held_out=known.error() if known else None,
    )


def _cost_row(cost: LayerCost) -> tuple[str, ...]:
    energy = (
        ("-", "-")
        if cost.energy_mj is None
        else (METRICS["energy_mj"].format(cost.energy_mj), f"{cost.energy_share:.1%}")
    )
    latency = (METRICS["latency_ms"].format(cost.latency_ms), f"{cost.latency_share:.1%}")
    reached = _reached(cost)
    return (cost.name, cost.kind, shape_text(cost.output_shape), *latency, *energy, cost.bound, reached)


def _total_row(table: LayerTable) -> tuple[str, ...]:
    """The network, in the figures of `edgeperf predict` where its prediction was distributed."""
    energy = ("-", "-") if table.energy_mj is None else (METRICS["energy_mj"].format(table.energy_mj), "100.0%")
    return ("total", "", "", METRICS["latency_ms"].format(table.latency_ms), "100.0%", *energy, "", "")


def _reached(cost: LayerCost) -> str:
    """How close the layer comes to the data sheet; a share of a network's prediction may lie beyond it."""
    if not cost.latency_ms:
        return "-"
    return f"{cost.roofline_ms / cost.latency_ms:.0%}" if cost.roofline_ms <= cost.latency_ms else "> 100%"


def _layer_row(layer: Layer) -> tuple[str, ...]:
    numbers = (f"{number:,}" for number in (layer.params, layer.macs, layer.flops))
    return (layer.name, layer.kind, shape_text(layer.output_shape), *numbers)
