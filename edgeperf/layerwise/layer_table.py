"""The layers of a network with what each costs on a device, as `edgeperf.layerwise.shares` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgeperf.records import Estimate, Shape

Method = Literal["distributed", "predicted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """One layer of a network on a device.

    Attributes:
        name: of the layer.
        kind: its Keras class.
        output_shape: without batch.
        latency_ms: its part.
        latency_share: of the network's.
        energy_mj: its part; None where energy is not predicted.
        energy_share: of the network's; None likewise.
        operations: floating-point operations of one pass; one per output element where there is no arithmetic.
        intensity: floating-point operations per byte moved.
        bound: ``"compute"``, ``"memory"`` or ``"launch"``: which side of the roofline it lies on.
        roofline_ms: the least time that the data sheet allows.

    A training step does the work of a layer three times: forward, gradient of the input, gradient of the weights.
    """

    name: str
    kind: str
    output_shape: Shape
    latency_ms: float
    latency_share: float
    energy_mj: float | None
    energy_share: float | None
    operations: float
    intensity: float
    bound: str
    roofline_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTable:
    """All layers of a network on a device.

    Attributes:
        network: its name.
        device: where.
        method: how the parts came about.
        phase: ``"inference"``, or ``"training"`` where latency and energy are those of a training step.
        batch_size: images per pass.
        latency_ms: of the network; the sum of the layers'.
        energy_mj: of the network; the sum of the layers'; None where it is not predicted.
        power_rail: what the energy was drawn through: ``"GPU-rail"``, ``"GPU-board"`` or ``"processor-package"``; None
            where nothing tells.
        peak_gflops: of the device, see `edgeperf.layerwise.roofline.Roof`.
        bandwidth_gb_s: of the device.
        layers: in network order; layers that run nothing have 0.
        note: what a reader must know of the method, and of operations of kinds that were not measured.
        estimates: the whole-network predictions that were distributed, each with its 90 % interval and whether the
            network lies in the measured range; empty for sums of operations, which have neither.
    """

    network: str
    device: str
    method: Method
    phase: str
    batch_size: int
    latency_ms: float
    energy_mj: float | None
    power_rail: str | None = None
    peak_gflops: float
    bandwidth_gb_s: float
    layers: tuple[LayerCost, ...]
    note: str
    estimates: tuple[Estimate, ...] = ()

    @property
    def heading(self) -> str:
        """What the table is of, e.g. ``"resnet50 on a30, inference at batch size 32"``."""
        return f"{self.network} on {self.device}, {self.phase} at batch size {self.batch_size}"

    @property
    def one_pass(self) -> str:
        """What latency and energy are of, e.g. ``"pass of 32 images"``."""
        return one_pass(self.phase, self.batch_size)

    @property
    def energy_label(self) -> str:
        """What `energy_mj` is, e.g. ``"GPU-rail energy"``; plain ``"Energy"`` where nothing tells the rail."""
        return "Energy" if self.power_rail is None else f"{self.power_rail[0].upper()}{self.power_rail[1:]} energy"

    def dominant(self, count: int = 5) -> tuple[LayerCost, ...]:
        """The layers that take most time, longest first."""
        return tuple(sorted(self.layers, key=lambda layer: -layer.latency_ms)[:count])

    def by_kind(self) -> dict[str, float]:
        """Kind → share of the latency, largest first."""
        shares: dict[str, float] = {}
        for layer in self.layers:
            shares[layer.kind] = shares.get(layer.kind, 0.0) + layer.latency_share
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def one_pass(phase: str, batch_size: int) -> str:
    """What a latency or an energy is of.

    >>> one_pass("inference", 1), one_pass("inference", 32), one_pass("training", 8)
    ('inference', 'pass of 32 images', 'training step of 8 images')
    """
    if phase == "inference" and batch_size == 1:
        return "inference"
    images = "1 image" if batch_size == 1 else f"{batch_size} images"
    return f"{'training step' if phase == 'training' else 'pass'} of {images}"
