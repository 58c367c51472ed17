"""Whole networks from their operations: sums against the thesis' measured networks, time and energy.

    python -m benchmarks.layerwise_sums [--data ../shared/data] [--graphs DIR]

Three sums per network, from what bounds every predictor to the hardest case:

* measured: each operation as measured, the predictor only for those that were not;
* predicted: every operation predicted, those of this network among the training rows;
* left out: no operation of this network among the training rows.

The host's time per operation is learned from the other networks in all three. Networks are torchvision's
(`benchmarks/layerwise_networks.py`), or ``NAME.onnx``, ``NAME.keras`` or ``NAME.json`` in `--graphs`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.layerwise_networks import NETWORKS, torchvision_network
from benchmarks.layerwise_operations import SEED, roof_for
from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.layerwise.fitting import fit_device, fit_operations
from edgeperf.layerwise.loops import host_ms_of
from edgeperf.layerwise.operations import Operation, operation_table
from edgeperf.layerwise.predictors import OperationPredictor
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.tables import read_nicolai, read_nicolai_networks
from edgeperf.layerwise.validation import same_operation
from edgeperf.layerwise.workloads import EAGER, EAGER_TRAINING, steps
from edgeperf.network import read_network
from edgeperf.records import Network


class Known:
    """The measured label of an operation where there is one, else the predicted one."""

    def __init__(self, table: pd.DataFrame, labels: Array, otherwise: OperationPredictor) -> None:
        self._labels = pd.Series(labels).groupby(same_operation(table)).mean().to_dict()
        self._otherwise = otherwise

    def fit(self, table: pd.DataFrame, labels: Array) -> Known:
        """The same over further measured operations."""
        return Known(table, labels, self._otherwise)

    def predict(self, table: pd.DataFrame) -> Array:
        """One label per row."""
        found = self._otherwise.predict(table)
        keys = same_operation(table)
        return np.array([self._labels.get(key, value) for key, value in zip(keys, found, strict=True)])


def main() -> None:
    """Every device, regime and phase with measured networks; writes results/layerwise_sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--graphs", type=Path)
    options = parser.parse_args()
    table, networks = (read(options.data / "nicolai_ops") for read in (read_nicolai, read_nicolai_networks))
    rows = []
    for (device, regime, phase), measured in networks.groupby(["device", "regime", "phase"]):
        same_device = (table["device"] == device) & (table["regime"] == regime)
        part = table[same_device & (table["phase"] == phase)].reset_index(drop=True)
        # A table without the identity operation cannot tell what the training loop itself costs.
        if phase == "training" and "Identity" not in set(part["kind"]):
            continue
        idle_mw = float(table.loc[same_device, "power_mw"].min())
        rows += _rows(
            part, measured, device=device, training=phase == "training", idle_mw=idle_mw, graphs=options.graphs
        )
    summary = _summary(rows)
    write_result("layerwise_sums", {"seed": SEED, "summary": summary, "rows": rows}, table=summary)


def graph(name: str, input_size: int, *, training: bool, folder: Path | None) -> Network | None:
    """The network of that torchvision name: from `folder`, else defined here; None where neither has it."""
    for suffix in (".onnx", ".keras", ".json") if folder else ():
        path = folder / f"{name}{suffix}"
        if path.exists():
            return read_network(path, input_size=input_size)
    return torchvision_network(name, input_size, training=training) if name in NETWORKS else None


def _rows(
    table: pd.DataFrame, measured: pd.DataFrame, *, device: str, training: bool, idle_mw: float, graphs: Path | None
) -> list[dict[str, Any]]:
    known = [
        (row, network)
        for row in measured.drop_duplicates(["network", "input_size", "latency_ms"]).itertuples()
        if (network := graph(row.network, row.input_size, training=training, folder=graphs)) is not None
    ]
    base = fit_device(table, device=device, roof=roof_for(device), training=training, idle_mw=idle_mw, seed=SEED)
    fusion = EAGER_TRAINING if training else EAGER
    counts = np.array([len(steps(network, fusion=fusion)) for _, network in known])
    names = np.array([row.network for row, _ in known])
    times = np.array([row.latency_ms for row, _ in known])
    found = []
    for row, network in track(known, f"{device} {'training' if training else 'inference'}"):
        others = names != row.network
        host_ms = host_ms_of(counts[others], times[others])
        predictor = replace(base, loop=replace(base.loop, host_ms=host_ms))
        operations = [step.operation for step in steps(network, batch_size=predictor.batch_size, fusion=fusion)]
        covered = float(same_operation(operation_table(operations)).isin(set(same_operation(table))).mean())
        if not covered:  # nothing of this network was measured on this device
            continue
        for mode, each in _modes(predictor, table, operations).items():
            cost = each.cost(network)
            found.append(
                {
                    "device": device,
                    "phase": row.phase,
                    "regime": row.regime,
                    "network": row.network,
                    "input_size": row.input_size,
                    "sum": mode,
                    "operations": len(operations),
                    "operations_measured": covered,
                    "host_ms": host_ms,
                    "latency_ms": cost.latency_ms,
                    "measured_latency_ms": row.latency_ms,
                    "latency_error": cost.latency_ms / row.latency_ms - 1,
                    "energy_mj": cost.energy_mj,
                    "measured_energy_mj": row.energy_mj,
                    "energy_error": cost.energy_mj / row.energy_mj - 1,
                }
            )
    return found


def _modes(predictor: DevicePredictor, table: pd.DataFrame, own: Sequence[Operation]) -> dict[str, DevicePredictor]:
    latency, power = table["latency_ms"].to_numpy(), table["power_mw"].to_numpy()
    left = table[~same_operation(table).isin(set(same_operation(operation_table(own))))].reset_index(drop=True)
    time_without, power_without = fit_operations(left, predictor.roof, seed=SEED)
    return {
        "measured": replace(
            predictor,
            latency=Known(table, latency, predictor.latency),
            power=Known(table, power, predictor.power),
        ),
        "predicted": predictor,
        "left out": replace(predictor, latency=time_without, power=power_without),
    }


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    frame = pd.DataFrame(rows)
    summary = []
    for (device, regime, phase, mode), part in frame.groupby(["device", "regime", "phase", "sum"], sort=False):
        time, energy = 100 * part["latency_error"], 100 * part["energy_error"]
        summary.append(
            {
                "device": f"{device}{'' if regime == 'only' else ', ' + regime + ' power'}",
                "phase": phase,
                "sum": mode,
                "networks": len(part),
                "operations measured %": round(100 * float(part["operations_measured"].mean())),
                "time: median error %": round(float(time.abs().median()), 1),
                "mean %": round(float(time.abs().mean()), 1),
                "bias %": round(float(time.median()), 1),
                "energy: median error %": round(float(energy.abs().median()), 1),
                "energy: mean %": round(float(energy.abs().mean()), 1),
                "energy: bias %": round(float(energy.median()), 1),
            }
        )
    return summary


if __name__ == "__main__":
    main()
