"""The layer timings of Justus et al. → an operation table.

TensorFlow, float32, six GPUs, random configurations. The optimiser's code 0 means a forward pass alone; every other
code is a training step (its times are some four times as long). Padding code 1 is "same": with a window as large as the
image it takes longer than code 0.

Reference: Justus, Brennan, Bonner, McGough, Predicting the Computational Cost of Deep Learning Models, BigData 2018.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.layerwise.operations import COLUMNS

if TYPE_CHECKING:
    import pandas as pd


def read_justus(folder: Path, layer: str) -> pd.DataFrame:
    """Every timed layer of a kind.

    Columns beside those of an operation: `device` (as in `edgeperf.hardware`), `phase`, `latency_ms`, and the upstream
    codes `activation_code` and `optimizer_code`.

    Args:
        folder: of the tables.
        layer: ``"conv"`` or ``"dense"``.
    """
    import pandas as pd

    raw = pd.read_parquet(folder / f"{layer}.parquet")
    table = _convolutions(raw) if layer == "conv" else _dense(raw)
    table["device"] = raw["gpu_model"].str.lower().replace({"1080ti": "gtx-1080-ti"})
    table["phase"] = np.where(raw["optimizer"] == 0, "inference", "training")
    table["latency_ms"] = raw["timeUsed_median"]
    table["activation_code"], table["optimizer_code"] = raw["activation_fct"], raw["optimizer"]
    return table


def _convolutions(raw: pd.DataFrame) -> pd.DataFrame:
    batch, size, kernel = (raw[name].to_numpy(np.int64) for name in ("batchsize", "matsize", "kernelsize"))
    stride, same = raw["strides"].to_numpy(np.int64), raw["padding"].to_numpy() == 1
    channels, filters = raw["channels_in"].to_numpy(np.int64), raw["channels_out"].to_numpy(np.int64)
    out = np.where(same, -(-size // stride), (size - kernel) // stride + 1)
    pad = np.where(same, np.maximum(0, (out - 1) * stride + kernel - size), 0)
    weights = kernel**2 * channels * filters
    return _table(
        len(raw),
        kind="Conv2D",
        batch_size=batch,
        in_height=size,
        in_width=size,
        in_channels=channels,
        out_height=out,
        out_width=out,
        out_channels=filters,
        kernel_height=kernel,
        kernel_width=kernel,
        stride=stride,
        dilation=1,
        pad_height=pad,
        pad_width=pad,
        input_elements=batch * size**2 * channels,
        output_elements=batch * out**2 * filters,
        weights=weights + filters * raw["use_bias"].to_numpy(np.int64),
        macs=batch * out**2 * weights,
    )


def _dense(raw: pd.DataFrame) -> pd.DataFrame:
    batch, features, units = (raw[name].to_numpy(np.int64) for name in ("batchsize", "dim_input", "dim_output"))
    return _table(
        len(raw),
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
        weights=features * units + units,
        macs=batch * features * units,
    )


def _table(rows: int, **columns: object) -> pd.DataFrame:
    """An operation table of those columns; attributes that do not apply are as in `Operation`."""
    import pandas as pd

    absent = {name: 1 if name in ("groups", "inputs") else 0 for name in COLUMNS}
    return pd.DataFrame({**absent, **columns}, index=range(rows))[list(COLUMNS)]
