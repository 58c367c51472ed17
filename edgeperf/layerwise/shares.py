"""What each layer of a network costs → one table, whose columns add up to the network.

Two sources, told apart by `method`:

* ``"distributed"``: boards where only whole networks were measured. The whole-network surrogate prices additive
  quantities of layers; its prediction is shared out in proportion to what each layer's own quantities cost. The sum is
  the surrogate's prediction exactly; the shares are a reading of its prices, and no layer was ever measured.
* ``"predicted"``: devices where operations were measured. Each layer is predicted by itself and the sum is the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.layer_table import LayerCost, LayerTable, Method
from edgeperf.layerwise.loops import TRAINING_PASSES
from edgeperf.layerwise.operations import operation, operation_table
from edgeperf.layerwise.quantities import Array, quantities
from edgeperf.layerwise.roofline import Roof, bound_by, data_sheet, roofline_ms
from edgeperf.layerwise.sums import NetworkCost
from edgeperf.network.graph_quantities import QUANTITY_NAMES, layer_quantities
from edgeperf.profilers.bench import HOST_CPU
from edgeperf.records import Estimate, Network

_GPU_RAIL = "GPU-rail"


class PricedSurrogates(Protocol):
    """What this module needs of `edgeperf.surrogates.SurrogateSet`."""

    @property
    def device(self) -> str:
        """Name of the device."""

    @property
    def trained(self) -> Mapping[str, Any]:
        """Metric → trained surrogate."""

    def estimate(self, network: Network, metrics: Sequence[str] | None = None) -> list[Estimate]:
        """One estimate per metric."""


_DISTRIBUTED = "Shares of the whole-network prediction by the surrogate's prices; no layer was measured on this board."
_PREDICTED = "Each layer predicted from measured operations; the network is their sum."
_STEP = "Each layer's training step predicted from measured ones, forward and backward; the network is their sum."


def distributed(network: Network, surrogates: PricedSurrogates) -> LayerTable:
    """The layers of a network on a board whose surrogates price additive quantities.

    Raises:
        InvalidInput: the device's surrogates have no prices.
    """
    latency_prices = _prices(surrogates, "latency_ms")
    wanted = [name for name in ("latency_ms", "energy_mj") if name in surrogates.trained]
    estimates = tuple(surrogates.estimate(network, wanted))
    totals = {each.metric: each.value for each in estimates}
    matrix = _layer_matrix(network)
    latency = _shared_out(matrix @ latency_prices, totals["latency_ms"])
    energy = None
    if "energy_mj" in totals:
        energy = _shared_out(_energy_parts(surrogates, matrix, latency), totals["energy_mj"])
    found = _table(network, latency, energy, device=surrogates.device, method="distributed")
    return replace(found, power_rail=None if energy is None else _GPU_RAIL, estimates=estimates)


def predicted(network: Network, cost: NetworkCost, roof: Roof) -> LayerTable:
    """The layers of a network from the costs of its operations; folded layers have 0 and their host has all."""
    position = {layer.name: index for index, layer in enumerate(network.layers)}
    latency = np.zeros(len(position))
    energy = None if cost.energy_mj is None else np.zeros(len(position))
    for each in cost.steps:
        latency[position[each.step.layer]] += each.latency_ms
        if energy is not None and each.energy_mj is not None:
            energy[position[each.step.layer]] += each.energy_mj
    found = _table(
        network,
        latency,
        energy,
        device=cost.device,
        method="predicted",
        training=cost.training,
        roof=roof,
        batch_size=cost.batch_size,
    )
    return replace(
        found,
        latency_ms=cost.latency_ms,
        energy_mj=cost.energy_mj,
        power_rail=None if energy is None else _power_rail(cost.device),
        note=found.note + _guessed(cost),
    )


def _power_rail(device: str) -> str | None:
    """What the sensor of a device reads: a rail on modules, the whole board of a card, the package of this host."""
    sheet = data_sheet(device)
    if sheet is not None:
        return _GPU_RAIL if sheet.integrated else "GPU-board"
    return "processor-package" if device == HOST_CPU else None


def _guessed(cost: NetworkCost) -> str:
    """What to know of operations of kinds that were not measured; empty where all were."""
    guessed = [each for each in cost.steps if not each.measured_kind]
    if not guessed:
        return ""
    share = sum(each.latency_ms for each in guessed) / cost.latency_ms
    kinds = ", ".join(sorted({each.step.operation.kind for each in guessed}))
    return f" Not measured, and taken for what they are most like: {kinds} ({share:.0%} of the time)."


def _prices(surrogates: PricedSurrogates, metric: str) -> Array:
    if metric not in surrogates.trained:
        raise InvalidInput(f"{surrogates.device} has no surrogate for {metric}, which layers are shared out by.")
    prices = getattr(surrogates.trained[metric].surrogate, "prices", None)
    if prices is None:
        raise InvalidInput(
            f"The {metric} surrogate of {surrogates.device} prices no layers "
            f"(algorithm {surrogates.trained[metric].algorithm}); use the shipped one or train with --algorithm best."
        )
    return np.asarray(prices, dtype=np.float64)


def _layer_matrix(network: Network) -> Array:
    """(layers, quantities): what each layer adds to the network's quantities."""
    place = {name: index for index, name in enumerate(QUANTITY_NAMES)}
    matrix = np.zeros((len(network.layers), len(place)))
    for row, layer in enumerate(network.layers):
        for name, value in layer_quantities(layer).items():
            matrix[row, place[name]] = value
    return matrix


