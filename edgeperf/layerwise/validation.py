"""Predictors, measured tables → errors on operations that were not in the training rows.

Groups are whole configurations: repeats of one operation never stand on both sides of a split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import COLUMNS
from edgeperf.layerwise.quantities import Array

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.predictors import OperationPredictor

Groups = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How far predictions are off.

    Attributes:
        n: rows.
        r2: coefficient of determination; the largest labels decide it.
        mape: mean absolute percentage error, %.
        median: median absolute percentage error, %.
        within_10: share of rows within 10 % of the truth, %.
    """

    n: int
    r2: float
    mape: float
    median: float
    within_10: float


def score(measured: Array, predicted: Array) -> Score:
    """All errors of one set of predictions.

    >>> score(np.array([1.0, 2.0]), np.array([1.1, 2.0])).median
    5.0

    Raises:
        InvalidInput: there are no rows.
    """
    if not len(measured):
        raise InvalidInput("There are no rows to score; expected at least one.")
    errors = np.abs(predicted / measured - 1) * 100
    spread = float(((measured - measured.mean()) ** 2).sum())
    missed = float(((measured - predicted) ** 2).sum())
    return Score(
        n=len(measured),
        r2=1 - missed / spread if spread else float("nan"),
        mape=float(errors.mean()),
        median=round(float(np.median(errors)), 10),
        within_10=float((errors <= 10).mean() * 100),
    )


def mape(measured: Array, predicted: Array) -> float:
    """Mean absolute percentage error, %."""
    return float(np.abs(predicted / measured - 1).mean() * 100)


def configurations(table: pd.DataFrame, ignoring: tuple[str, ...] = ()) -> Groups:
    """A number per row, equal for rows of the same operation but for the columns in `ignoring`."""
    columns = [name for name in COLUMNS if name not in ignoring]
    return np.asarray(table.groupby(columns, sort=False).ngroup(), dtype=np.int64)


_SAME = tuple(name for name in COLUMNS if name not in ("dilation", "inputs", "output_elements", "weights", "macs"))


def same_operation(table: pd.DataFrame) -> pd.Series[Any]:
    """A key per row that is equal for the same operation in different tables.

    Derived counts, and what one source states and another leaves out (biases, dilation), are not part of it. The
    elements that are read are: stand-ins for operations that were not measured differ in nothing else.
    """
    import pandas as pd

    return pd.Series(list(table[list(_SAME)].itertuples(index=False, name=None)), index=table.index, dtype=object)


def cross_predict(
    make: Callable[[], OperationPredictor],
    table: pd.DataFrame,
    labels: Array,
    groups: Groups,
    *,
    folds: int,
    train_also: tuple[pd.DataFrame, Array, Groups] | None = None,
) -> Array:
    """Out-of-fold predictions, one per row.

    Args:
        make: a fresh predictor.
        table: operations.
        labels: one per row.
        groups: see `configurations`; no group is split.
        folds: how many.
        train_also: further rows that only ever train; their groups are numbered alike, and those of a fold left out.
    """
    import pandas as pd
    from sklearn.model_selection import GroupKFold

    found = np.empty(len(table))
    for train, test in GroupKFold(folds).split(table, groups=groups):
        known, known_labels = table.iloc[train], labels[train]
        if train_also is not None:
            more, more_labels, more_groups = train_also
            keep = ~np.isin(more_groups, groups[test])
            known = pd.concat([known, more[keep]], ignore_index=True)
            known_labels = np.concatenate([known_labels, more_labels[keep]])
        found[test] = make().fit(known, known_labels).predict(table.iloc[test])
    return found
