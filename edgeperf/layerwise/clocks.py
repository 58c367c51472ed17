"""Time and power measured at some GPU clocks → at every clock, and the clock that costs least.

Two laws give the shape: time is a part that scales with the clock's period and a part that does not (memory, host);
power is a constant, a part that follows the clock, and one that follows its cube (voltage rises with the clock). What
they miss is interpolated, monotone between measured clocks, so that measured points are reproduced.

The choice of a clock weighs this against a parabola through the cheapest measured clocks, because a curve through every
measured point follows its noise too.

Energy per inference has its minimum inside the range: below it the constant power lasts too long, above it the voltage
costs too much.

Reference: Tang, Wang, Wang, Chu, The Impact of GPU DVFS on the Energy and Performance of Deep Learning, e-Energy 2019,
for the laws; Fritsch, Butland, SIAM J. Sci. Stat. Comput. 5(2), 1984, for the interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.quantities import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

Objective = Literal["energy", "energy-delay"]

_EXPONENTS: Final[dict[str, int]] = {"energy": 1, "energy-delay": 2}
"""Objective → exponent of time."""
_PARABOLA: Final = 4
"""Measured clocks under the parabola; of 4 and 5, chosen on the sweeps of `benchmarks/clocks.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCurve:
    """What one workload costs over the clocks of one device.

    Attributes:
        clocks_mhz: where it was measured, ascending.
        latency_ms: there.
        power_mw: there.
    """

    clocks_mhz: Array
    latency_ms: Array
    power_mw: Array

    def latency_at(self, clocks_mhz: Array) -> Array:
        """Latency in ms."""
        return _law_and_rest(self.clocks_mhz, self.latency_ms, clocks_mhz, _time_terms)

    def power_at(self, clocks_mhz: Array) -> Array:
        """Power in mW."""
        return _law_and_rest(self.clocks_mhz, self.power_mw, clocks_mhz, _power_terms)

    def cost_at(self, clocks_mhz: Array, objective: Objective = "energy") -> Array:
        """Energy in mJ, or energy-delay product in mJ ms."""
        return _cost(self.latency_at(clocks_mhz), self.power_at(clocks_mhz), objective)

    def optimum(self, clocks_mhz: Array | Sequence[float], objective: Objective = "energy") -> Optimum:
        """The clock of least cost among those that the device offers; measured cost decides where all are measured.

        Raises:
            InvalidInput: no clock is offered, or one that is no positive number.
        """
        clocks_mhz = np.asarray(clocks_mhz, dtype=np.float64)
        if not len(clocks_mhz) or not ((clocks_mhz > 0) & np.isfinite(clocks_mhz)).all():
            raise InvalidInput(f"The device's clocks are {clocks_mhz.tolist()}; expected one or more, in MHz above 0.")
        costs = self.cost_at(clocks_mhz, objective)
        judged = costs if np.isin(clocks_mhz, self.clocks_mhz).all() else self._smoothed(clocks_mhz, costs, objective)
        return _least(clocks_mhz, costs, judged, objective)

    def _smoothed(self, clocks_mhz: Array, costs: Array, objective: Objective) -> Array:
        """Costs averaged in logarithms with those of a parabola through the cheapest measured clocks.

        Outside these clocks the larger of the two counts, so that no clock is chosen on extrapolation alone.
        """
        measured = self.cost_at(self.clocks_mhz, objective)
        start = max(0, min(int(measured.argmin()) - _PARABOLA // 2, len(measured) - _PARABOLA))
        near = slice(start, start + _PARABOLA)
        parabola = np.polyfit(np.log(self.clocks_mhz[near]), np.log(measured[near]), 2)
        if parabola[0] <= 0:  # no minimum
            return costs
        inside = (clocks_mhz >= self.clocks_mhz[near][0]) & (clocks_mhz <= self.clocks_mhz[near][-1])
        fitted = np.exp(np.polyval(parabola, np.log(clocks_mhz)))
        found: Array = np.where(inside, np.sqrt(costs * fitted), np.maximum(costs, fitted))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best clock for one objective.

    Attributes:
        objective: what is least there.
        clock_mhz: of the GPU.
        cost: in the objective's unit.
        saved_share: of the cost at the highest clock.
        margin_share: what the next best clock costs more; None where there is no other.
    """

    objective: str
    clock_mhz: float
    cost: float
    saved_share: float
    margin_share: float | None


def clock_curve(clocks_mhz: Sequence[float], latency_ms: Sequence[float], power_mw: Sequence[float]) -> ClockCurve:
    """The curve through measurements at three clocks or more, in any order.

    Raises:
        InvalidInput: fewer than three clocks, a clock twice, or numbers that are not positive.
    """
    clocks, latency, power = (np.asarray(values, dtype=np.float64) for values in (clocks_mhz, latency_ms, power_mw))
    if not len(clocks) == len(latency) == len(power):
        raise InvalidInput(
            f"{len(clocks)} clocks, {len(latency)} latencies, {len(power)} powers; expected as many of each."
        )
    if len(np.unique(clocks)) < max(3, len(clocks)):
        raise InvalidInput(f"Clocks are {sorted(clocks.tolist())}; expected three or more, each once.")
    if not all((values > 0).all() and np.isfinite(values).all() for values in (clocks, latency, power)):
        raise InvalidInput("Clocks, latencies and powers must be positive numbers.")
    order = clocks.argsort()
    return ClockCurve(clocks_mhz=clocks[order], latency_ms=latency[order], power_mw=power[order])


def cheapest(clocks_mhz: Array, latency_ms: Array, power_mw: Array, objective: Objective) -> Optimum:
    """The clock of least cost among those where time and power are known, without a curve through them."""
    costs = _cost(latency_ms, power_mw, objective)
    return _least(clocks_mhz, costs, costs, objective)


def _least(clocks_mhz: Array, costs: Array, judged: Array, objective: Objective) -> Optimum:
    best, highest = int(judged.argmin()), int(clocks_mhz.argmax())
    others = np.delete(judged, best)
    return Optimum(
        objective=objective,
        clock_mhz=float(clocks_mhz[best]),
        cost=float(costs[best]),
        saved_share=float(1 - costs[best] / costs[highest]),
        margin_share=float(others.min() / judged[best] - 1) if len(others) else None,
    )


def half_of(clocks_mhz: Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Positions of half of the clocks (ascending), evenly spread and with both ends: where to measure."""
    return np.unique(np.round(np.linspace(0, len(clocks_mhz) - 1, max(3, len(clocks_mhz) // 2))).astype(np.int64))


def _cost(latency_ms: Array, power_mw: Array, objective: Objective) -> Array:
    if objective not in _EXPONENTS:
        raise InvalidInput(f"Unknown objective {objective!r}; expected one of {', '.join(_EXPONENTS)}.")
    return latency_ms ** _EXPONENTS[objective] * power_mw / 1e3


def _time_terms(clocks: Array) -> Array:
    return np.column_stack([1 / clocks, np.ones_like(clocks)])


def _power_terms(clocks: Array) -> Array:
    return np.column_stack([np.ones_like(clocks), clocks, clocks**3])


def _law_and_rest(known: Array, values: Array, wanted: Array, terms: Callable[[Array], Array]) -> Array:
    """Non-negative least squares of relative error on `terms`, times the interpolated ratio that it leaves.

    Outside the measured clocks the ratio stays as it is at the nearer end.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.optimize import nnls

    top = known.max()
    weights, _ = nnls(terms(known / top) / values[:, None], np.ones_like(values))
    law, law_wanted = terms(known / top) @ weights, terms(wanted / top) @ weights
    rest = PchipInterpolator(np.log(known), np.log(values / law))
    found: Array = law_wanted * np.exp(rest(np.log(np.clip(wanted, known[0], top))))
    return found
