"""Commands that read model files: features, layers, memory, predict."""

from __future__ import annotations

from dataclasses import asdict
from json import loads as parse_json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeperf.cli.options import Declared, Devices, InputSize, Json, Model, Models, Surrogates
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.errors import InvalidInput
from edgeperf.units import BYTES_PER_MIB, METRICS

if TYPE_CHECKING:
    from edgeperf.layerwise.shares import LayerCost
    from edgeperf.records import Estimate, Layer, Network, Shape


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(features)
    app.command()(layers)
    app.command()(memory)
    app.command()(predict)


def features(model: Model, input_size: InputSize = None, declared: Declared = None, json: Json = False) -> None:
    """Whole-network features: FLOPs, parameters, activations, layer counts."""
    from edgeperf.network import FEATURES
    from edgeperf.network import features as features_of

    network = _network(model, input_size, declared)
    values = features_of(network).values
    if json:
        counts = {name: _exact(value) for name, value in values.items()}
        print_json({"network": network.name, "input_shape": network.input_shape, "features": counts})
        return
    title = f"{network.name}, input {_shape(network.input_shape)}"
    print_table(title, ("feature", "value"), ((name, _count(values[name])) for name in FEATURES))
    note(f"--json adds the {len(values) - len(FEATURES)} sums over layers that the surrogates read too.")


def layers(
    model: Model,
    input_size: InputSize = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Also say where time and energy go on this device.")
    ] = None,
    declared: Declared = None,
    json: Json = False,
) -> None:
    """One row per layer: shapes, parameters, multiply-accumulates, FLOPs; with a device, time and energy."""
    from edgeperf.network import layer_rows

    network = _network(model, input_size, declared)
    if device is not None:
        _layers_on(network, device, json=json)
        return
    if json:
        print_json({"network": network.name, "layers": layer_rows(network)})
        return
    print_table(
        f"{network.name}, input {_shape(network.input_shape)}",
        ("layer", "kind", "output", "params", "MACs", "FLOPs"),
        (_layer_row(layer) for layer in network.layers),
        left=2,
    )


def memory(
    model: Model,
    input_size: InputSize = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Images per pass.")] = 1,
    precision: Annotated[str, typer.Option(metavar="NAME", help="float32, float16, bfloat16 or int8.")] = "float32",
    declared: Declared = None,
    json: Json = False,
) -> None:
    """Bytes that weights and activations need at their peak; workspace and runtime come on top."""
    from edgeperf.network import memory_plan

    plan = memory_plan(_network(model, input_size, declared), batch_size=batch_size, precision=precision)
    if json:
        print_json(asdict(plan))
        return
    rows = (
        ("weights", plan.weight_bytes),
        (f"activations, peak at {plan.peak_layer}", plan.peak_activation_bytes),
        ("activations, sum of the two largest", plan.two_largest_bytes),
        ("activations, twice the mean", plan.twice_mean_bytes),
    )
    title = f"{plan.network}, batch of {batch_size}, {precision}; workspace not included"
    print_table(title, ("what", "MiB"), ((what, f"{number / BYTES_PER_MIB:,.2f}") for what, number in rows))


def predict(
    models: Models,
    device: Devices,
    input_size: InputSize = None,
    declared: Declared = None,
    surrogates: Surrogates = None,
    json: Json = False,
) -> None:
    """Latency, GPU-rail power, energy and memory with 90 % intervals, predicted from the model file alone."""
    from edgeperf.surrogates import load

    networks = [_network(model, input_size, declared) for model in models]
    boards = [load(name, surrogates) for name in device]
    estimates = [found for network in networks for board in boards for found in board.estimate(network)]
    if json:
        print_json({"estimates": [estimate.to_dict() for estimate in estimates]})
        return
    print_table(
        "Predicted, with 90 % intervals",
        ("network", "device", "metric", "predicted", "low", "high", "in measured range"),
        (_estimate_row(estimate) for estimate in estimates),
        left=3,
    )


def _network(model: Path, input_size: int | None, declared: Path | None) -> Network:
    """The network of a file.

    Raises:
        InvalidInput: the file, or that of the declarations, cannot be read.
    """
    from edgeperf.network import read_network

    return read_network(model, input_size=input_size, declared=_declarations(declared) if declared else None)


def _declarations(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as declarations: {error}. Expected a JSON object.") from None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{path} holds no JSON object. Expected layer name or class -> output_shape, params, macs, flops."
        )
    return found


def _layers_on(network: Network, device: str, *, json: bool) -> None:
    from edgeperf.layerwise.shares import distributed
    from edgeperf.surrogates import load

    table = distributed(network, load(device))
    if json:
        rows = [{**layer.to_dict(), **asdict(cost)} for layer, cost in zip(network.layers, table.layers, strict=True)]
        print_json({**asdict(table), "layers": rows})
        return
    print_table(
        f"{network.name} on {device}, input {_shape(network.input_shape)}",
        ("layer", "kind", "output", "latency", "share", "energy", "share", "bound by"),
        (_cost_row(cost) for cost in table.layers),
        left=2,
    )
    longest = ", ".join(f"{cost.name} {cost.latency_share:.0%}" for cost in table.dominant())
    note(f"{table.note} Most time: {longest}.")


def _cost_row(cost: LayerCost) -> tuple[str, ...]:
    energy = (
        ("-", "-")
        if cost.energy_mj is None
        else (METRICS["energy_mj"].format(cost.energy_mj), f"{cost.energy_share:.1%}")
    )
    latency = (METRICS["latency_ms"].format(cost.latency_ms), f"{cost.latency_share:.1%}")
    return (cost.name, cost.kind, _shape(cost.output_shape), *latency, *energy, cost.bound)


def _exact(value: float) -> float:
    """Whole numbers as integers, so that a count reads as one."""
    return int(value) if float(value).is_integer() else value


def _count(value: float) -> str:
    exact = _exact(value)
    return f"{exact:,}" if isinstance(exact, int) else f"{exact:,.4g}"


def _layer_row(layer: Layer) -> tuple[str, ...]:
    numbers = (f"{number:,}" for number in (layer.params, layer.macs, layer.flops))
    return (layer.name, layer.kind, _shape(layer.output_shape), *numbers)


def _estimate_row(estimate: Estimate) -> tuple[str, ...]:
    metric = METRICS[estimate.metric]
    numbers = (metric.format(number) for number in (estimate.value, estimate.low, estimate.high))
    in_range = "yes" if estimate.in_range else f"no: {estimate.out_of_range_reason}"
    return (estimate.network, estimate.device, metric.label, *numbers, in_range)


def _shape(shape: Shape) -> str:
    return " x ".join(str(size) for size in shape) or "scalar"
