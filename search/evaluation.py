"""Vectors of candidates → a table of all that is known of them, a whole generation at once.

No Keras model is built: features come block by block from memory (`edgeperf.zoo.counting`), the surrogates predict
all rows in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from edgeperf.network import FEATURE_NAMES, features
from edgeperf.zoo import Family
from edgeperf.zoo.counting import CountingLayers, feature_rows
from search.accuracy import AccuracySource
from search.objectives import OF_NETWORK
from search.space import Candidate, Space, Vectors

Array = npt.NDArray[np.float64]

_CHUNK = 256
"""Rows that one thread predicts at a time; fixed, so that rounding does not depend on the number of processors."""


class Prediction(Protocol):
    """What a surrogate says of a batch; arrays of shape (rows,)."""

    value: Array
    low: Array
    high: Array
    in_range: npt.NDArray[np.bool_]


class Surrogates(Protocol):
    """The surrogates of one device."""

    def predict_batch(self, feature_rows: Array) -> Mapping[str, Any]:
        """Metric → prediction of every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Candidates with all their numbers.

    Attributes:
        vectors: shape (candidates, places).
        columns: name → shape (candidates,). ``NAME:low`` and ``NAME:high`` are the ends of 90 % intervals;
            ``in_range`` is 1 where every surrogate knows the like of the candidate.
        provenance: where each accuracy comes from.
    """

    vectors: Vectors
    columns: Mapping[str, Array]
    provenance: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.vectors)

    def rows(self, chosen: npt.NDArray[Any]) -> Self:
        """The chosen candidates, in that order."""
        return type(self)(
            vectors=self.vectors[chosen],
            columns={name: column[chosen] for name, column in self.columns.items()},
            provenance=tuple(np.array(self.provenance, dtype=object)[chosen]),
        )

    def joined(self, other: Self) -> Self:
        """These candidates and then the other ones."""
        return type(self)(
            vectors=np.concatenate((self.vectors, other.vectors)),
            columns={name: np.concatenate((column, other.columns[name])) for name, column in self.columns.items()},
            provenance=self.provenance + other.provenance,
        )


class Evaluator:
    """Rates candidates of one space on some devices."""

    def __init__(self, space: Space, devices: Mapping[str, Surrogates], accuracy: AccuracySource) -> None:
        self._space = space
        self._devices = devices
        self._accuracy = accuracy
        self._counting = CountingLayers()
        self._threads = ThreadPoolExecutor()

    def __call__(self, vectors: Vectors) -> Table:
        """All that is known of the candidates."""
        candidates = [self._space.decode(vector) for vector in vectors]
        rows = self.features(candidates)
        rated = self._accuracy(candidates, rows)
        columns = {"accuracy": rated.value, "accuracy:low": rated.low, "accuracy:high": rated.high}
        return Table(vectors=vectors, columns=columns | self._costs(rows), provenance=rated.provenance)

    def costs(self, vectors: Vectors) -> Table:
        """All that is known of the candidates without asking for their accuracy, which is NaN."""
        rows = self.features([self._space.decode(vector) for vector in vectors])
        unknown = np.full(len(vectors), np.nan)
        accuracy = dict.fromkeys(("accuracy", "accuracy:low", "accuracy:high"), unknown)
        return Table(vectors=vectors, columns=accuracy | self._costs(rows), provenance=("",) * len(vectors))

    def features(self, candidates: Sequence[Candidate]) -> Array:
        """Features of each candidate, columns in the order of `FEATURE_NAMES`."""
        rows = np.empty((len(candidates), len(FEATURE_NAMES)))
        for family in {id(candidate.family): candidate.family for candidate in candidates}.values():
            places = [index for index, candidate in enumerate(candidates) if candidate.family is family]
            members = [candidates[place].genes for place in places]
            if isinstance(family, Family) and family.pure_blocks:
                rows[places] = feature_rows(self._counting, family, members)
            else:
                values = [features(family.network(genes)).values for genes in members]
                rows[places] = [[value[name] for name in FEATURE_NAMES] for value in values]
        return rows

    def out_of_range_reasons(self, table: Table) -> dict[str, list[str | None]]:
        """Per column, what lies outside the measured range for each candidate; empty where nothing does."""
        if not len(table) or table.columns["in_range"].all():
            return {}
        rows = self.features([self._space.decode(vector) for vector in table.vectors])
        return {
            f"{metric}@{device}": prediction.reasons()
            for device, surrogates in self._devices.items()
            for metric, prediction in surrogates.predict_batch(rows).items()
            if not prediction.in_range.all()
        }

    @cached_property
    def predictors(self) -> dict[str, str]:
        """Column of each estimate → what predicts it, by device and metric."""
        rows = self.features([self._space.decode(self._space.random(1, np.random.default_rng(0))[0])])
        found = {}
        for device, surrogates in self._devices.items():
            trained = getattr(surrogates, "trained", {})
            for metric in surrogates.predict_batch(rows):
                known = trained.get(metric)
                found[f"{metric}@{device}"] = f"{known.algorithm} on {known.card['data']}" if known else device
        return found

    def surrogate_cards(self) -> list[dict[str, Any]]:
        """What the trained surrogates say of themselves: data, rows and cross-validated errors in percent."""
        return [
            {
                "device": device,
                "metric": metric,
                "algorithm": trained.algorithm,
                **{name: trained.card[name] for name in ("data", "cite", "meaning", "rows", "models", "cv_mape")},
            }
            for device, surrogates in self._devices.items()
            for metric, trained in getattr(surrogates, "trained", {}).items()
        ]

    def _costs(self, rows: Array) -> dict[str, Array]:
        counted = {name: rows[:, FEATURE_NAMES.index(name)] for name in OF_NETWORK}
        return counted | self._predicted(rows)

    def _predicted(self, rows: Array) -> dict[str, Array]:
        """Columns of all metrics on all devices; chunks of rows are predicted side by side."""
        chunks = [rows[start : start + _CHUNK] for start in range(0, max(len(rows), 1), _CHUNK)]
        parts = list(self._threads.map(self._predicted_chunk, chunks))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _predicted_chunk(self, rows: Array) -> dict[str, Array]:
        columns: dict[str, Array] = {}
        inside = np.ones(len(rows), dtype=np.bool_)
        for device, surrogates in self._devices.items():
            for metric, prediction in surrogates.predict_batch(rows).items():
                columns[f"{metric}@{device}"] = prediction.value
                columns[f"{metric}@{device}:low"] = prediction.low
                columns[f"{metric}@{device}:high"] = prediction.high
                columns[f"{metric}@{device}:in_range"] = np.asarray(prediction.in_range, dtype=np.float64)
                inside &= prediction.in_range
        return {**columns, "in_range": inside.astype(np.float64)}
