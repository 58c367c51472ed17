"""Training rows → what a surrogate errs on networks and image sizes that it was not fitted on.

Two protocols, because two questions are asked: `model` holds out models at all their sizes (a new network),
`input_size` holds out image sizes of all models (a known network at a new size). No network stands on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.surrogates.arrays import Mask, Vector
from edgeperf.surrogates.rows import Rows, Training

FOLDS: Final = 6
PROTOCOLS: Final = ("model", "input_size")


class RowSurrogate(Protocol):
    """Predicts rows, whatever of their networks it looks at."""

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) in the metric's unit."""
        ...


Fit = Callable[[Training], RowSurrogate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Rows that were held out, and what the rest predicted for them.

    Attributes:
        protocol: `model` or `input_size`.
        rows: held out.
        predicted: (rows,) in the metric's unit.
        distance: (rows,) to the nearest network of those that were kept.
    """

    protocol: str
    rows: Rows
    predicted: Vector
    distance: Vector

    def take(self, chosen: Mask) -> Held:
        """The rows where `chosen` is true."""
        return replace(
            self, rows=self.rows.take(chosen), predicted=self.predicted[chosen], distance=self.distance[chosen]
        )

    @property
    def log_ratio(self) -> Vector:
        """(rows,) logarithm of measured over predicted."""
        return np.log(self.rows.value / self.predicted)

    @property
    def mape(self) -> float:
        """Mean absolute percentage error over the held-out rows."""
        return float(100 * np.mean(np.abs(self.predicted / self.rows.value - 1)))


def cross_validate(
    training: Training, fit: Fit, distance: Callable[[Training, Rows], Vector], *, protocol: str, folds: int, seed: int
) -> Held:
    """Every training row of the metric, predicted by a surrogate that was fitted without its group.

    Raises:
        InvalidInput: there are fewer groups than two.
    """
    parts, predicted, distances = [], [], []
    for held in held_out_groups(training, protocol, folds=folds, seed=seed):
        kept = training.without(protocol, held)
        out = training.rows.take(np.isin(getattr(training.rows, protocol), list(held)))
        parts.append(out)
        predicted.append(fit(kept).predict_rows(out))
        distances.append(distance(kept, out))
    return Held(
        protocol=protocol,
        rows=concatenate(parts),
        predicted=np.concatenate(predicted),
        distance=np.concatenate(distances),
    )


def held_out_groups(training: Training, protocol: str, *, folds: int, seed: int) -> Iterator[set[Any]]:
    """Groups to hold out together, one set per fold; every group is in one.

    Sizes are dealt out in their order, so that neighbours of a held-out size stay; models at random.
    """
    groups = np.unique(getattr(training.rows, protocol))
    if len(groups) < 2:
        raise InvalidInput(
            f"Cross-validation by {protocol} needs at least two of them; the training rows of {training.rows.device} "
            f"{training.metric} have {len(groups)}: {', '.join(map(str, groups))}. Measure more networks."
        )
    if protocol == "model":
        groups = np.random.default_rng(seed).permutation(groups)
    for fold in range(min(folds, len(groups))):
        yield set(groups[fold::folds])


def concatenate(parts: list[Rows]) -> Rows:
    """All rows of one device and metric, one after the other."""
    first = parts[0]
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Rows.__dataclass_fields__
        if name not in ("device", "metric")
    }
    return Rows(device=first.device, metric=first.metric, **arrays)
