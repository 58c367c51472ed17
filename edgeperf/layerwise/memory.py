"""Measured operations → memory of an operation alone; memory of layers → memory of a network, by two rules.

The rules need no graph; `edgeperf.network.memory_plan`, which knows it, needs no rule.

Reference: Sponner et al., Electronics 2022, section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.quantities import Array
from edgeperf.units import BYTES_PER_MIB

if TYPE_CHECKING:
    import pandas as pd


class TensorMemory:
    """Memory = a constant (the runtime) + a price per element of input, output and weights, in MiB.

    Fitted on relative error. Behind the same interface as `edgeperf.layerwise.predictors.OperationPredictor`.
    """

    def __init__(self) -> None:
        self._prices: Array = np.zeros(4)

    @property
    def context_mib(self) -> float:
        """The constant: what the runtime takes before any tensor."""
        return float(self._prices[0])

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in MiB, one per row."""
        terms = _tensors(table) / labels[:, None]
        self._prices = np.asarray(np.linalg.lstsq(terms, np.ones(len(labels)), rcond=None)[0], dtype=np.float64)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """MiB per row."""
        found: Array = _tensors(table) @ self._prices
        return found


def _tensors(table: pd.DataFrame) -> Array:
    """(rows, 4): 1, and MiB of input, output and weights in float32."""
    elements = table[["input_elements", "output_elements", "weights"]].to_numpy(np.float64)
    return np.column_stack([np.ones(len(table)), 4 * elements / BYTES_PER_MIB])


def two_largest(layer_mib: Sequence[float], context_mib: float = 0.0) -> float:
    """Sum of the two largest layers, MiB; `context_mib`, which every layer's figure holds, counts once.

    >>> two_largest([110.0, 130.0, 120.0], context_mib=100.0)
    150.0
    """
    _require(layer_mib)
    own = sorted((value - context_mib for value in layer_mib), reverse=True)
    return context_mib + sum(own[:2])


def twice_mean(layer_mib: Sequence[float], context_mib: float = 0.0) -> float:
    """Twice the mean layer, MiB; `context_mib`, which every layer's figure holds, counts once.

    >>> twice_mean([110.0, 130.0], context_mib=100.0)
    140.0
    """
    _require(layer_mib)
    return context_mib + 2 * sum(value - context_mib for value in layer_mib) / len(layer_mib)


def _require(layer_mib: Sequence[float]) -> None:
    if not layer_mib:
        raise InvalidInput("There are no layers; expected the memory of at least one.")
