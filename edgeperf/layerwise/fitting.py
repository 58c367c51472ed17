"""A table of measured operations, and measured networks where there are any → a `DevicePredictor`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.loops import host_ms_of, loop_of
from edgeperf.layerwise.predictors import OneForAll, OperationPredictor
from edgeperf.layerwise.roofline import Roof, roofline_ms
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.workloads import EAGER, EAGER_TRAINING, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeperf.records import Network

STATISTICS_OF_THE_BATCH = frozenset({"BatchNormalization"})
"""Kinds that were measured with the batch's statistics and run with stored ones in a network at inference."""


def fit_device(
    table: pd.DataFrame,
    *,
    device: str,
    roof: Roof,
    training: bool,
    idle_mw: float,
    measured: Sequence[tuple[Network, float]] = (),
    seed: int,
) -> DevicePredictor:
    """A predictor of time and power of operations and networks on one device.

    Args:
        table: measured operations of one device, phase and power regime, at one batch size.
        device: its name.
        roof: its roof.
        training: whether the rows are training steps; else modules in training mode, without gradients.
        idle_mw: power of the waiting device.
        measured: networks with their latency in ms; only the host's time per operation is learned from them.
        seed: of all chance.

    Raises:
        InvalidInput: the rows mix batch sizes.
    """
    sizes = table["batch_size"].unique()
    batch_size = int(table["batch_size"].mode()[0])
    if len(sizes) > 2:
        raise InvalidInput(f"The rows of {device} mix batch sizes {sorted(map(int, sizes))}; select one first.")
    fusion = EAGER_TRAINING if training else EAGER
    counts = np.array([len(steps(network, batch_size=batch_size, fusion=fusion)) for network, _ in measured])
    host_ms = host_ms_of(counts, np.array([latency for _, latency in measured])) if measured else 0.0
    kinds = frozenset(table["kind"]) - (frozenset() if training else STATISTICS_OF_THE_BATCH)
    latency, power = fit_operations(table, roof, seed=seed)
    return DevicePredictor(
        device=device,
        kinds=kinds,
        latency=latency,
        power=power,
        roof=roof,
        loop=loop_of(table, training=training, idle_mw=idle_mw, host_ms=host_ms),
        fusion=fusion,
        batch_size=batch_size,
    )


def fit_operations(table: pd.DataFrame, roof: Roof, *, seed: int) -> tuple[OperationPredictor, OperationPredictor]:
    """Predictors of latency (ms, as a ratio to the roofline) and power (mW) of operations measured alone."""
    latency = OneForAll(scale=partial(roofline_ms, roof=roof), seed=seed)
    power = OneForAll(logarithm=False, seed=seed)
    return (
        latency.fit(table, table["latency_ms"].to_numpy(np.float64)),
        power.fit(table, table["power_mw"].to_numpy(np.float64)),
    )
