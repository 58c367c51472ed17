"""Rows of a measured table → nothing, or one error that names the rows that cannot be right.

Checks look at what a label may be, never at what a model would predict.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from edgeperf.datasets.schema import KEY_COLUMNS, PLAUSIBLE, PLAUSIBLE_INPUT_SIZE, SPLITS
from edgeperf.errors import InvalidInput
from edgeperf.units import METRICS

DISAGREEMENT = 2.0
"""Two labels of the same network may differ by this factor; published repeats go up to 1.8."""

_SHOWN = 5


def require_sound(rows: pd.DataFrame, *, source: str) -> None:
    """Passes silently when every row can be used.

    Args:
        rows: one label per row, columns as in `edgeperf.datasets.schema`; the index is what messages call the row.
        source: how messages name the table.

    Raises:
        InvalidInput: columns are missing, values are absent or implausible, names are unknown, or repeats disagree.
    """
    missing = [column for column in KEY_COLUMNS if column not in rows.columns]
    if missing:
        raise InvalidInput(
            f"{source}: missing column(s) {', '.join(missing)}. Every row needs {', '.join(KEY_COLUMNS)}."
        )
    if rows.empty:
        raise InvalidInput(f"{source} holds no rows. Expected at least one measured network.")
    _require_known(rows, "metric", METRICS, source)
    if "split" in rows.columns:
        _require_known(rows, "split", SPLITS, source)
    _require_numbers(rows, source)
    _require_plausible(rows, source)
    _require_agreeing_repeats(rows, source)


def disagreeing_repeats(rows: pd.DataFrame, factor: float = DISAGREEMENT) -> pd.DataFrame:
    """Rows of networks whose labels for one metric and device differ by more than `factor`."""
    key = [column for column in ("device", "network", "model", "input_size", "metric") if column in rows.columns]
    values = rows.groupby(key, dropna=False)["value"]
    return rows[values.transform("max") > factor * values.transform("min")]


def _require_known(rows: pd.DataFrame, column: str, known: Iterable[str], source: str) -> None:
    names = tuple(known)
    bad = rows[~rows[column].isin(names)]
    if len(bad):
        unknown = ", ".join(sorted({repr(value) for value in bad[column]}))
        raise InvalidInput(f"{source}: unknown {column} {unknown} in {_where(bad)}. Known: {', '.join(names)}.")


def _require_numbers(rows: pd.DataFrame, source: str) -> None:
    for column in ("value", "input_size"):
        numbers = pd.to_numeric(rows[column], errors="coerce")
        bad = rows[~np.isfinite(numbers)]
        if len(bad):
            raise InvalidInput(
                f"{source}: {column} is no number in {_where(bad)}. Leave out rows that were not measured."
            )


def _require_plausible(rows: pd.DataFrame, source: str) -> None:
    low, high = PLAUSIBLE_INPUT_SIZE
    bad = rows[~rows["input_size"].astype(float).between(low, high)]
    if len(bad):
        raise InvalidInput(f"{source}: input_size outside {low} to {high} pixels in {_where(bad)}.")
    for metric, limits in PLAUSIBLE.items():
        of_metric = rows[rows["metric"] == metric]
        bad = of_metric[~of_metric["value"].astype(float).between(limits.low, limits.high)]
        if len(bad):
            raise InvalidInput(
                f"{source}: {metric} = {bad['value'].iloc[0]:g} cannot be right in {_where(bad)}; expected "
                f"{limits.low:g} to {limits.high:g}. Check the unit: {limits.hint}."
            )


def _require_agreeing_repeats(rows: pd.DataFrame, source: str) -> None:
    bad = disagreeing_repeats(rows)
    if len(bad):
        raise InvalidInput(
            f"{source}: repeated measurements of the same network differ by more than a factor of {DISAGREEMENT:g} in "
            f"{_where(bad)}. Measure again, or remove the rows that are wrong."
        )


def _where(bad: pd.DataFrame) -> str:
    named = [column for column in ("device", "model", "input_size", "metric") if column in bad.columns]
    shown = [f"row {index} ({' '.join(str(row[c]) for c in named)})" for index, row in bad.head(_SHOWN).iterrows()]
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return ", ".join(shown) + more
