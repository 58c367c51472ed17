"""Operations measured alone, over and over → what they take inside a network.

An operation in a measuring loop pays for things that it does not pay for in a network, and the other way round::

    measured alone    |== kernels ==|= leaf gradients =|.. host not ready ..|   one turn of the loop
    in a network      |== kernels ==|== next operation's kernels ==|== ...       the host runs ahead

* Leaf gradients: a training loop over one operation adds the gradients of its input and its weights to stored ones,
  three passes over each. The identity operation does nothing else, so its time per element is the price (`leaf_ms`).
* Host floor: an operation cannot take less than the host needs to issue it; small ones all show that floor. Near it,
  kernels are taken to need the roofline at most (three times it in training: forward, input and weight gradient).
* The image: the first operation computes no gradient of it.
* Host in a network: the host runs ahead, so a network takes the longer of all its kernels and of the host's time to
  issue them (`host_ms` each, learned from the measured networks that wait for it).
* Power above idle belongs to the kernels, wherever they run; idle power lasts as long as the network does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgeperf.layerwise.quantities import Array

if TYPE_CHECKING:
    import pandas as pd

_NEAR_FLOOR = 1.25
_LEAST_SHARE = 0.1
"""What remains of an operation's time at least when leaf gradients are taken off."""

TRAINING_PASSES = 3.0
"""Forward, gradient of the input, gradient of the weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The measuring loop of one table.

    Attributes:
        leaf_ms: per element of input and weights.
        leaf_mw: power while leaf gradients are added; None where it was not measured.
        idle_mw: power of a waiting device.
        floor_ms: kind → the least time that any operation of the kind was measured with.
        passes: over the work: 1 at inference, `TRAINING_PASSES` in training.
        host_ms: time of the host per operation in a network; `host_ms_of` learns it, where networks were measured.
    """

    leaf_ms: float = 0.0
    leaf_mw: float | None = 0.0
    idle_mw: float = 0.0
    floor_ms: Mapping[str, float] = field(default_factory=dict)
    passes: float = 1.0
    host_ms: float = 0.0

    def kernels(
        self,
        table: pd.DataFrame,
        alone_ms: Array,
        power_mw: Array | None,
        *,
        roofline_ms: Array,
        reads_image: NDArray[np.bool_],
    ) -> tuple[Array, Array | None]:
        """Time (ms) and energy above idle (mJ) of each operation's own kernels, from its time and power measured alone.

        Args:
            table: operations.
            alone_ms: measured or predicted in the loop.
            power_mw: likewise; None where power was not measured, and then there is no energy, nor is there where leaf
                gradients take a power that was not.
            roofline_ms: of one pass.
            reads_image: whether the operation has weights and reads the network's input.
        """
        own = np.maximum(alone_ms - self._leaf_ms(table), _LEAST_SHARE * alone_ms)
        floor = np.array([self.floor_ms.get(kind, 0.0) for kind in table["kind"]])
        launch_bound = alone_ms < _NEAR_FLOOR * floor
        own = np.where(launch_bound, np.minimum(own, self.passes * roofline_ms), own)
        without_gradient = (self.passes - 1) / self.passes if self.passes > 1 else 1.0
        share = np.where(reads_image, without_gradient, 1.0)
        if power_mw is None or self.leaf_mw is None:
            return own * share, None
        return own * share, self._dynamic_mj(table, alone_ms, power_mw, self.leaf_mw) * share

    def _dynamic_mj(self, table: pd.DataFrame, alone_ms: Array, power_mw: Array, leaf_mw: float) -> Array:
        total = (power_mw - self.idle_mw) * alone_ms
        leaf = max(leaf_mw - self.idle_mw, 0.0) * self._leaf_ms(table)
        dynamic: Array = np.maximum(total - leaf, _LEAST_SHARE * np.maximum(total, 0.0)) / 1e3
        return dynamic

    def _leaf_ms(self, table: pd.DataFrame) -> Array:
        elements: Array = np.asarray(table["input_elements"] + table["weights"], dtype=np.float64)
        return elements * self.leaf_ms


def loop_of(table: pd.DataFrame, *, training: bool, idle_mw: float) -> Loop:
    """The loop of a measured table, read off its identity operations and its fastest ones.

    Args:
        table: measured operations with `latency_ms` and `power_mw`.
        training: whether the loop did training steps.
        idle_mw: power of the waiting device.
    """
    alone = table[table["kind"] == "Identity"]
    leaves, powers = training and not alone.empty, alone["power_mw"].dropna()
    return Loop(
        leaf_ms=float((alone["latency_ms"] / alone["input_elements"]).median()) if leaves else 0.0,
        leaf_mw=0.0 if not leaves else None if powers.empty else float(powers.median()),
        idle_mw=idle_mw,
        floor_ms={str(kind): float(least) for kind, least in table.groupby("kind")["latency_ms"].min().items()},
        passes=TRAINING_PASSES if training else 1.0,
    )


def without_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The table without what each call costs beyond its work: the time of the identity operation.

    For processors, which do one thing at a time; a GPU's host runs ahead of it. Where no identity was measured, the
    table is returned unchanged.
    """
    call_ms = table.loc[table["kind"] == "Identity", "latency_ms"].min()
    if not call_ms > 0:
        return table
    own = (table["latency_ms"] - call_ms).clip(lower=_LEAST_SHARE * table["latency_ms"])
    return table[table["kind"] != "Identity"].assign(latency_ms=own).reset_index(drop=True)


def host_ms_of(operations: Array, measured_ms: Array) -> float:
    """Host time per operation: the least that any measured network took per operation, which bounds it from above.

    Args:
        operations: number of operations of each network.
        measured_ms: of the whole network.
    """
    return float((measured_ms / operations).min())
