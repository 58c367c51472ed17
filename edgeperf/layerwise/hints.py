"""Measured operations that take longer than operations like them → a hint at kernels that are badly tuned.

What an operation should take is predicted from the other measured operations alone. Sponner et al. 2022 found their
slow kernels so: at output widths that are prime numbers, where a tuner has no factor to tile by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.validation import configurations, same_operation
from edgeperf.layerwise.workloads import Fusion, steps

if TYPE_CHECKING:
    from edgeperf.layerwise.held_out import HeldOut
    from edgeperf.records import Network

SLOW = 1.5
"""Times the expected latency from which a kernel counts as slow."""
_FEWEST = 30
"""Different measured operations, below which there is nothing that one is like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLayer:
    """A layer whose operation was measured, and took longer than operations like it.

    Attributes:
        layer: its name.
        measured_ms: of its operation alone.
        expected_ms: the same, predicted from the other operations.
    """

    layer: str
    measured_ms: float
    expected_ms: float

    @property
    def factor(self) -> float:
        """Measured over expected."""
        return self.measured_ms / self.expected_ms


def slow_layers(network: Network, measured: HeldOut, *, batch_size: int = 1, fusion: Fusion) -> tuple[SlowLayer, ...]:
    """Layers whose operation took `SLOW` times what is expected, or more; worst first; none where few were measured.

    Args:
        network: whose layers.
        measured: operations, with what is expected of each.
        batch_size: of one pass.
        fusion: what the runtime folds.
    """
    found, rows = steps(network, batch_size=batch_size, fusion=fusion), measured.rows
    if not found or len(np.unique(configurations(rows))) < _FEWEST:
        return ()
    known = dict(zip(same_operation(rows), zip(measured.measured_ms, measured.predicted_ms, strict=True), strict=True))
    keys = same_operation(operation_table(step.operation for step in found))
    own = ((step.layer, *known[key]) for step, key in zip(found, keys, strict=True) if key in known)
    slow = (SlowLayer(layer=name, measured_ms=float(ms), expected_ms=float(like)) for name, ms, like in own)
    return tuple(sorted((each for each in slow if each.factor >= SLOW), key=lambda each: -each.factor))
