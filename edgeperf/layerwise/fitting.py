"""A table of measured operations → a `DevicePredictor`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.corrected import CorrectedTimes
from edgeperf.layerwise.loops import loop_of, without_calls
from edgeperf.layerwise.measurements import measured_on_gpu
from edgeperf.layerwise.predictors import OneForAll, OperationPredictor
from edgeperf.layerwise.roofline import Roof, data_sheet, roof_reached, roofline_ms
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.workloads import COMPILED, EAGER, EAGER_TRAINING

if TYPE_CHECKING:
    import pandas as pd

STATISTICS_OF_THE_BATCH = frozenset({"BatchNormalization"})
"""Kinds that were measured with the batch's statistics and run with stored ones in a network at inference."""

_OTHER_BATCHES = 0.25
"""Share of rows at other batch sizes; the thesis' tables hold up to a fifth once those of a network are left out."""


def fit_device(
    table: pd.DataFrame,
    *,
    device: str,
    roof: Roof,
    training: bool,
    idle_mw: float,
    sibling: DevicePredictor | None = None,
    seed: int,
) -> DevicePredictor:
    """A predictor of time and power of operations and networks on one GPU.

    Args:
        table: measured operations of one device, phase and power regime. Networks are predicted at the batch size of
            most rows; up to a quarter may be at others, as in published tables, and teach through their sizes.
        device: its name.
        roof: its roof.
        training: whether the rows are training steps; else modules in training mode, without gradients.
        idle_mw: power of the waiting device.
        sibling: of another GPU on which more was measured; the ratio to it is learned instead of that to the roofline.
        seed: of all chance.

    Raises:
        InvalidInput: more than a quarter of the rows are at other batch sizes.
    """
    batch_size = _batch_size(table, device, others=_OTHER_BATCHES)
    kinds = frozenset(table["kind"]) - (frozenset() if training else STATISTICS_OF_THE_BATCH)
    latency, power = fit_operations(table, roof, sibling=sibling, seed=seed)
    return DevicePredictor(
        device=device,
        kinds=kinds if sibling is None else kinds | sibling.kinds,
        latency=latency,
        power=power,
        roof=roof,
        loop=loop_of(table, training=training, idle_mw=idle_mw),
        fusion=EAGER_TRAINING if training else EAGER,
        batch_size=batch_size,
    )


def fit_measured(table: pd.DataFrame, *, device: str, on_gpu: bool | None = None, seed: int) -> DevicePredictor:
    """A predictor from operations that `edgeperf.layerwise.measuring` measured with Keras, of one phase.

    Keras compiles a network's graph and folds normalisation and activation into convolutions at inference. A processor
    does one thing at a time, so what a call costs beyond its work is taken off; a GPU's host runs ahead. Gradients are
    not added to stored ones.

    Args:
        table: rows of one device, as `edgeperf.layerwise.measurements.of_device` selects them.
        device: its name; that of a GPU with a data sheet, or an alias of it, brings the data sheet in.
        on_gpu: whether the rows were measured on a GPU; see `ran_on_gpu`.
        seed: of all chance.

    Raises:
        InvalidInput: the rows mix phases or batch sizes, hold nothing but the identity operation, or a CPU was measured
            under the name of a GPU.
    """
    if not (table["kind"] != "Identity").any():
        raise InvalidInput(
            f"Nothing but the identity operation was measured on {device}, which tells nothing of others. "
            "Measure more: edgeperf operations MODEL --device NAME --count N --out DIR."
        )
    on_gpu = ran_on_gpu(table, device, on_gpu)
    if not on_gpu and data_sheet(device) is not None:
        raise InvalidInput(
            f"{device} is the name of a GPU, but its operations were measured on a CPU. "
            "Measure them again under another name, or say --gpu if they did run on the GPU."
        )
    phases = sorted(table["phase"].unique())
    if len(phases) != 1:
        raise InvalidInput(f"The rows of {device} mix the phases {', '.join(phases)}; select one first.")
    training, batch_size = phases == ["training"], _batch_size(table, device)
    rows = table if on_gpu else without_calls(table)
    roof = roof_reached(rows, device=device, on_gpu=on_gpu)
    with_power = rows[rows["power_mw"].notna()].reset_index(drop=True)
    idle_mw = float(with_power["power_mw"].min()) if len(with_power) else 0.0
    loop = loop_of(rows, training=training, idle_mw=idle_mw)
    return DevicePredictor(
        device=device,
        kinds=frozenset(rows["kind"]),
        latency=fit_latency(rows, roof, seed=seed),
        power=fit_power(with_power, seed=seed) if len(with_power) else None,
        roof=roof,
        loop=replace(loop, leaf_ms=0.0, leaf_mw=0.0, floor_ms=loop.floor_ms if on_gpu else {}),
        fusion=EAGER_TRAINING if training else COMPILED,
        batch_size=batch_size,
    )


def ran_on_gpu(table: pd.DataFrame, device: str, said: bool | None) -> bool:
    """What somebody said; where nobody did, what `measured_on_gpu` says; where nothing tells, true."""
    return measured_on_gpu(table, device) is not False if said is None else said


def fit_operations(
    table: pd.DataFrame, roof: Roof, *, sibling: DevicePredictor | None = None, seed: int
) -> tuple[OperationPredictor, OperationPredictor]:
    """Predictors of latency and power of operations measured alone; see `fit_device` for the sibling.

    Raises:
        InvalidInput: the sibling predicts no power.
    """
    if sibling is None:
        return fit_latency(table, roof, seed=seed), fit_power(table, seed=seed)
    if sibling.power is None:
        raise InvalidInput(f"{sibling.device} has no power; a sibling needs time and power. Measure power there.")
    latency = OneForAll(scale=sibling.latency.predict, seed=seed)
    power = OneForAll(scale=sibling.power.predict, logarithm=False, seed=seed)
    return (
        latency.fit(table, table["latency_ms"].to_numpy(np.float64)),
        power.fit(table, table["power_mw"].to_numpy(np.float64)),
    )


def latency_maker(roof: Roof, *, seed: int) -> Callable[[], OperationPredictor]:
    """Gives fresh predictors of latency in ms, which learn the ratio to what a GPU's data sheet explains.

    On devices without a data sheet they learn the ratio to the roofline.
    """
    if data_sheet(roof.name) is not None:
        return partial(CorrectedTimes, roof=roof, seed=seed)
    return partial(OneForAll, scale=partial(roofline_ms, roof=roof), seed=seed)


def fit_latency(table: pd.DataFrame, roof: Roof, *, seed: int) -> OperationPredictor:
    """Predictor of latency in ms."""
    return latency_maker(roof, seed=seed)().fit(table, table["latency_ms"].to_numpy(np.float64))


def fit_power(table: pd.DataFrame, *, seed: int) -> OperationPredictor:
    """Predictor of power in mW."""
    return OneForAll(logarithm=False, seed=seed).fit(table, table["power_mw"].to_numpy(np.float64))


def _batch_size(table: pd.DataFrame, device: str, *, others: float = 0.0) -> int:
    """The batch size of most rows; `others` is the share that may be at other ones."""
    rows = table["batch_size"].value_counts()
    if 1 - rows.iloc[0] / len(table) > others:
        raise InvalidInput(f"The rows of {device} mix batch sizes {sorted(map(int, rows.index))}; select one first.")
    return int(rows.index[0])
