"""Whole networks from their operations: sums against the thesis' measured networks, time and energy.

    python -m benchmarks.layerwise_sums [--data ../shared/data] [--graphs DIR]

Operations and networks are those that Nicolai 2025 measured (PyTorch, batch 32). Three sums per network, from what
bounds every predictor to the hardest case:

* measured: each operation as measured, the predictor only for those that were not;
* predicted: every operation predicted, those of this network among the training rows;
* left out: no operation of this network among the training rows.

The host's time per operation is learned from the other networks in all three. In training on the RTX 2080 Ti only the
operations of one network were measured; what they take is learned as a ratio to the A30's, where many were. Networks
are torchvision's (`benchmarks/torchvision_networks`), or ``NAME.onnx``, ``NAME.keras`` or ``NAME.json`` in `--graphs`.
Networks that the thesis held out teach nothing and are summed up by themselves, where the data hold them.

What a training step does beside its layers (`edgeperf.layerwise.stand_ins`, `loops`) follows from how automatic
differentiation works; of several ways to treat operations near the host's floor, the one kept erred least here.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.layerwise_operations import SEED, roof_for
from benchmarks.record import write_result
from benchmarks.torchvision_networks import NETWORKS, torchvision_network
from edgeperf.datasets import shared_data
from edgeperf.layerwise.fitting import fit_device
from edgeperf.layerwise.loops import host_ms_of
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.predictors import OperationPredictor
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.tables import read_nicolai, read_nicolai_networks
from edgeperf.layerwise.validation import same_operation
from edgeperf.layerwise.workloads import EAGER, EAGER_TRAINING, steps
from edgeperf.network import read_network
from edgeperf.records import Network

SIBLING = {("RTX2080TI", "training"): "A30_no_tc"}
"""Device and phase with operations of a single network → the device that stands in for the others."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measured operations of one device, regime and phase.

    Attributes:
        device: as the thesis names it.
        training: whether the rows are training steps.
        table: measured operations.
        idle_mw: power of the waiting device.
        sibling: measured operations of the device that stands in, where there is one.
    """

    device: str
    training: bool
    table: pd.DataFrame
    idle_mw: float
    sibling: pd.DataFrame | None = None

    def predictor(self) -> DevicePredictor:
        """Fitted on all rows, of the sibling too."""
        sibling = None
        if self.sibling is not None:
            name = SIBLING[self.device, "training" if self.training else "inference"]
            idle_mw = float(self.sibling["power_mw"].min())
            sibling = replace(self, device=name, table=self.sibling, idle_mw=idle_mw, sibling=None).predictor()
        return fit_device(
            self.table,
            device=self.device,
            roof=roof_for(self.device),
            training=self.training,
            idle_mw=self.idle_mw,
            sibling=sibling,
            seed=SEED,
        )

    def without(self, operations: set[Any]) -> Measured:
        """The same without the rows of these operations."""
        return replace(
            self,
            table=_without(self.table, operations),
            sibling=None if self.sibling is None else _without(self.sibling, operations),
        )


def _without(table: pd.DataFrame, operations: set[Any]) -> pd.DataFrame:
    return table[~same_operation(table).isin(operations)].reset_index(drop=True)


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
        other = table[(table["device"] == SIBLING.get((device, phase))) & (table["phase"] == phase)]
        rows += _rows(
            Measured(
                device=device,
                training=phase == "training",
                table=part,
                idle_mw=float(table.loc[same_device, "power_mw"].min()),
                sibling=other.reset_index(drop=True) if len(other) else None,
            ),
            measured,
            options.graphs,
        )
    summary = _summary(rows)
    write_result("layerwise_sums", {"seed": SEED, "summary": summary, "rows": rows}, about=__doc__, table=summary)


def graph(name: str, input_size: int, *, training: bool, folder: Path | None) -> Network | None:
    """The network of that torchvision name: from `folder`, else defined here; None where neither has it."""
    for suffix in (".onnx", ".keras", ".json") if folder else ():
        path = folder / f"{name}{suffix}"
        if path.exists():
            return read_network(path, input_size=input_size)
    return torchvision_network(name, input_size, training=training) if name in NETWORKS else None


def _rows(on: Measured, measured: pd.DataFrame, graphs: Path | None) -> list[dict[str, Any]]:
    training = on.training
    distinct = measured.drop_duplicates(["network", "input_size", "latency_ms"])
    read = [
        (row, graph(row.network, row.input_size, training=training, folder=graphs)) for row in distinct.itertuples()
    ]
    known = [(row, network) for row, network in read if network is not None]
    if missing := sorted({row.network for row, network in read if network is None}):
        print(f"Left out for want of a graph, which --graphs can give: {', '.join(missing)}.")
    base = on.predictor()
    fusion = EAGER_TRAINING if training else EAGER
    counts = np.array([len(steps(network, fusion=fusion)) for _, network in known])
    names = np.array([row.network for row, _ in known])
    times = np.array([row.latency_ms for row, _ in known])
    teach = ~np.array([row.held_out for row, _ in known], dtype=np.bool_)
    found = []
    for row, network in track(known, f"{on.device} {'training' if training else 'inference'}"):
        others = teach & (names != row.network)
        host_ms = host_ms_of(counts[others], times[others])
        predictor = replace(base, loop=replace(base.loop, host_ms=host_ms))
        operations = [step.operation for step in steps(network, batch_size=predictor.batch_size, fusion=fusion)]
        own = same_operation(operation_table(operations))
        covered = float(own.isin(set(same_operation(on.table))).mean())
        for mode, each in _modes(predictor, on, set(own)).items():
            cost = each.cost(network)
            found.append(
                {
                    "device": on.device,
                    "phase": row.phase,
                    "regime": row.regime,
                    "held_out": bool(row.held_out),
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


def _modes(predictor: DevicePredictor, on: Measured, own: set[Any]) -> dict[str, DevicePredictor]:
    latency, power = on.table["latency_ms"].to_numpy(), on.table["power_mw"].to_numpy()
    unseen = on.without(own).predictor()
    modes = {
        "predicted": predictor,
        "left out": replace(unseen, loop=replace(unseen.loop, host_ms=predictor.loop.host_ms)),
    }
    if on.sibling is not None:  # none of the operations was measured on this device
        return modes
    known = replace(
        predictor,
        latency=Known(on.table, latency, predictor.latency),
        power=Known(on.table, power, predictor.power),
    )
    return {"measured": known, **modes}


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    frame = pd.DataFrame(rows)
    summary = []
    keys = ["device", "regime", "phase", "held_out", "sum"]
    for (device, regime, phase, held_out, mode), part in frame.groupby(keys, sort=False):
        time, energy = 100 * part["latency_error"], 100 * part["energy_error"]
        summary.append(
            {
                "device": f"{device}{'' if regime == 'only' else ', ' + regime + ' power'}",
                "phase": phase,
                "sum": f"{mode}, held out by the thesis" if held_out else mode,
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
