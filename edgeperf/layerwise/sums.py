"""Predictors of operations → what each layer of a network costs, and the network as their sum.

Three things stand between operations measured alone and a network measured whole, and each has its place:

* fusion: what runs at all (`edgeperf.layerwise.workloads`);
* the measuring loop, which an operation alone pays for and a network does not (`edgeperf.layerwise.loops`);
* operations that were not measured (`edgeperf.layerwise.stand_ins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.loops import Loop
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.predictors import OperationPredictor
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.roofline import Roof, roofline_ms
from edgeperf.layerwise.stand_ins import as_measured
from edgeperf.layerwise.workloads import EAGER, Fusion, Step, steps
from edgeperf.records import Network

NO_LOOP = Loop()
"""Times measured alone are times in a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """What one operation of a network costs.

    Attributes:
        step: the operation, its layer and what is folded into it.
        latency_ms: of one pass.
        energy_mj: of one pass; None where no power is predicted.
        measured_kind: whether operations of this kind were measured; for others see `edgeperf.layerwise.stand_ins`.
    """

    step: Step
    latency_ms: float
    energy_mj: float | None
    measured_kind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCost:
    """A network as the sum of its operations.

    Attributes:
        network: its name.
        device: where.
        batch_size: images per pass.
        steps: in network order.
        training: whether a pass is a training step.
    """

    network: str
    device: str
    batch_size: int
    steps: tuple[StepCost, ...]
    training: bool = False

    @property
    def latency_ms(self) -> float:
        """Of one pass."""
        return sum(each.latency_ms for each in self.steps)

    @property
    def energy_mj(self) -> float | None:
        """Of one pass; None where no power is predicted."""
        parts = [each.energy_mj for each in self.steps]
        return None if None in parts else sum(part for part in parts if part is not None)

    @property
    def power_mw(self) -> float | None:
        """Mean over the pass; None where no power is predicted."""
        energy = self.energy_mj
        return None if energy is None or not self.latency_ms else 1e3 * energy / self.latency_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePredictor:
    """Everything that turns a network into costs on one device.

    Attributes:
        device: where its rows were measured.
        kinds: that were measured and mean the same in a network.
        latency: predicts ms per operation, measured alone.
        power: predicts mW per operation; None where power was not measured.
        roof: of the device.
        loop: how operations were measured.
        fusion: what the measured runtime folds.
        batch_size: of the measured rows.
    """

    device: str
    kinds: frozenset[str]
    latency: OperationPredictor
    roof: Roof
    power: OperationPredictor | None = None
    loop: Loop = NO_LOOP
    fusion: Fusion = EAGER
    batch_size: int = 1

    def cost(self, network: Network) -> NetworkCost:
        """What every operation of the network costs; time that the network waits for the host is shared out evenly.

        Raises:
            InvalidInput: the network runs nothing.
        """
        found = steps(network, batch_size=self.batch_size, fusion=self.fusion)
        if not found:
            raise InvalidInput(f"{network.name} runs no operation; expected a layer beside inputs and views.")
        kernels, dynamic = self.parts(network, found)
        wait = max(0.0, self.loop.host_ms - float(kernels.mean()))
        latency = kernels + wait
        energy = None if dynamic is None else dynamic + self.loop.idle_mw * latency / 1e3
        costs = tuple(
            StepCost(
                step=step,
                latency_ms=float(latency[index]),
                energy_mj=None if energy is None else float(energy[index]),
                measured_kind=step.operation.kind in self.kinds,
            )
            for index, step in enumerate(found)
        )
        return NetworkCost(
            network=network.name,
            device=self.device,
            batch_size=self.batch_size,
            steps=costs,
            training=self.fusion.training,
        )

    def parts(self, network: Network, found: Sequence[Step]) -> tuple[Array, Array | None]:
        """Kernel time (ms) and energy above idle (mJ) per step; equal operations are predicted once."""
        images = frozenset(network.inputs)
        keys = [(step.operation, _reads_image(step, images)) for step in found]
        unique = list(dict.fromkeys(keys))
        position = {key: index for index, key in enumerate(unique)}
        order = np.array([position[key] for key in keys])
        table = as_measured(operation_table(key[0] for key in unique), self.kinds, training=self.fusion.training)
        kernels, dynamic = self.loop.kernels(
            table,
            self.latency.predict(table),
            None if self.power is None else self.power.predict(table),
            roofline_ms=roofline_ms(table, self.roof),
            reads_image=np.array([key[1] for key in unique], dtype=np.bool_),
        )
        return kernels[order], None if dynamic is None else dynamic[order]


def _reads_image(step: Step, images: frozenset[str]) -> bool:
    """Whether the step has weights and reads an input of the network, whose gradient nobody needs."""
    return step.operation.weights > 0 and not images.isdisjoint(step.reads)
