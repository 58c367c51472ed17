"""Operations and the GPU that runs them → columns by which a predictor crosses from GPU to GPU.

Data-sheet figures as they are tell GPUs apart; the same figures against the operation's own sizes tell how the
operation falls onto a GPU (tiles per multiprocessor, bytes per cache, arithmetic time over memory time), and mean the
same on a GPU that was never measured.

Reference: Lee et al., NeuSight, ASPLOS 2025, section 4, for utilisation by tiles and waves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.hardware import GpuSpec, gpu
from edgeperf.layerwise.quantities import Array, quantities

if TYPE_CHECKING:
    import pandas as pd

DATA_SHEET: tuple[str, ...] = ("gpu_sms", "gpu_clock", "gpu_cores_per_sm", "gpu_bandwidth", "gpu_l2", "gpu_peak")
RELATIVE: tuple[str, ...] = (
    "rel_compute",
    "rel_memory",
    "rel_bound",
    "rel_waves",
    "rel_wave_fill",
    "rel_outputs",
    "rel_l2",
)
HARDWARE: tuple[str, ...] = (*DATA_SHEET, *RELATIVE)
"""All added columns; natural logarithms but for `rel_wave_fill`, which is a share."""

LAUNCH_MS = 0.003


def with_hardware(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns of `HARDWARE`, and `roofline_ms` of each row's own GPU (column `device`).

    Raises:
        InvalidInput: a device is not in `edgeperf.hardware`.
    """
    import pandas as pd

    devices = table["device"].to_numpy()
    sheet = np.vstack([_sheet(name) for name in devices])
    sms, _, cores_per_sm, bandwidth, l2_bytes, peak = sheet.T
    found = quantities(table)
    compute, memory = found["operations"] / peak / 1e6, found["bytes"] / bandwidth / 1e6
    waves = found["tiles"] / sms
    relative = (
        np.log(compute),
        np.log(memory),
        np.log(compute / memory),
        np.log1p(waves),
        np.where(waves > 0, waves / np.maximum(1.0, np.ceil(waves)), 0.0),
        np.log(found["output_elements"] / (sms * cores_per_sm)),
        np.log(found["bytes"] / l2_bytes),
    )
    added = pd.DataFrame(
        np.column_stack([np.log(sheet), *relative, np.maximum(compute, memory) + LAUNCH_MS]),
        columns=[*HARDWARE, "roofline_ms"],
        index=table.index,
    )
    return pd.concat([table, added], axis=1)


def own_roofline(table: pd.DataFrame) -> Array:
    """The `roofline_ms` that `with_hardware` added: a scale for `edgeperf.layerwise.predictors.OneForAll`."""
    return table["roofline_ms"].to_numpy(np.float64)


@lru_cache(maxsize=256)
def _sheet(name: str) -> tuple[float, ...]:
    spec: GpuSpec = gpu(name)
    l2_kib = spec.l2_kib or 256 * spec.sms
    return (
        float(spec.sms),
        spec.clock_mhz,
        spec.cores / spec.sms,
        spec.memory_bandwidth_gb_s,
        1024.0 * l2_kib,
        spec.peak_gflops,
    )
