"""Operations measured at several GPU clocks → what a network costs at each, and the clocks at which it costs least.

The operations of each clock are fitted by themselves, and the network is their sum there; clocks in between are not
predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.layerwise.clocks import Objective, Optimum, cheapest
from edgeperf.layerwise.fitting import fit_measured
from edgeperf.layerwise.measurements import by_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeperf.records import Network

_OBJECTIVES: tuple[Objective, ...] = ("energy", "energy-delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCost:
    """One pass of a network at one GPU clock.

    Attributes:
        clock_mhz: that the GPU was fixed at.
        operations: rows measured there.
        latency_ms: of the network.
        power_mw: mean over the pass; None where power was not measured, as for the other two.
        energy_mj: of the network.
        energy_delay_mj_ms: energy times latency.
    """

    clock_mhz: float
    operations: int
    latency_ms: float
    power_mw: float | None
    energy_mj: float | None
    energy_delay_mj_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSweep:
    """A network over the GPU clocks of a device.

    Attributes:
        network: its name.
        device: where.
        phase: ``"inference"``, or ``"training"`` where a pass is a training step.
        batch_size: images per pass.
        clocks: ascending.
        optima: of energy and of the energy-delay product, among the clocks with power; none where fewer than two have.
    """

    network: str
    device: str
    phase: str
    batch_size: int
    clocks: tuple[ClockCost, ...]
    optima: tuple[Optimum, ...]


def swept(network: Network, table: pd.DataFrame, *, device: str, on_gpu: bool | None = None, seed: int) -> ClockSweep:
    """The network at every clock that the device's operations were measured at.

    Args:
        network: whose operations are added up.
        table: as `edgeperf.layerwise.measurements.read_measured` gives it.
        device: whose rows.
        on_gpu: see `edgeperf.layerwise.fitting.fit_measured`.
        seed: of all chance.

    Raises:
        InvalidInput: nothing was measured there, or at fewer than two clocks.
    """
    costs: list[ClockCost] = []
    for clock_mhz, rows in by_clock(table, device).items():
        found = fit_measured(rows, device=device, on_gpu=on_gpu, seed=seed).cost(network)
        energy = found.energy_mj
        costs.append(
            ClockCost(
                clock_mhz=clock_mhz,
                operations=len(rows),
                latency_ms=found.latency_ms,
                power_mw=found.power_mw,
                energy_mj=energy,
                energy_delay_mj_ms=None if energy is None else energy * found.latency_ms,
            )
        )
    return ClockSweep(
        network=network.name,
        device=device,
        phase="training" if found.training else "inference",
        batch_size=found.batch_size,
        clocks=tuple(costs),
        optima=_optima(costs),
    )


def _optima(costs: Sequence[ClockCost]) -> tuple[Optimum, ...]:
    known = [(each.clock_mhz, each.latency_ms, each.power_mw) for each in costs if each.power_mw is not None]
    if len(known) < 2:
        return ()
    clocks, latency, power = (np.array(values) for values in zip(*known, strict=True))
    return tuple(cheapest(clocks, latency, power, objective) for objective in _OBJECTIVES)
