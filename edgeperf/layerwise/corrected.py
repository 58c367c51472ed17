"""Operations measured on one GPU → time: what its data sheet explains, corrected by what trees learn.

Trees that learn the ratio to a physical time need to learn only how kernels differ from it, and each term's share says
which of them bounds an operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from edgeperf.layerwise.operations import COLUMNS
from edgeperf.layerwise.physical import (
    MOVING_TERMS,
    PRODUCT_TERMS,
    SHARES,
    PhysicalTimes,
    physical_ms,
    with_shares,
)
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.roofline import Roof, roofline_ms

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.quantities import Array

_ONE_PHASE = "measured"
_FEWEST_PER_PRICE = 2
"""Different operations of a kind for each of its prices, below which they would be a guess."""


class CorrectedTimes:
    """`PhysicalTimes` of one GPU and one phase, corrected by one model over all kinds.

    Behind the same interface as `edgeperf.layerwise.predictors.OperationPredictor`. Of kinds of which few operations
    were measured, the roofline stands in for the physical time.

    Args:
        roof: of a GPU of `edgeperf.hardware.GPUS`.
        algorithm: of `edgeperf.layerwise.algorithms`.
        seed: of all chance.
    """

    def __init__(self, *, roof: Roof, algorithm: str = "ert", seed: int) -> None:
        self._roof, self._physical = roof, PhysicalTimes()
        self._kinds: frozenset[str] = frozenset()
        self._trees = OneForAll(algorithm=algorithm, scale=physical_ms, extra=SHARES, seed=seed)

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        self._kinds = frozenset(str(kind) for kind, rows in table.groupby("kind") if _suffice(rows))
        priced = table["kind"].isin(self._kinds).to_numpy()
        self._physical.fit(self._here(table)[priced], labels[priced])
        self._trees.fit(self._with_shares(table), labels)
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """Ms per row."""
        return self._trees.predict(self._with_shares(table))

    def _with_shares(self, table: pd.DataFrame) -> pd.DataFrame:
        here, known = self._here(table), table["kind"].isin(self._kinds).to_numpy()
        physical = roofline_ms(table, self._roof)
        if known.any():
            physical[known] = self._physical.predict(here[known])
        return with_shares(here, physical)

    def _here(self, table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(device=self._roof.name, phase=_ONE_PHASE)


def _suffice(rows: pd.DataFrame) -> bool:
    """Whether operations of one kind are enough to price its terms."""
    terms = PRODUCT_TERMS if rows["macs"].iloc[0] > 0 else MOVING_TERMS
    return len(rows[list(COLUMNS)].drop_duplicates()) >= _FEWEST_PER_PRICE * len(terms)
