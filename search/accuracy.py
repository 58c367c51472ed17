"""Candidates → their accuracy, and where that number comes from.

A source is a callable that rates a batch of candidates. `PublishedAccuracy` looks a network up among published ImageNet
results and predicts it where nobody has published it; `TabularAccuracy` looks it up in a benchmark's table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from edgeperf.network import FEATURE_NAMES
from edgeperf.zoo import FAMILIES, Genes
from search.accuracy_predictor import INPUTS, AccuracyPredictor
from search.space import Candidate

Array = npt.NDArray[np.float64]
Provenance = Literal["published", "predicted", "tabular", "trained", "scored"]

TABLE = Path(__file__).with_name("imagenet_top1.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracies:
    """Accuracies of a batch, in percent; arrays of shape (candidates,).

    Attributes:
        low: lower end of the 90 % interval; equal to `value` where the number is no prediction.
        high: upper end.
        provenance: where each value comes from.
    """

    value: Array
    low: Array
    high: Array
    provenance: tuple[Provenance, ...]


class AccuracySource(Protocol):
    """Rates candidates; the same candidates always get the same numbers."""

    @property
    def description(self) -> str:
        """What it is and how far it errs; stands wherever its numbers are shown."""

    def __call__(self, candidates: Sequence[Candidate], features: Array) -> Accuracies:
        """Accuracies of the candidates, whose features are the rows of `features`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One published result.

    Attributes:
        genes: of the network, at the input size of the result.
    """

    family: str
    network: str
    genes: Genes
    top1_percent: float
    source: str


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """The table of published ImageNet top-1 accuracies, in its own order."""
    with TABLE.open(newline="", encoding="utf-8") as lines:
        return tuple(_published_row(row) for row in csv.DictReader(lines))


def _published_row(row: Mapping[str, str]) -> PublishedRow:
    genes = {**FAMILIES[row["family"]].published[row["network"]], "input_size": int(row["input_size"])}
    return PublishedRow(
        family=row["family"],
        network=row["network"],
        genes=genes,
        top1_percent=float(row["top1_percent"]),
        source=row["source"],
    )


class PublishedAccuracy:
    """ImageNet top-1 as published; predicted for the variants in between."""

    def __init__(self) -> None:
        from edgeperf.network import features

        rows = published_rows()
        names = [row.family for row in rows]
        values = [features(FAMILIES[row.family].network(row.genes)).values for row in rows]
        inputs = np.log([[value[name] for name in INPUTS] for value in values])
        self._predictor = AccuracyPredictor(inputs, np.array(names), np.array([row.top1_percent for row in rows]))
        self._known = {_key(row.family, row.genes): row for row in rows}
        self._columns = [FEATURE_NAMES.index(name) for name in INPUTS]

    @property
    def description(self) -> str:
        """What it is and how far it errs."""
        return f"ImageNet top-1, published where known, else predicted: {self._predictor.errors()}."

    def __call__(self, candidates: Sequence[Candidate], features: Array) -> Accuracies:
        """Accuracies of the candidates, whose features are the rows of `features`."""
        families = np.array([candidate.family.name for candidate in candidates])
        value, low, high = self._predictor.predict(np.log(features[:, self._columns]), families)
        known = [self._known.get(_key(candidate.family.name, candidate.genes)) for candidate in candidates]
        for index, row in enumerate(known):
            if row is not None:
                value[index] = low[index] = high[index] = row.top1_percent
        provenance: tuple[Provenance, ...] = tuple("predicted" if row is None else "published" for row in known)
        return Accuracies(value=value, low=low, high=high, provenance=provenance)


@cache
def published_accuracy() -> PublishedAccuracy:
    """The source of published and predicted ImageNet accuracies, fitted once."""
    return PublishedAccuracy()


class TabularAccuracy:
    """Accuracies from a benchmark's table, by the candidates' names."""

    def __init__(self, table: Mapping[str, float], description: str) -> None:
        self._table = table
        self.description = description

    def __call__(self, candidates: Sequence[Candidate], features: Array) -> Accuracies:  # noqa: ARG002 - the protocol
        """Accuracies of the candidates.

        Raises:
            InvalidInput: the table does not hold one of them.
        """
        missing = [candidate.name for candidate in candidates if candidate.name not in self._table]
        if missing:
            raise InvalidInput(f"The accuracy table does not hold {missing[0]} ({len(missing)} candidates missing).")
        value = np.array([self._table[candidate.name] for candidate in candidates])
        return Accuracies(value=value, low=value, high=value, provenance=tuple("tabular" for _ in candidates))


Trainer = Callable[[Candidate], float]
"""A user's function: builds, trains and tests a candidate, and gives its accuracy in percent."""


def _key(family: str, genes: Genes) -> tuple[str, frozenset[tuple[str, object]]]:
    names = [gene.name for gene in FAMILIES[family].genes] if family in FAMILIES else list(genes)
    return family, frozenset((name, genes[name]) for name in names)
