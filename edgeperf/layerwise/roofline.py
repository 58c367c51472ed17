"""Operation table, data sheet → the time that no kernel can beat, and what bounds each operation.

Reference: Williams, Waterman, Patterson, Roofline, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.hardware import GpuSpec, gpu
from edgeperf.layerwise.quantities import Array, quantities

if TYPE_CHECKING:
    import pandas as pd

_REACHED = 0.99
LAUNCH_MS = 0.003
"""Of a GPU's kernel that does nothing, where it was not measured without its host."""


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
    launch_ms: float = LAUNCH_MS


def data_sheet(name: str) -> GpuSpec | None:
    """The data sheet of the GPU of that name or alias; None where it names no GPU of `edgeperf.hardware`."""
    try:
        return gpu(name)
    except InvalidInput:
        return None


def roof_of(name: str, *, tensor_cores: float = 1.0) -> Roof:
    """The roof of a GPU of `edgeperf.hardware`.

    Args:
        name: as `edgeperf.hardware.gpu` understands it.
        tensor_cores: how many times the FP32 peak the units in use reach (TF32 on an A30 or A100: 8).
    """
    spec = gpu(name)
    return Roof(
        name=spec.name,
        peak_gflops=tensor_cores * spec.peak_gflops,
        bandwidth_gb_s=spec.memory_bandwidth_gb_s,
    )


def roof_reached(table: pd.DataFrame, *, device: str, on_gpu: bool = False) -> Roof:
    """The roof that measured operations came near, for devices without a data sheet here; GPUs have theirs.

    Peak and bandwidth are what all but 1 % of the operations stay below, the launch is the shortest time; on a GPU that
    is the host's, and a kernel alone takes `LAUNCH_MS` at most.

    Args:
        table: measured operations with `latency_ms`.
        device: its name.
        on_gpu: whether they ran on a GPU.
    """
    if data_sheet(device) is not None:
        return roof_of(device)
    found, latency = quantities(table), table["latency_ms"].to_numpy(np.float64)
    weighted = (table["macs"] > 0).to_numpy()
    speed = (found["operations"] / latency)[weighted] if weighted.any() else found["operations"] / latency
    shortest = float(latency.min())
    return Roof(
        name=device,
        peak_gflops=float(np.quantile(speed, _REACHED)) / 1e6,
        bandwidth_gb_s=float(np.quantile(found["bytes"] / latency, _REACHED)) / 1e6,
        launch_ms=min(shortest, LAUNCH_MS) if on_gpu else shortest,
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
