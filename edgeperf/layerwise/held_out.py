"""A table of measured operations → how far predictions are off for operations that a fit did not see.

Sums of operations have no interval; this is what is known of their parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeperf.layerwise.fitting import latency_maker
from edgeperf.layerwise.loops import without_calls
from edgeperf.layerwise.measurements import measured_on_gpu
from edgeperf.layerwise.validation import Score, configurations, cross_predict, score

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.roofline import Roof

FOLDS = 3
"""Few, because a user waits: the error comes out a little larger than that of the table's own fit."""


def held_out_error(table: pd.DataFrame, roof: Roof, *, device: str, on_gpu: bool | None, seed: int) -> Score | None:
    """The error of latency on operations left out of the fit, in grouped cross-validation; None where they are too few.

    Args:
        table: rows of one device, as for `edgeperf.layerwise.fitting.fit_measured`.
        roof: of the predictor fitted to it.
        device: its name.
        on_gpu: see `fit_measured`.
        seed: of all chance.
    """
    cpu = measured_on_gpu(table, device) is False if on_gpu is None else not on_gpu
    rows = without_calls(table) if cpu else table
    groups = configurations(rows)
    if len(np.unique(groups)) < FOLDS:
        return None
    labels = rows["latency_ms"].to_numpy(np.float64)
    return score(labels, cross_predict(latency_maker(roof, seed=seed), rows, labels, groups, folds=FOLDS))
