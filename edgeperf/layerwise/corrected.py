"""Operations measured on one GPU → time: what its data sheet explains, corrected by what trees learn.

Trees that learn the ratio to a physical time need to learn only how kernels differ from it, and each term's share says
which of them bounds an operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from edgeperf.layerwise.physical import SHARES, PhysicalTimes, physical_ms, with_shares
from edgeperf.layerwise.predictors import OneForAll
from edgeperf.layerwise.roofline import Roof, roofline_ms

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.quantities import Array

_ONE_PHASE = "measured"


class CorrectedTimes:
    """`PhysicalTimes` of one GPU and one phase, corrected by one model over all kinds.

    Behind the same interface as `edgeperf.layerwise.predictors.OperationPredictor`. Of kinds that were not measured the
    roofline stands in for the physical time.

    Args:
        roof: of a GPU of `edgeperf.hardware.GPUS`.
        algorithm: of `edgeperf.layerwise.algorithms`.
        extra: further numeric columns of the tables to read, e.g. ``"clock_mhz"``.
        outliers: share of training rows that an isolation forest removes first.
        seed: of all chance.
    """

    def __init__(
        self, *, roof: Roof, algorithm: str = "ert", extra: tuple[str, ...] = (), outliers: float = 0.0, seed: int
    ) -> None:
        self._roof, self._physical = roof, PhysicalTimes()
        self._kinds: frozenset[str] = frozenset()
        self._trees = OneForAll(
            algorithm=algorithm, scale=physical_ms, extra=(*SHARES, *extra), outliers=outliers, seed=seed
        )

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        self._kinds = frozenset(table["kind"])
        self._physical.fit(self._here(table), labels)
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
