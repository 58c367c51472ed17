"""Error against the number of measured operations, per kind → how many are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.validation import Groups, mape

if TYPE_CHECKING:
    import pandas as pd

    from edgeperf.layerwise.predictors import OperationPredictor

WORTHWHILE = 0.9
"""Twice the operations are worth measuring while they leave less than this share of the error."""

_FEWEST = 5
"""Of different operations, so that a fifth of them can be held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """Errors after training on so many different operations.

    Attributes:
        configurations: different operations that were trained on.
        mape: over all kinds, %, mean over repeats.
        by_kind: the same per kind.
    """

    configurations: int
    mape: float
    by_kind: dict[str, float]


def size_study(
    make: Callable[[], OperationPredictor],
    table: pd.DataFrame,
    labels: Array,
    groups: Groups,
    *,
    sizes: Sequence[int],
    repeats: int,
    seed: int,
) -> list[SizePoint]:
    """One point per size; a fifth of the operations is held out, the same ones for all sizes of a repeat.

    Args:
        make: a fresh predictor.
        table: operations.
        labels: one per row.
        groups: see `edgeperf.layerwise.validation.configurations`.
        sizes: numbers of different operations to train on, ascending.
        repeats: draws of operations per size.
        seed: of the draws.

    Raises:
        InvalidInput: a size is below 2 or more than four fifths of the operations, or these are fewer than five.
    """
    known = np.unique(groups)
    if len(known) < _FEWEST:
        raise InvalidInput(f"There are {len(known)} different operations; expected {_FEWEST} or more. Measure more.")
    most = len(known) - len(known) // 5
    if not sizes or min(sizes) < 2 or max(sizes) > most:
        raise InvalidInput(
            f"Sizes are {list(sizes)}; expected numbers from 2 to {most}, four fifths of the operations."
        )
    chance = np.random.default_rng(seed)
    errors: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    for _ in range(repeats):
        order = chance.permutation(known)
        held = np.isin(groups, order[most:])
        for size in sizes:
            trained = np.isin(groups, order[:size])
            found = make().fit(table[trained], labels[trained]).predict(table[held])
            errors[size].append(_by_kind(table["kind"].to_numpy()[held], labels[held], found))
    return [_point(size, found) for size, found in errors.items()]


def enough(points: Sequence[SizePoint]) -> int | None:
    """The least size after which doubling leaves at least `WORTHWHILE` of the error; None where it always pays.

    >>> enough([SizePoint(configurations=n, mape=e, by_kind={}) for n, e in ((50, 30.0), (100, 20.0), (200, 19.0))])
    100
    """
    ordered = sorted(points, key=lambda point: point.configurations)
    for point in ordered:
        doubled = next((other for other in ordered if other.configurations >= 2 * point.configurations), None)
        if doubled is not None and doubled.mape >= WORTHWHILE * point.mape:
            return point.configurations
    return None


def _by_kind(kinds: Array, labels: Array, found: Array) -> dict[str, float]:
    per_kind = {str(kind): mape(labels[kinds == kind], found[kinds == kind]) for kind in np.unique(kinds)}
    return {"": mape(labels, found), **per_kind}


def _point(size: int, repeats: Sequence[dict[str, float]]) -> SizePoint:
    kinds = sorted({kind for each in repeats for kind in each if kind})
    means = {kind: float(np.mean([each[kind] for each in repeats if kind in each])) for kind in kinds}
    return SizePoint(configurations=size, mape=float(np.mean([each[""] for each in repeats])), by_kind=means)
