"""Operation table, data sheet → the time that no kernel can beat, and what bounds each operation.

Reference: Williams, Waterman, Patterson, Roofline, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.hardware import GPUS, gpu
from edgeperf.layerwise.quantities import Array, quantities

if TYPE_CHECKING:
    import pandas as pd

_REACHED = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What bounds a kernel.

    Attributes:
        name: of the device.
        peak_gflops: 10^9 floating-point operations per second at most.
        bandwidth_gb_s: 10^9 bytes per second at most.
        launch_ms: time of a kernel that does nothing.
    """

    name: str
    peak_gflops: float
    bandwidth_gb_s: float
    launch_ms: float = 0.003

    @property
    def ridge(self) -> float:
        """Operations per byte above which arithmetic bounds a kernel, and below which memory does."""
        return self.peak_gflops / self.bandwidth_gb_s


def roof_of(name: str, *, tensor_cores: float = 1.0) -> Roof:
    """The roof of a GPU of `edgeperf.hardware`.

    Args:
        name: as in `edgeperf.hardware.GPUS`.
        tensor_cores: how many times the FP32 peak the units in use reach (TF32 on an A30 or A100: 8).
    """
    spec = gpu(name)
    return Roof(
        name=spec.name,
        peak_gflops=tensor_cores * spec.peak_gflops,
        bandwidth_gb_s=spec.memory_bandwidth_gb_s,
    )


def roof_reached(table: pd.DataFrame, *, device: str) -> Roof:
    """The roof that measured operations came near, for devices without a data sheet here; GPUs have theirs.

    Peak and bandwidth are what all but 1 % of the operations stay below, the launch is the shortest time.

    Args:
        table: measured operations with `latency_ms`.
        device: its name.
    """
    if device in GPUS:
        return roof_of(device)
    found, latency = quantities(table), table["latency_ms"].to_numpy(np.float64)
    weighted = (table["macs"] > 0).to_numpy()
    speed = (found["operations"] / latency)[weighted] if weighted.any() else found["operations"] / latency
    return Roof(
        name=device,
        peak_gflops=float(np.quantile(speed, _REACHED)) / 1e6,
        bandwidth_gb_s=float(np.quantile(found["bytes"] / latency, _REACHED)) / 1e6,
        launch_ms=float(latency.min()),
    )


def roofline_ms(table: pd.DataFrame, roof: Roof) -> Array:
    """The larger of arithmetic and memory time of each operation, plus a launch, in ms."""
    found = quantities(table)
    compute = found["operations"] / roof.peak_gflops / 1e6
    memory = found["bytes"] / roof.bandwidth_gb_s / 1e6
    return np.maximum(compute, memory) + roof.launch_ms


def bound_by(table: pd.DataFrame, roof: Roof) -> list[str]:
    """``"compute"``, ``"memory"`` or ``"launch"`` per operation: which part of `roofline_ms` is largest."""
    found = quantities(table)
    parts = np.stack(
        [
            found["operations"] / roof.peak_gflops / 1e6,
            found["bytes"] / roof.bandwidth_gb_s / 1e6,
            np.full(len(table), roof.launch_ms),
        ]
    )
    return [("compute", "memory", "launch")[index] for index in parts.argmax(axis=0)]