def _energy_parts(surrogates: PricedSurrogates, matrix: Array, latency_ms: Array) -> Array:
    """What each layer's energy is in proportion to: as its surrogate prices it, in time where it prices no layers."""
    surrogate = surrogates.trained["energy_mj"].surrogate
    if (power := getattr(surrogate, "power", None)) is not None:
        return np.asarray(power.layer_energies(matrix, latency_ms), dtype=np.float64)
    prices = getattr(surrogate, "prices", None)
    return latency_ms if prices is None else np.asarray(matrix @ prices, dtype=np.float64)


def _shared_out(parts: Array, total: float) -> Array:
    """`total` in proportion to `parts`; evenly where all of them are 0."""
    whole = parts.sum()
    return parts * (total / whole) if whole > 0 else np.full(len(parts), total / len(parts))


def _table(
    network: Network,
    latency: Array,
    energy: Array | None,
    *,
    device: str,
    method: Method,
    training: bool = False,
    roof: Roof | None = None,
    batch_size: int = 1,
) -> LayerTable:
    roof = roof or _roof(device)
    table = operation_table(operation(layer, batch_size) for layer in network.layers)
    counts, least, bound = quantities(table), roofline_ms(table, roof), bound_by(table, roof)
    passes = TRAINING_PASSES if training else 1.0
    total, total_energy = float(latency.sum()), None if energy is None else float(energy.sum())
    layers = tuple(
        LayerCost(
            name=layer.name,
            kind=layer.kind,
            output_shape=layer.output_shape,
            latency_ms=float(latency[index]),
            latency_share=float(latency[index]) / total,
            energy_mj=None if energy is None else float(energy[index]),
            energy_share=None if energy is None or not total_energy else float(energy[index]) / total_energy,
            operations=passes * float(counts["operations"][index]),
            intensity=float(counts["intensity"][index]),
            bound=bound[index],
            roofline_ms=passes * float(least[index]),
        )
        for index, layer in enumerate(network.layers)
    )
    return LayerTable(
        network=network.name,
        device=device,
        method=method,
        phase="training" if training else "inference",
        batch_size=batch_size,
        latency_ms=total,
        energy_mj=total_energy,
        peak_gflops=roof.peak_gflops,
        bandwidth_gb_s=roof.bandwidth_gb_s,
        layers=layers,
        note=_DISTRIBUTED if method == "distributed" else _STEP if training else _PREDICTED,
    )


def _roof(device: str) -> Roof:
    spec = gpu(device)
    return Roof(name=spec.name, peak_gflops=spec.peak_gflops, bandwidth_gb_s=spec.memory_bandwidth_gb_s)
