"""A table of measured operations → what predictors say of them that did not see them, and how far that is off.

Sums of operations have no interval; this is what is known of their parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.layerwise.fitting import latency_maker, ran_on_gpu
from edgeperf.layerwise.loops import without_calls
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.validation import Score, configurations, cross_predict, score

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.roofline import Roof

FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Measured operations, each predicted by a fit without it.

    Attributes:
        rows: as they are fitted, on a processor without what a call costs beyond its work.
        predicted_ms: one per row.
    """

    rows: pd.DataFrame
    predicted_ms: Array

    @property
    def measured_ms(self) -> Array:
        """One per row."""
        return self.rows["latency_ms"].to_numpy(np.float64)

    def error(self) -> Score:
        """Of latency."""
        return score(self.measured_ms, self.predicted_ms)


def held_out(table: pd.DataFrame, roof: Roof, *, device: str, on_gpu: bool | None, seed: int) -> HeldOut | None:
    """Grouped cross-validation of latency; None where there are too few operations.

    Args:
        table: rows of one device, as for `edgeperf.layerwise.fitting.fit_measured`.
        roof: of the predictor fitted to it.
        device: its name.
        on_gpu: see `fit_measured`.
        seed: of all chance.
    """
    rows = table if ran_on_gpu(table, device, on_gpu) else without_calls(table)
    groups = configurations(rows)
    if len(np.unique(groups)) < FOLDS:
        return None
    labels = rows["latency_ms"].to_numpy(np.float64)
    found = cross_predict(latency_maker(roof, seed=seed), rows, labels, groups, folds=FOLDS)
    return HeldOut(rows=rows, predicted_ms=found)
