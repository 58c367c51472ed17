"""The operator latencies of NeuSight → operation tables.

PyTorch 2.1, float32, default clocks, nine GPUs. Matrix products have `k` x `n` weights where one operand is a weight
(``linear``); a product of two activations (``bmm``) has none and reads two inputs. Element-wise kinds whose name ends
in ``u`` take a constant as second operand.

Reference: Lee, Phanishayee, Mahajan, Forecasting GPU Performance for Deep Learning Training and Inference, ASPLOS 2025.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.hardware import gpu
from edgeperf.layerwise.operations import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

TWO_OPERANDS = frozenset({"add", "sub", "mul", "div", "pow"})


def read_neusight(folder: Path, table: str) -> pd.DataFrame:
    """Every timed operation of one of the three tables.

    Columns beside those of an operation: `device` (as in `edgeperf.hardware`), `phase`, `split` (upstream's),
    `latency_ms`.

    Args:
        folder: of the tables.
        table: ``"conv"``, ``"matmul"`` or ``"vec"``.
    """
    import pandas as pd

    raw = pd.read_parquet(folder / f"{table}.parquet")
    columns = {"conv": _convolutions, "matmul": _products, "vec": _elementwise}[table](raw)
    absent = {name: 1 if name in ("groups", "inputs") else 0 for name in COLUMNS}
    found = pd.DataFrame({**absent, **columns}, index=range(len(raw)))[list(COLUMNS)]
    names = {name: gpu(name).name for name in raw["device"].unique()}
    found["device"] = raw["device"].map(names).to_numpy()
    found["phase"] = "inference"
    found["split"], found["latency_ms"] = raw["split"].to_numpy(), raw["latency"].to_numpy()
    return found


def _integers(raw: pd.DataFrame, *names: str) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    return tuple(raw[name].to_numpy(np.int64) for name in names)


def _convolutions(raw: pd.DataFrame) -> dict[str, object]:
    batch, channels, filters, kernel = _integers(raw, "b", "input_channel", "output_channel", "kernel_szie")
    size, stride, pad = _integers(raw, "input_size", "stride", "padding")
    out = (size + 2 * pad - kernel) // stride + 1
    weights = kernel**2 * channels * filters
    return {
        "kind": "Conv2D",
        "batch_size": batch,
        "in_height": size,
        "in_width": size,
        "in_channels": channels,
        "out_height": out,
        "out_width": out,
        "out_channels": filters,
        "kernel_height": kernel,
        "kernel_width": kernel,
        "stride": stride,
        "dilation": 1,
        "pad_height": 2 * pad,
        "pad_width": 2 * pad,
        "input_elements": batch * size**2 * channels,
        "output_elements": batch * out**2 * filters,
        "weights": weights,
        "macs": batch * out**2 * weights,
    }


def _products(raw: pd.DataFrame) -> dict[str, object]:
    batch, rows, columns, depth = _integers(raw, "b", "m", "n", "k")
    linear = raw["opname"].to_numpy() == "linear"
    second = depth * columns
    return {
        "kind": np.where(linear, "Dense", "MatMul"),
        "batch_size": batch,
        "in_height": rows,
        "in_width": 1,
        "in_channels": depth,
        "out_height": rows,
        "out_width": 1,
        "out_channels": columns,
        "inputs": np.where(linear, 1, 2),
        "input_elements": batch * (rows * depth + np.where(linear, 0, second)),
        "output_elements": batch * rows * columns,
        "weights": np.where(linear, second, 0),
        "macs": batch * rows * columns * depth,
    }


def _elementwise(raw: pd.DataFrame) -> dict[str, object]:
    batch, size = _integers(raw, "b", "h")
    inputs = 1 + raw["opname"].isin(TWO_OPERANDS).to_numpy(np.int64)
    return {
        "kind": raw["opname"].to_numpy(),
        "batch_size": batch,
        "in_height": 1,
        "in_width": 1,
        "in_channels": size,
        "out_height": 1,
        "out_width": 1,
        "out_channels": size,
        "inputs": inputs,
        "input_elements": inputs * batch * size,
        "output_elements": batch * size,
    }
