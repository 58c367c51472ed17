"""The layer measurements of Sponner et al. on an A100 under TVM → an operation table.

The profiler passed no padding to TVM, whatever a layer declares, so the recorded output shape is the workload.
`memory_mib` is what NVML calls allocated, context included.

Reference: M. Sponner, B. Waschneck, A. Kumar, AI-Driven Performance Modeling for AI Inference Workloads, 2022.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeperf.layerwise.operations import Operation, operation_table

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {"conv2d": "Conv2D", "max_pool2d": "MaxPooling2D", "dense": "Dense"}
_NETWORKS = {"darknet-19": "darknet-19", "sequential_4": "alexnet"}


def read_sponner(folder: Path) -> pd.DataFrame:
    """Every measured layer.

    Columns beside those of an operation: `name`, `network` (``"darknet-19"`` or ``"alexnet"`` for the layers of the two
    test networks, else None), `device`, `phase`, `latency_ms`, `power_mw`, `energy_mj`, `memory_mib`.
    """
    lines = (folder / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    table = operation_table(_operation(row) for row in rows)
    table["name"] = [Path(row["path"]).stem for row in rows]
    table["network"] = [_network(row["path"]) for row in rows]
    table["device"], table["phase"] = "a100-40gb-sxm4", "inference"
    table["latency_ms"] = [row["time"] for row in rows]
    table["power_mw"] = [1e3 * row["power"] for row in rows]
    table["energy_mj"] = table["latency_ms"] * table["power_mw"] / 1e3
    table["memory_mib"] = [1024 * row["memory"] for row in rows]
    return table


def _network(path: str) -> str | None:
    if "test_set" not in path:
        return None
    return next((name for prefix, name in _NETWORKS.items() if Path(path).stem.startswith(prefix)), None)


def _operation(row: dict[str, Any]) -> Operation:
    batch, kind = row["batch_size"], _KINDS[row["workload"]]
    if kind == "Dense":
        return _dense(batch, row["input shape"][-1], row["units"])
    (_, in_height, in_width, channels), (_, out_height, out_width, filters) = row["input shape"], row["output shape"]
    kernel = row["kernel"] if kind == "Conv2D" else row["pool_size"]
    groups = row.get("groups", 1) if kind == "Conv2D" else 1
    weights = math.prod(kernel) * channels // groups * filters if kind == "Conv2D" else 0
    return Operation(
        kind=kind,
        batch_size=batch,
        in_height=in_height,
        in_width=in_width,
        in_channels=channels,
        out_height=out_height,
        out_width=out_width,
        out_channels=filters,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride=row["strides"][0],
        dilation=row["dilation"][0] if kind == "Conv2D" else 1,
        groups=groups,
        input_elements=batch * in_height * in_width * channels,
        output_elements=batch * out_height * out_width * filters,
        weights=weights,
        macs=batch * out_height * out_width * weights,
    )


def _dense(batch: int, features: int, units: int) -> Operation:
    return Operation(
        kind="Dense",
        batch_size=batch,
        in_height=1,
        in_width=1,
        in_channels=features,
        out_height=1,
        out_width=1,
        out_channels=units,
        input_elements=batch * features,
        output_elements=batch * units,
        weights=features * units,
        macs=batch * features * units,
    )
