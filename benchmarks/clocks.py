"""The best GPU clock of Jetson boards from half of their clocks, against the clock that was measured best.

    python -m benchmarks.clocks [--data ../shared/data]

Measured sweeps over all GPU clocks: MobileNet under Triton (batch 1 to 32) and square matrix products on Jetson Nano
and AGX Xavier (github emwjacobson/JetsonEfficiencyTesting), VGG-19 under TensorRT on a Jetson TX2 (github
thynics/jetson_dvfs). Power is the whole board's, not the GPU rail's that the surrogates predict.

Half means evenly spread positions with both ends, or every second position from the first or the second on; the three
are pooled, so that no choice hangs on which half was measured. A choice is right when it is the measured best clock or
a neighbour of it; the extra cost is measured cost at the chosen clock over measured cost at the best one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.record import write_result
from edgeperf.datasets import shared_data
from edgeperf.layerwise.clocks import Objective, clock_curve, half_of
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.tables.clocks import read_triton_clocks, read_tx2_clocks

OBJECTIVES: tuple[Objective, ...] = ("energy", "energy-delay")
HALVES: dict[str, Callable[[Array], Any]] = {
    "spread": half_of,
    "even": lambda clocks: np.arange(0, len(clocks), 2),
    "odd": lambda clocks: np.arange(1, len(clocks), 2),
}


def main() -> None:
    """Every workload and objective; writes results/clocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    folder = parser.parse_args().data
    table = pd.concat([read_triton_clocks(folder / "jetson_triton_dvfs"), read_tx2_clocks(folder / "jetson_tx2_dvfs")])
    rows = [
        _choice(str(device), str(workload), sweep.reset_index(drop=True), objective, half)
        for (device, workload), sweep in table.groupby(["device", "workload"])
        for objective in OBJECTIVES
        for half in HALVES
    ]
    summary = _summary(pd.DataFrame(rows))
    write_result("clocks", {"summary": summary, "rows": rows}, about=__doc__, table=summary)


def _choice(device: str, workload: str, sweep: pd.DataFrame, objective: Objective, half_name: str) -> dict[str, Any]:
    clocks, latency, power = (sweep[name].to_numpy() for name in ("clock_mhz", "latency_ms", "power_mw"))
    half = HALVES[half_name](clocks)
    curve = clock_curve(clocks[half], latency[half], power[half])
    measured = latency * power / 1e3 * (latency if objective == "energy-delay" else 1)
    chosen = int((clocks == curve.optimum(clocks, objective).clock_mhz).argmax())
    best = int(measured.argmin())
    return {
        "device": device,
        "workload": workload,
        "objective": objective,
        "half": half_name,
        "clocks": len(clocks),
        "used": len(half),
        "best_mhz": float(clocks[best]),
        "chosen_mhz": float(clocks[chosen]),
        "right": abs(best - chosen) <= 1,
        "extra_share": float(measured[chosen] / measured[best] - 1),
        "extra_at_highest_clock": float(measured[-1] / measured[best] - 1),
    }


def _summary(rows: pd.DataFrame) -> list[dict[str, Any]]:
    rows = rows.assign(what=rows["workload"].str.split(",| \\d", regex=True).str[0])
    return [
        {
            "device": device,
            "workloads": what,
            "objective": objective,
            "choices": len(part),
            "best or neighbour %": round(100 * float(part["right"].mean()), 1),
            "extra cost, mean %": round(100 * float(part["extra_share"].mean()), 2),
            "extra cost over 2 %, % of choices": round(100 * float((part["extra_share"] > 0.02).mean()), 1),
            "extra cost, largest %": round(100 * float(part["extra_share"].max()), 2),
            "extra cost of the highest clock, mean %": round(100 * float(part["extra_at_highest_clock"].mean()), 1),
        }
        for (device, what, objective), part in rows.groupby(["device", "what", "objective"])
    ]


if __name__ == "__main__":
    main()
