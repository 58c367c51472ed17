"""Rows of a search's table → records with all that is known of each network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from edgeperf.records import Estimate
from edgeperf.units import METRICS
from search.evaluation import Evaluator, Table
from search.front import dominators
from search.loop import Problem
from search.space import Space

NEAREST = 10
"""How many of the least violating candidates are reported where none is feasible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One network with all that is known of it.

    Attributes:
        accuracy_low: lower end of the 90 % interval; equal to `accuracy` where it is published.
        accuracy_provenance: ``published``, ``predicted``, ``tabular``, ``trained`` or ``scored``.
        in_range: whether every surrogate knows the like of it.
        estimates: every metric on every device.
        misses: which bounds it misses, and its value there; empty for points of a front.
        dominated_by: for known networks, points of the front that beat it.
    """

    network: str
    family: str
    family_title: str
    genes: Mapping[str, Any]
    params: int
    macs: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    accuracy_provenance: str
    in_range: bool
    estimates: tuple[Estimate, ...]
    misses: tuple[str, ...] = ()
    dominated_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists and scalars."""
        return asdict(self)


class Points:
    """Makes the records of one search."""

    def __init__(self, searched: Space, problem: Problem, evaluate: Evaluator) -> None:
        self.searched = searched
        self._problem = problem
        self._evaluate = evaluate

    @property
    def surrogates(self) -> list[dict[str, Any]]:
        """What the surrogates of the search say of themselves."""
        return self._evaluate.surrogate_cards()

    def of(self, table: Table) -> tuple[Point, ...]:
        """The table's candidates, in its order."""
        reasons = self._evaluate.out_of_range_reasons(table)
        return tuple(self._point(table, index, reasons) for index in range(len(table)))

    def nearest(self, table: Table) -> tuple[Point, ...]:
        """The candidates that miss the bounds least, nearest first, each with what it misses."""
        nearest = table.rows(np.argsort(self._problem.violation(table), kind="stable")[:NEAREST])
        return tuple(
            replace(point, misses=self._misses(nearest.rows(np.array([index]))))
            for index, point in enumerate(self.of(nearest))
        )

    def known(self, front: Table) -> tuple[Point, ...]:
        """The published networks of the space, each with the points of the front that beat it."""
        known = dict(self.searched.published())
        if not known:
            return ()
        table = self._evaluate(np.array(list(known.values())))
        names = [self.searched.decode(vector).name for vector in front.vectors]
        values, rivals = self._problem.minimised(table), self._problem.minimised(front)
        return tuple(
            replace(point, network=name, dominated_by=tuple(names[rival] for rival in dominators(value, rivals)))
            for name, point, value in zip(known, self.of(table), values, strict=True)
        )

    def _point(self, table: Table, index: int, reasons: Mapping[str, list[str | None]]) -> Point:
        candidate = self.searched.decode(table.vectors[index])
        row = {name: column[index].item() for name, column in table.columns.items()}
        outside = {column: found[index] for column, found in reasons.items()}
        return Point(
            network=candidate.name,
            family=candidate.family.name,
            family_title=candidate.family.title,
            genes=candidate.genes,
            params=int(row["params"]),
            macs=int(row["macs"]),
            accuracy=row["accuracy"],
            accuracy_low=row["accuracy:low"],
            accuracy_high=row["accuracy:high"],
            accuracy_provenance=table.provenance[index],
            in_range=bool(row["in_range"]),
            estimates=tuple(self._estimates(candidate.name, row, outside)),
        )

    def _estimates(
        self, network: str, row: Mapping[str, float], outside: Mapping[str, str | None]
    ) -> Iterable[Estimate]:
        for column, predictor in self._evaluate.predictors.items():
            metric, _, device = column.partition("@")
            yield Estimate(
                network=network,
                device=device,
                metric=metric,
                value=row[column],
                low=row[f"{column}:low"],
                high=row[f"{column}:high"],
                unit=METRICS[metric].unit,
                predictor=predictor,
                in_range=bool(row[f"{column}:in_range"]),
                out_of_range_reason=outside.get(column),
            )

    def _misses(self, one: Table) -> tuple[str, ...]:
        missed = [
            f"{constraint}: {constraint.quantity.of(one.columns)[0]:.4g}"
            for constraint in self._problem.constraints
            if constraint.violation(one.columns)[0] > 0
        ]
        if self._problem.require_in_range and not one.columns["in_range"][0]:
            missed.append("unlike the networks that were measured")
        return tuple(missed)
