"""Training rows with graphs → surrogates built on what a GPU does: prices per quantity, then a smooth correction.

* Latency is a sum of prices times quantities; what that misses, relatively, is learned by a Gaussian process.
* Power is what the board draws at rest plus energy per inference over the time between inferences. That time is the
  latency and an overhead on the host, which the kernels' own time does not show.
* Energy is latency times power, corrected once more on measured energies.
* Memory is a sum of prices over weights, activations and calls, corrected likewise.

Every surrogate predicts in the metric's unit and can be written down as plain arrays (`edgeperf.surrogates.store`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from edgeperf.network.graph_quantities import QUANTITY_NAMES
from edgeperf.surrogates.additive import fit_layer_prices, fit_prices
from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.descriptors import column, descriptors, quantities
from edgeperf.surrogates.gaussian import GaussianProcess, fit_process, optimise
from edgeperf.surrogates.runtimes import STREAMED, known_prices
from edgeperf.units import BYTES_PER_MIB, MILLISECONDS_PER_SECOND

if TYPE_CHECKING:
    from edgeperf.surrogates.rows import Rows, Training

Hyper = dict[str, list[float]]
"""Name of a part → what was tuned for it, as JSON holds it."""

MEMORY_RIDGE: Final = 1e-4
_MOST_POINTS: Final = 2500
"""A Gaussian process takes time with the cube of its points."""
_OVERHEADS_MS: Final = (0.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 80.0, 100.0, 130.0, 170.0, 220.0)
_NO_OVERHEAD: Final = (0.0, 0.0)
_OVERHEADS_PER_CALL_MS: Final = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)


class Surrogate(Protocol):
    """Anything that predicts one metric of one device."""

    def predict(self, features: Matrix) -> Vector:
        """(rows,) in the metric's unit, for features (rows, features) in the order of `FEATURE_NAMES`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveSurrogate:
    """A cost per inference: prices per additive quantity, times the exponential of a correction."""

    prices: Vector
    correction: GaussianProcess

    def predict(self, features: Matrix) -> Vector:
        """(rows,) in the unit of the prices."""
        return quantities(features) @ self.prices * np.exp(self.correction.mean(descriptors(features)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSurrogate:
    """Milliwatts: rest plus energy per inference over the time between two inferences, then a correction.

    Attributes:
        latency: of the same device.
        overhead_ms: on the host, per inference.
        overhead_per_call_ms: on the host, per layer.
        prices: energy in uJ per unit of each quantity; the last is the power at rest in mW.
    """

    latency: AdditiveSurrogate
    overhead_ms: float
    overhead_per_call_ms: float
    prices: Vector
    correction: GaussianProcess

    def predict(self, features: Matrix) -> Vector:
        """(rows,) mW."""
        rates = _rates(features, self.latency.predict(features), self.overhead_ms, self.overhead_per_call_ms)
        return rates @ self.prices * np.exp(self.correction.mean(descriptors(features)))

    def layer_energies(self, layers: Matrix, latency_ms: Vector) -> Vector:
        """(layers,) uJ of latency times power per layer, before the correction.

        Energy per quantity is spread over the time between two inferences, so as much of it falls into the latency as
        the latency is of that time.

        Args:
            layers: (layers, quantities) what each adds to the network's.
            latency_ms: (layers,) its part of the latency.
        """
        total_ms = latency_ms.sum()
        calls = layers[:, QUANTITY_NAMES.index("calls")].sum()
        period_ms = total_ms + self.overhead_ms + self.overhead_per_call_ms * calls
        return np.asarray(layers @ self.prices[:-1] * (total_ms / period_ms) + self.prices[-1] * latency_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergySurrogate:
    """Millijoules per inference: latency times power, then a correction."""

    power: PowerSurrogate
    correction: GaussianProcess

    def predict(self, features: Matrix) -> Vector:
        """(rows,) mJ."""
        return _product(self.power, features) * np.exp(self.correction.mean(descriptors(features)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySurrogate:
    """Mebibytes in use on the board: prices over weights, activations and calls, then a correction."""

    prices: Vector
    correction: GaussianProcess

    def predict(self, features: Matrix) -> Vector:
        """(rows,) MiB."""
        return _footprint(features) @ self.prices * np.exp(self.correction.mean(descriptors(features)))


def tune(training: Training, *, seed: int) -> Hyper:
    """Hyper-parameters of all parts of the surrogate for `training.metric`."""
    return _TUNERS[training.metric](training.with_graph(), seed)


def fit(training: Training, hyper: Hyper) -> Surrogate:
    """The surrogate for `training.metric`, with the hyper-parameters that `tune` found."""
    return _FITTERS[training.metric](training.with_graph(), hyper)


def _fit_latency(training: Training, hyper: Hyper) -> AdditiveSurrogate:
    rows = training.of("latency_ms").rows
    return _fit_additive(rows, known_prices(rows.device), hyper["latency"])


def _tune_latency(training: Training, seed: int) -> Hyper:
    rows = training.of("latency_ms").rows
    return {"latency": _tune_additive(rows, known_prices(rows.device), seed)}


def _fit_additive(rows: Rows, known: Vector | None, hyper: Sequence[float]) -> AdditiveSurrogate:
    prices = fit_layer_prices(quantities(rows.features), rows.value, known=known)
    missed = np.log(rows.value / (quantities(rows.features) @ prices))
    return AdditiveSurrogate(prices=prices, correction=_correction(rows.features, missed, hyper))


def _tune_additive(rows: Rows, known: Vector | None, seed: int) -> list[float]:
    prices = fit_layer_prices(quantities(rows.features), rows.value, known=known)
    missed = np.log(rows.value / (quantities(rows.features) @ prices))
    hyper = optimise(descriptors(rows.features), missed, seed=seed)
    if known is not None:
        # Where the runtime sets prices, they hold beyond what was measured; the correction must not reach there.
        hyper[1:-1] = np.minimum(hyper[1:-1], 0.0)
    return [float(value) for value in hyper]


def _fit_power(training: Training, hyper: Hyper) -> PowerSurrogate:
    rows = training.of("power_mw").rows
    latency = _fit_latency(training, hyper)
    per_inference, per_call = hyper["overhead"]
    rates = _rates(rows.features, latency.predict(rows.features), per_inference, per_call)
    prices = _fit_rate_prices(rates, rows.value)
    missed = np.log(rows.value / (rates @ prices))
    correction = _correction(rows.features, missed, hyper["power"])
    return PowerSurrogate(
        latency=latency, overhead_ms=per_inference, overhead_per_call_ms=per_call, prices=prices, correction=correction
    )


def _tune_power(training: Training, seed: int) -> Hyper:
    rows = training.of("power_mw").rows
    hyper = _tune_latency(training, seed)
    latency_ms = _fit_latency(training, hyper).predict(rows.features)

    def missed(overhead: tuple[float, float]) -> Vector:
        rates = _rates(rows.features, latency_ms, *overhead)
        return np.log(rows.value / (rates @ _fit_rate_prices(rates, rows.value)))

    possible = list(product(_OVERHEADS_MS, _OVERHEADS_PER_CALL_MS))
    if known_prices(rows.device) is not None:
        possible = [_NO_OVERHEAD]  # such latencies are wall-clock times
    best = min(possible, key=lambda pair: float(np.abs(missed(pair)).mean()))
    power = optimise(descriptors(rows.features), missed(best), seed=seed)
    return {**hyper, "overhead": list(best), "power": power.tolist()}


def _fit_energy(training: Training, hyper: Hyper) -> Surrogate:
    rows = training.of("energy_mj").rows
    known = _known_energies(training)
    if known is not None:
        return _fit_additive(rows, known, hyper["energy"])
    power = _fit_power(training, hyper)
    missed = np.log(rows.value / _product(power, rows.features))
    correction = _correction(rows.features, missed, hyper["energy"])
    return EnergySurrogate(power=power, correction=correction)


def _tune_energy(training: Training, seed: int) -> Hyper:
    rows = training.of("energy_mj").rows
    known = _known_energies(training)
    if known is not None:
        return {"energy": _tune_additive(rows, known, seed)}
    hyper = _tune_power(training, seed)
    missed = np.log(rows.value / _product(_fit_power(training, hyper), rows.features))
    return {**hyper, "energy": optimise(descriptors(rows.features), missed, seed=seed).tolist()}


def _known_energies(training: Training) -> Vector | None:
    """(quantities,) mJ per unit: the prices in time that the runtime sets, at what the board draws while it streams."""
    known = known_prices(training.rows.device)
    if known is None:
        return None
    latency, energy = (training.of(metric).rows for metric in ("latency_ms", "energy_mj"))
    usual_watts = float(np.median(energy.value) / np.median(latency.value))
    streamed = QUANTITY_NAMES.index(STREAMED)
    ms, mj = (
        fit_layer_prices(quantities(rows.features), rows.value, known=known * watts)[streamed]
        for rows, watts in ((latency, 1.0), (energy, usual_watts))
    )
    return np.asarray(known * (mj / ms if ms * mj else usual_watts))


def _fit_memory(training: Training, hyper: Hyper) -> MemorySurrogate:
    rows = training.of("memory_mib").rows
    prices = fit_prices(_footprint(rows.features), rows.value, ridge=MEMORY_RIDGE)
    missed = np.log(rows.value / (_footprint(rows.features) @ prices))
    correction = _correction(rows.features, missed, hyper["memory"])
    return MemorySurrogate(prices=prices, correction=correction)


def _tune_memory(training: Training, seed: int) -> Hyper:
    rows = training.of("memory_mib").rows
    prices = fit_prices(_footprint(rows.features), rows.value, ridge=MEMORY_RIDGE)
    missed = np.log(rows.value / (_footprint(rows.features) @ prices))
    return {"memory": optimise(descriptors(rows.features), missed, seed=seed).tolist()}


def _correction(features: Matrix, missed: Vector, hyper: Sequence[float]) -> GaussianProcess:
    """What prices miss, in logarithms, from at most `_MOST_POINTS` rows drawn with a fixed seed."""
    drawn = np.sort(np.random.default_rng(0).permutation(len(missed))[:_MOST_POINTS])
    return fit_process(descriptors(features[drawn]), missed[drawn], np.asarray(hyper))


def _rates(features: Matrix, latency_ms: Vector, overhead_ms: float, overhead_per_call_ms: float) -> Matrix:
    """(rows, quantities + 1): quantities per ms between two inferences, and 1 for the power at rest."""
    period_ms = latency_ms + overhead_ms + overhead_per_call_ms * column(features, "calls")
    return np.column_stack([quantities(features) / period_ms[:, None], np.ones(len(features))])


def _fit_rate_prices(rates: Matrix, power_mw: Vector) -> Vector:
    return fit_layer_prices(rates[:, :-1], power_mw, extra=rates[:, -1:])


def _product(power: PowerSurrogate, features: Matrix) -> Vector:
    return power.latency.predict(features) * power.predict(features) / MILLISECONDS_PER_SECOND


def _footprint(features: Matrix) -> Matrix:
    """(rows, 5): 1 for the runtime, MiB of weights, activations and input, and the number of layers."""
    mib = 4 / BYTES_PER_MIB
    return np.column_stack([
        np.ones(len(features)),
        column(features, "params") * mib,
        column(features, "activations") * mib,
        column(features, "num_layers"),
        column(features, "input_pixels") * column(features, "input_channels") * mib,
    ])  # fmt: skip


_FITTERS: Final[Mapping[str, Callable[[Training, Hyper], Surrogate]]] = {
    "latency_ms": _fit_latency,
    "power_mw": _fit_power,
    "energy_mj": _fit_energy,
    "memory_mib": _fit_memory,
}
_TUNERS: Final[Mapping[str, Callable[[Training, int], Hyper]]] = {
    "latency_ms": _tune_latency,
    "power_mw": _tune_power,
    "energy_mj": _tune_energy,
    "memory_mib": _tune_memory,
}
