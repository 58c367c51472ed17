"""A `Dataset` → the arrays that surrogates are fitted on.

A network whose graph is known gives all of `FEATURE_NAMES`; of any other only the columns that its table publishes are
known. The paper's own features are there for both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgeperf.datasets import Dataset, FeatureTable, feature_table
from edgeperf.datasets.bouzidi_repairs import contradicts_itself
from edgeperf.datasets.graphs import Track
from edgeperf.datasets.schema import TRAIN
from edgeperf.errors import InvalidInput
from edgeperf.network import FEATURE_NAMES
from edgeperf.surrogates.arrays import Mask, Matrix, Vector
from edgeperf.surrogates.paper import paper_features


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Labels of one device and metric, with what is known of their networks; all arrays have the same length.

    Attributes:
        device: one name.
        metric: one name.
        value: labels in the metric's unit.
        features: (rows, features) in the order of `FEATURE_NAMES`; NaN where the graph is not known.
        paper: (rows, features) the paper's features for the metric, from the graph where it is known.
        input_size: pixels.
        network: key; equal for repeats of a measurement.
        model: published name; the same at several input sizes.
        family: what kind of CNN.
        split: train, NIS, NCV or NCA.
        contradictory: whether the published features of the row cannot all be right.
    """

    device: str
    metric: str
    value: Vector
    features: Matrix
    paper: Matrix
    input_size: Vector
    network: NDArray[Any]
    model: NDArray[Any]
    family: NDArray[Any]
    split: NDArray[Any]
    contradictory: Mask

    def __len__(self) -> int:
        return len(self.value)

    @property
    def has_graph(self) -> Mask:
        """Whether `features` are known."""
        return ~np.isnan(self.features[:, 0])

    def take(self, chosen: Any) -> Rows:
        """The rows at these positions, or where this mask is true."""
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name not in ("device", "metric")}
        return replace(self, **arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Training rows of one device, by metric: a power surrogate also learns from latencies.

    Attributes:
        metric: what is to be predicted.
        by_metric: metric → rows; `metric` is one of them.
        elsewhere: the same of other devices in the data, from which rows without a graph also learn.
    """

    metric: str
    by_metric: Mapping[str, Rows]
    elsewhere: tuple[Training, ...] = ()

    @property
    def rows(self) -> Rows:
        """Rows of the metric that is to be predicted."""
        return self.by_metric[self.metric]

    def of(self, metric: str) -> Training:
        """The same rows for predicting another metric.

        Raises:
            InvalidInput: that metric was not measured.
        """
        if metric not in self.by_metric or not len(self.by_metric[metric]):
            raise InvalidInput(
                f"A surrogate for {self.metric} of {self.rows.device} also learns from {metric}, which the data lacks. "
                f"Measure it too, or choose another algorithm."
            )
        return replace(
            self, metric=metric, elsewhere=tuple(t.of(metric) for t in self.elsewhere if metric in t.by_metric)
        )

    def with_graph(self) -> Training:
        """Rows whose graph is known."""
        return replace(self, by_metric={m: rows.take(rows.has_graph) for m, rows in self.by_metric.items()})

    def without(self, column: str, held_out: Collection[Any]) -> Training:
        """Rows of all metrics, less those whose `column` is among the held-out values."""
        kept = {m: rows.take(~np.isin(getattr(rows, column), list(held_out))) for m, rows in self.by_metric.items()}
        elsewhere = tuple(other.without(column, held_out) for other in self.elsewhere)
        return replace(self, by_metric=kept, elsewhere=elsewhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A dataset with the features of its networks worked out once.

    Attributes:
        dataset: what it was made of.
        table: features of the networks whose graph is known.
        contradictory: per row of the dataset.
    """

    dataset: Dataset
    table: FeatureTable
    contradictory: pd.Series

    def rows(self, device: str, metric: str) -> Rows:
        """All rows of one device and metric."""
        return self._arrays(self.dataset.target(device, metric), device, metric)

    def training(self, device: str, metric: str) -> Training:
        """Training rows of the device, without those that contradict themselves.

        Raises:
            InvalidInput: there are fewer than two, or all labels are equal.
        """
        targets = self.dataset.targets()
        others = sorted({d for d, m in targets if m == metric and d != device})
        elsewhere = tuple(Training(metric=metric, by_metric=self._training_rows(other)) for other in others)
        by_metric = self._training_rows(device)
        if metric not in by_metric or not len(by_metric[metric]):
            raise InvalidInput(f"{self.dataset.provenance.name} has no training rows for {metric} of {device}.")
        _require_learnable(by_metric[metric])
        return Training(metric=metric, by_metric=by_metric, elsewhere=elsewhere)

    def _training_rows(self, device: str) -> dict[str, Rows]:
        everything = {m: self.rows(device, m) for d, m in self.dataset.targets() if d == device}
        return {m: rows.take((rows.split == TRAIN) & ~rows.contradictory) for m, rows in everything.items()}

    def _arrays(self, rows: pd.DataFrame, device: str, metric: str) -> Rows:
        features = self.table.of(rows["network"])
        return Rows(
            device=device,
            metric=metric,
            value=rows["value"].to_numpy(dtype=float),
            features=features,
            paper=_paper_features(rows, features, paper_features(metric)),
            input_size=rows["input_size"].to_numpy(dtype=float),
            network=rows["network"].to_numpy(dtype=object),
            model=rows["model"].to_numpy(dtype=object),
            family=rows["family"].to_numpy(dtype=object),
            split=rows["split"].to_numpy(dtype=object),
            contradictory=self.contradictory.loc[rows.index].to_numpy(dtype=bool),
        )


def _require_learnable(rows: Rows) -> None:
    if len(rows) < 2:
        raise InvalidInput(
            f"{rows.device} {rows.metric} has {len(rows)} training row(s); a surrogate needs two. Measure more."
        )
    if np.ptp(rows.value) == 0:
        raise InvalidInput(
            f"All {len(rows)} training labels of {rows.device} {rows.metric} are {rows.value[0]:g}; there is nothing "
            "to learn. Check how they were measured."
        )


def corpus(dataset: Dataset, track: Track = iter) -> Corpus:
    """The dataset with features from the graphs; takes some milliseconds per network."""
    return Corpus(dataset=dataset, table=feature_table(dataset, track), contradictory=contradicts_itself(dataset.rows))


def _paper_features(rows: pd.DataFrame, features: Matrix, names: Sequence[str]) -> Matrix:
    known = ~np.isnan(features[:, 0])
    columns = []
    for name in names:
        published = rows[name].to_numpy(dtype=float)
        source = "input_width" if name == "input_size" else name
        columns.append(np.where(known, features[:, FEATURE_NAMES.index(source)], published))
    return np.column_stack(columns)
