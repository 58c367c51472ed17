"""A finished search → its points in words and numbers, and the files that hold them."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from edgeperf.records import Estimate
from edgeperf.units import METRICS
from search.evaluation import Evaluator, Table
from search.front import dominators, knee
from search.loop import Problem, Trace, hypervolume_history
from search.objectives import Columns
from search.space import Space

NEAREST = 10
"""How many of the least violating candidates are reported where none is feasible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One network with all that is known of it.

    Attributes:
        accuracy_low: lower end of the 90 % interval; equal to `accuracy` where it is published.
        accuracy_provenance: ``published``, ``predicted``, ``tabular``, ``trained`` or ``scored``.
        estimates: every metric on every device.
        misses: which bounds it misses and by how much, in words; empty for points of a front.
        dominated_by: for reference networks, points of the front that beat it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How a search went.

    Attributes:
        question: what was asked.
        size: networks in the space.
        evaluated: networks seen.
        feasible: networks seen that meet all bounds.
        in_range: networks seen that are like those measured.
        generations: finished ones.
        stopped_by: why it ended.
        hypervolume: share of the final one after each generation.
        knee: name of the front's knee; None where nothing is feasible.
    """

    question: Mapping[str, Any]
    size: int
    evaluated: int
    feasible: int
    in_range: int
    generations: int
    stopped_by: str
    hypervolume: tuple[float, ...]
    knee: str | None


def points(searched: Space, table: Table, devices: Sequence[str]) -> tuple[Point, ...]:
    """The table's candidates as records, in its order."""
    return tuple(_point(searched, table, index, devices) for index in range(len(table)))


def least_violating(searched: Space, problem: Problem, table: Table, devices: Sequence[str]) -> tuple[Point, ...]:
    """The candidates that miss the bounds least, nearest first, each with what it misses."""
    nearest = table.rows(np.argsort(problem.violation(table), kind="stable")[:NEAREST])
    found = points(searched, nearest, devices)
    return tuple(replace(point, misses=_misses(problem, nearest, index)) for index, point in enumerate(found))


def reference_points(
    searched: Space, problem: Problem, evaluate: Evaluator, front: Table, devices: Sequence[str]
) -> tuple[Point, ...]:
    """The published networks of the space, each with the points of the front that beat it."""
    known = dict(searched.published())
    if not known:
        return ()
    table = evaluate(np.array(list(known.values())))
    names = [searched.decode(vector).name for vector in front.vectors]
    values, rivals = problem.minimised(table), problem.minimised(front)
    found = points(searched, table, devices)
    return tuple(
        replace(point, network=name, dominated_by=tuple(names[rival] for rival in dominators(value, rivals)))
        for name, point, value in zip(known, found, values, strict=True)
    )


def summarise(problem: Problem, trace: Trace, question: Mapping[str, Any], searched: Space) -> Summary:
    """How the search went."""
    chosen = problem.front(trace.archive)
    named = None
    if len(chosen):
        middle = chosen[knee(problem.minimised(trace.archive.rows(chosen)))]
        named = searched.decode(trace.archive.vectors[middle]).name
    return Summary(
        question=question,
        size=searched.size,
        evaluated=len(trace.archive),
        feasible=int((problem.violation(trace.archive) == 0).sum()),
        in_range=int(trace.archive.columns["in_range"].sum()),
        generations=len(trace.generation_sizes),
        stopped_by=trace.stopped_by,
        hypervolume=tuple(round(share, 6) for share in hypervolume_history(problem, trace)),
        knee=named,
    )


def write_results(
    directory: Path,
    searched: Space,
    trace: Trace,
    front: Sequence[Point],
    nearest: Sequence[Point],
    references: Sequence[Point],
    summary: Summary,
    surrogates: Sequence[Mapping[str, Any]],
) -> None:
    """Write ``front.json``, ``front.csv``, ``evaluated.csv`` and ``profile.txt``."""
    document = {
        "summary": asdict(summary),
        "points": [point.to_dict() for point in front],
        "nearest": [point.to_dict() for point in nearest],
        "references": [point.to_dict() for point in references],
        "surrogates": list(surrogates),
    }
    _replace_file(directory / "front.json", json.dumps(document, indent=1) + "\n")
    _write_csv(directory / "front.csv", map(_flat, front))
    _write_csv(directory / "evaluated.csv", _evaluated(searched, trace.archive))
    _replace_file(directory / "profile.txt", "".join(f"zoo:{point.network}\n" for point in front))


def _point(searched: Space, table: Table, index: int, devices: Sequence[str]) -> Point:
    candidate = searched.decode(table.vectors[index])
    row = {name: column[index].item() for name, column in table.columns.items()}
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
        estimates=tuple(_estimates(candidate.name, row, devices)),
    )


def _estimates(network: str, row: Mapping[str, float], devices: Sequence[str]) -> Iterable[Estimate]:
    for device in devices:
        for metric in METRICS.values():
            column = f"{metric.name}@{device}"
            if column in row:
                yield Estimate(
                    network=network,
                    device=device,
                    metric=metric.name,
                    value=row[column],
                    low=row[f"{column}:low"],
                    high=row[f"{column}:high"],
                    unit=metric.unit,
                    predictor=device,
                    in_range=bool(row[f"{column}:in_range"]),
                )


def _misses(problem: Problem, table: Table, index: int) -> tuple[str, ...]:
    one = table.rows(np.array([index]))
    missed = [
        f"{constraint}: {constraint.quantity.of(one.columns)[0]:.4g}"
        for constraint in problem.constraints
        if constraint.violation(one.columns)[0] > 0
    ]
    if problem.require_in_range and not one.columns["in_range"][0]:
        missed.append("unlike the networks that were measured")
    return tuple(missed)


def _flat(point: Point) -> dict[str, Any]:
    estimates = {
        f"{estimate.metric}@{estimate.device}{suffix}": number
        for estimate in point.estimates
        for suffix, number in (("", estimate.value), (":low", estimate.low), (":high", estimate.high))
    }
    return {
        "network": point.network,
        "family": point.family,
        **{f"accuracy{end}": value for end, value in _accuracy_columns(point)},
        "accuracy_provenance": point.accuracy_provenance,
        "params": point.params,
        "macs": point.macs,
        **estimates,
        "in_range": point.in_range,
    }


def _accuracy_columns(point: Point) -> tuple[tuple[str, float], ...]:
    return ("", point.accuracy), (":low", point.accuracy_low), (":high", point.accuracy_high)


def _evaluated(searched: Space, table: Table) -> Iterable[dict[str, Any]]:
    shown: Columns = {name: column for name, column in table.columns.items() if ":" not in name}
    for index, vector in enumerate(table.vectors):
        numbers = {name: f"{column[index]:.6g}" for name, column in shown.items()}
        yield {"network": searched.decode(vector).name, **numbers, "accuracy_provenance": table.provenance[index]}


def _write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = StringIO()
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    _replace_file(path, text.getvalue())


def _replace_file(path: Path, text: str) -> None:
    """Write beside the old file and then in its place."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)


def surrogate_cards(device: str, surrogates: Any) -> list[dict[str, Any]]:
    """What the surrogates of a device say of themselves, for the report; empty where they do not."""
    return [{"device": device, **card} for card in getattr(surrogates, "search_cards", list)()]
