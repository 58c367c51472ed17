"""A finished search → the files that hold its answer."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Self

from search.evaluation import Table
from search.front import knee
from search.loop import Problem, Trace, hypervolume_history
from search.points import Point, Points
from search.space import Space

FRONT = "front.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search found, as ``front.json`` holds it.

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
        front: ordered by the first objective.
        nearest: where the front is empty, the candidates that miss the bounds least.
        known: published networks of the space, with what beats them.
        surrogates: what the surrogates say of themselves.
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
    front: tuple[Point, ...]
    nearest: tuple[Point, ...]
    known: tuple[Point, ...]
    surrogates: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, question: Mapping[str, Any], problem: Problem, trace: Trace, points: Points) -> Self:
        """The answer that a finished search gives."""
        table = trace.archive.rows(problem.front(trace.archive))
        front = points.of(table)
        return cls(
            question=question,
            size=points.searched.size,
            evaluated=len(trace.archive),
            feasible=int((problem.violation(trace.archive) == 0).sum()),
            in_range=int(trace.archive.columns["in_range"].sum()),
            generations=len(trace.generation_sizes),
            stopped_by=trace.stopped_by,
            hypervolume=tuple(round(share, 6) for share in hypervolume_history(problem, trace)),
            knee=front[knee(problem.minimised(table))].network if front else None,
            front=front,
            nearest=() if front else points.nearest(trace.archive),
            known=points.known(table),
            surrogates=tuple(points.surrogates),
        )

    def to_dict(self) -> dict[str, Any]:
        """As ``front.json`` holds it."""
        summary = ("question", "size", "evaluated", "feasible", "in_range", "generations", "stopped_by", "hypervolume")
        return {
            "summary": {name: getattr(self, name) for name in (*summary, "knee")},
            "points": [point.to_dict() for point in self.front],
            "nearest": [point.to_dict() for point in self.nearest],
            "references": [point.to_dict() for point in self.known],
            "surrogates": list(self.surrogates),
        }


def write_results(directory: Path, searched: Space, trace: Trace, answer: Answer, models: Sequence[Path]) -> None:
    """Write ``front.json``, ``front.csv`` and ``evaluated.csv``, and ``profile.txt`` where models were exported."""
    replace_file(directory / FRONT, json.dumps(answer.to_dict(), indent=1) + "\n")
    replace_file(directory / "front.csv", _as_csv(map(_flat, answer.front)))
    replace_file(directory / "evaluated.csv", _as_csv(_evaluated(searched, trace.archive)))
    saved = [path for path in models if path.suffix == ".keras"]
    if saved:
        replace_file(directory / "profile.txt", "".join(f"{path}\n" for path in saved))


def _flat(point: Point) -> dict[str, Any]:
    estimates = {
        f"{estimate.metric}@{estimate.device}{end}": number
        for estimate in point.estimates
        for end, number in (("", estimate.value), (":low", estimate.low), (":high", estimate.high))
    }
    return {
        "network": point.network,
        "family": point.family,
        "accuracy": point.accuracy,
        "accuracy:low": point.accuracy_low,
        "accuracy:high": point.accuracy_high,
        "accuracy_provenance": point.accuracy_provenance,
        "params": point.params,
        "macs": point.macs,
        **estimates,
        "in_range": point.in_range,
    }


def _evaluated(searched: Space, table: Table) -> Iterable[dict[str, Any]]:
    shown = {name: column for name, column in table.columns.items() if ":" not in name}
    for index, vector in enumerate(table.vectors):
        numbers = {name: f"{column[index]:.6g}" for name, column in shown.items()}
        yield {"network": searched.decode(vector).name, **numbers, "accuracy_provenance": table.provenance[index]}


def _as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    text = StringIO()
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()


def replace_file(path: Path, text: str) -> None:
    """Write beside the old file and then in its place."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
