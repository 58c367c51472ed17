"""Commands that read model files: features, memory, predict."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from edgeperf.cli.networks import read, remarks, shape_text
from edgeperf.cli.options import Declared, Devices, InputSize, Json, Model, Models, Surrogates
from edgeperf.cli.output import note, print_json, print_table
from edgeperf.units import BYTES_PER_MIB, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgeperf.records import Estimate


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(features)
    app.command()(memory)
    app.command()(predict)


def features(model: Model, input_size: InputSize = None, declared: Declared = None, json: Json = False) -> None:
    """Whole-network features: FLOPs, parameters, activations, layer counts."""
    from edgeperf.network import FEATURES
    from edgeperf.network import features as features_of

    network = read(model, input_size, declared)
    values = features_of(network).values
    if json:
        counts = {name: _exact(value) for name, value in values.items()}
        print_json({"network": network.name, "input_shape": network.input_shape, "features": counts})
        return
    title = f"{network.name}, input {shape_text(network.input_shape)}"
    print_table(title, ("feature", "value"), ((name, _count(values[name])) for name in FEATURES))
    note(f"--json adds the {len(values) - len(FEATURES)} sums over layers that the surrogates read too.")


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

    network = read(model, input_size, declared)
    plan = memory_plan(network, batch_size=batch_size, precision=precision)
    for remark in remarks(network, images=batch_size, precision=precision, why="; see --precision"):
        note(remark)
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

    networks = [read(model, input_size, declared) for model in models]
    boards = [load(name, surrogates) for name in device]
    estimates = [found for network in networks for board in boards for found in board.estimate(network)]
    own = (remark for network in networks for remark in remarks(network, why=", as the measurements were"))
    for remark in (*own, *_too_large(estimates)):
        note(remark)
    if json:
        print_json({"estimates": [estimate.to_dict() for estimate in estimates]})
        return
    print_estimates(estimates)


def print_estimates(estimates: Sequence[Estimate]) -> None:
    """The table of estimates with their intervals."""
    print_table(
        "Predicted, with 90 % intervals",
        ("network", "device", "metric", "predicted", "low", "high", "in measured range"),
        (_estimate_row(estimate) for estimate in estimates),
        left=3,
    )


def _too_large(estimates: Sequence[Estimate]) -> Iterator[str]:
    """A remark for every network that needs more memory than its board has."""
    from edgeperf.hardware import GPUS

    for found in estimates:
        spec = GPUS.get(found.device)
        if spec is not None and found.metric == "memory_mib" and found.value > 1024 * spec.memory_gib:
            needed = METRICS[found.metric].format(found.value)
            yield (
                f"{found.network} needs {needed}, more than the {spec.memory_gib:g} GiB of a {spec.title}: it would "
                "swap or be stopped there. Take a smaller input or a smaller variant."
            )


def _exact(value: float) -> float:
    """Whole numbers as integers, so that a count reads as one."""
    return int(value) if float(value).is_integer() else value


def _count(value: float) -> str:
    exact = _exact(value)
    return f"{exact:,}" if isinstance(exact, int) else f"{exact:,.4g}"


def _estimate_row(estimate: Estimate) -> tuple[str, ...]:
    metric = METRICS[estimate.metric]
    numbers = (metric.format(number) for number in (estimate.value, estimate.low, estimate.high))
    in_range = "yes" if estimate.in_range else f"no: {estimate.out_of_range_reason}"
    return (estimate.network, estimate.device, metric.label, *numbers, in_range)
