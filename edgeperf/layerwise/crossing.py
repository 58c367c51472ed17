"""Operations measured on some GPUs → their time on a GPU that was not measured, from its data sheet.

Two parts. A physical one: time is a non-negative sum of a constant, arithmetic at peak, arithmetic in whole waves of
tiles, and reading and writing at peak bandwidth, fitted per kind on relative error. It holds on any GPU. And a learned
one: gradient-boosted trees for what that misses, by how an operation falls onto the GPU. Part of what they learn is the
measured GPUs' own, so it counts by `SHRINKAGE` only.

Reference: Qi, Sparks, Talwalkar, Paleo, ICLR 2017, for the sum; Lee et al., NeuSight, ASPLOS 2025, for waves of tiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.hardware_features import RELATIVE
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.quantities import Array, quantities

if TYPE_CHECKING:
    import pandas as pd

SHRINKAGE: Final = 0.5
_TILE_OPERATIONS: Final = 2 * 128 * 64
_DEPTH: Final = 16


class PhysicalTimes:
    """Non-negative prices of arithmetic, waves, bytes and calls, per kind and phase; ms.

    Behind the same interface as `edgeperf.layerwise.predictors.OperationPredictor`; tables need the columns `device`
    and `phase`.
    """

    def __init__(self) -> None:
        self._prices: dict[tuple[str, str], Array] = {}

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        from scipy.optimize import nnls

        for key, rows in _parts(table).items():
            terms = _terms(table.iloc[rows]) / labels[rows, None]
            scale = terms.mean(axis=0) + np.finfo(float).tiny
            prices, _ = nnls(terms / scale, np.ones(len(rows)))
            self._prices[key] = prices / scale
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """Ms per row.

        Raises:
            InvalidInput: a kind of operation was not among the training rows.
        """
        found = np.empty(len(table))
        for key, rows in _parts(table).items():
            if key not in self._prices:
                known = ", ".join(sorted({kind for kind, _ in self._prices}))
                raise InvalidInput(f"No {key[0]} ({key[1]}) was measured on any GPU. Kinds that were: {known}.")
            found[rows] = _terms(table.iloc[rows]) @ self._prices[key]
        return found


class AcrossGpus:
    """`PhysicalTimes` with a learned correction; tables need the columns of `with_hardware`, `device` and `phase`.

    Args:
        extra: further numeric columns for the correction.
        shrinkage: exponent of the correction, 0 for none.
        seed: of all chance.
    """

    def __init__(self, *, extra: tuple[str, ...] = (), shrinkage: float = SHRINKAGE, seed: int) -> None:
        self._extra, self._shrinkage, self._seed = extra, shrinkage, seed
        self._physical = PhysicalTimes()
        self._corrected = OneForAll(seed=seed)

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        self._physical.fit(table, labels)
        self._corrected = OneForAll(
            algorithm="xgboost", scale=self._physical.predict, extra=(*RELATIVE, *self._extra), seed=self._seed
        ).fit(table, labels)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """Ms per row."""
        physical = self._physical.predict(table)
        found: Array = physical * (self._corrected.predict(table) / physical) ** self._shrinkage
        return found


def _parts(table: pd.DataFrame) -> dict[tuple[str, str], NDArray[np.int64]]:
    """(kind, phase) → positions of its rows."""
    keys = list(zip(table["kind"].astype(str), table["phase"].astype(str), strict=True))
    places: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return {key: np.array(rows) for key, rows in places.items()}


def _terms(table: pd.DataFrame) -> Array:
    """(rows, 7) times in ms that the data sheet gives to each part of the work."""
    found = quantities(table)
    specs = [gpu(name) for name in table["device"]]
    peak, bandwidth, sms, clock = (
        np.array([getattr(spec, name) for spec in specs], dtype=np.float64)
        for name in ("peak_gflops", "memory_bandwidth_gb_s", "sms", "clock_mhz")
    )
    in_waves = np.ceil(found["tiles"] / sms) * sms * _TILE_OPERATIONS * np.ceil(found["depth"] / _DEPTH) * _DEPTH
    moved = (4 * found[name] / bandwidth / 1e6 for name in ("input_elements", "output_elements", "weights"))
    return np.column_stack(
        [np.ones(len(table)), 1e3 / clock, found["operations"] / peak / 1e6, in_waves / peak / 1e6, *moved]
    )
