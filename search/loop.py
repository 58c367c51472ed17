"""A problem and an optimiser → every candidate seen, generation by generation.

::

    generation 0      1      2           n
    ask ─► rate ─► tell ─► checkpoint ─► ask ...   each draw seeded with (seed, generation)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from search import checkpoint
from search.evaluation import Table
from search.front import hypervolume, nondominated, scaled
from search.objectives import Constraint, Quantity
from search.optimiser import Array, Optimiser
from search.space import Vectors

REFERENCE = 1.1
"""Reference point of hypervolumes, per objective, where 0 and 1 are the ends of the front's ranges."""

_STALLED_GAIN = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is minimised under which bounds.

    Attributes:
        require_in_range: whether candidates unlike all measured networks are infeasible.
    """

    objectives: tuple[Quantity, ...]
    constraints: tuple[Constraint, ...]
    require_in_range: bool

    def minimised(self, table: Table) -> Array:
        """Objectives to minimise: shape (candidates, objectives)."""
        return np.column_stack([quantity.minimised(table.columns) for quantity in self.objectives])

    def violation(self, table: Table) -> Array:
        """0 for feasible candidates, else the sum of the shares by which bounds are missed: shape (candidates,)."""
        total = np.zeros(len(table))
        for constraint in self.constraints:
            total += constraint.violation(table.columns)
        if self.require_in_range:
            total += 1.0 - table.columns["in_range"]
        return total

    def front(self, table: Table) -> npt.NDArray[np.intp]:
        """Indices of the feasible candidates that no other feasible one beats, by the first objective."""
        feasible = np.flatnonzero(self.violation(table) == 0)
        values = self.minimised(table)[feasible]
        kept = feasible[nondominated(values)]
        return kept[np.argsort(self.minimised(table)[kept, 0], kind="stable")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a search ends, whichever comes first.

    Attributes:
        generations: after so many.
        seconds: after the generation during which so many have passed; None for no such limit.
        stalled_generations: after so many generations in which the front's hypervolume grew by less than a thousandth;
            None for no such limit.
        evaluations: after so many candidates; None for no such limit.
    """

    generations: int
    seconds: float | None = None
    stalled_generations: int | None = None
    evaluations: int | None = None

    def __post_init__(self) -> None:
        if self.generations < 1:
            raise InvalidInput(f"generations must be at least 1, got {self.generations}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a search saw.

    Attributes:
        archive: every candidate in the order of evaluation.
        generation_sizes: how many candidates each generation had.
        stopped_by: why it ended.
    """

    archive: Table
    generation_sizes: tuple[int, ...]
    stopped_by: str


def evolve(
    problem: Problem,
    optimiser: Optimiser,
    evaluate: Callable[[Vectors], Table],
    limits: Limits,
    *,
    seed: int,
    question: Mapping[str, Any],
    directory: Path | None = None,
    resume: bool = False,
    on_generation: Callable[[int, Table], None] = lambda _generation, _archive: None,
) -> Trace:
    """Searches until a limit is reached; with a directory, every generation ends in a checkpoint.

    Args:
        problem: objectives and bounds.
        optimiser: a new one; it is restored where the search goes on.
        evaluate: vectors → table.
        limits: when to end.
        seed: of all draws.
        question: what a checkpoint must match to be resumed.
        directory: where checkpoints go.
        resume: go on from the directory's checkpoint, if there is one.
        on_generation: called with the number of finished generations and the archive.
    """
    begun = time.monotonic()
    archive, sizes = _restored(optimiser, question, directory if resume else None)
    while not (reason := _reason_to_stop(problem, archive, sizes, limits, time.monotonic() - begun)):
        draws = np.random.default_rng((seed, len(sizes)))
        vectors = optimiser.ask(draws)
        if limits.evaluations is not None:
            vectors = vectors[: limits.evaluations - sum(sizes)]
        if not len(vectors):
            reason = "every network of the space was seen"
            break
        table = evaluate(vectors)
        optimiser.tell(vectors, problem.minimised(table), problem.violation(table), draws)
        archive = table if archive is None else archive.joined(table)
        sizes = (*sizes, len(table))
        if directory is not None:
            checkpoint.save(
                checkpoint.Checkpoint(
                    question=question,
                    generation=len(sizes),
                    archive=archive,
                    generation_sizes=sizes,
                    optimiser=optimiser.state(),
                ),
                directory,
            )
        on_generation(len(sizes), archive)
    if archive is None:
        raise InvalidInput("The space holds no network.")
    return Trace(archive=archive, generation_sizes=sizes, stopped_by=reason)


def hypervolume_history(problem: Problem, trace: Trace) -> list[float]:
    """Share of the final front's hypervolume after each generation, all scaled by the final front's ranges."""
    final = problem.minimised(trace.archive.rows(problem.front(trace.archive)))
    if not len(final):
        return [0.0] * len(trace.generation_sizes)
    low, high = final.min(axis=0), final.max(axis=0)
    reference = np.full(final.shape[1], REFERENCE)
    values, feasible = problem.minimised(trace.archive), problem.violation(trace.archive) == 0
    covered, front, start = [], final[:0], 0
    for size in trace.generation_sizes:
        added = slice(start, start + size)
        front = np.concatenate((front, values[added][feasible[added]]))
        front, start = front[nondominated(front)], start + size
        covered.append(hypervolume(scaled(front, low, high), reference))
    return [share / covered[-1] for share in covered]


def _restored(
    optimiser: Optimiser, question: Mapping[str, Any], directory: Path | None
) -> tuple[Table | None, tuple[int, ...]]:
    found = checkpoint.load(directory, question) if directory is not None else None
    if found is None:
        return None, ()
    optimiser.restore(found.optimiser)
    return found.archive, found.generation_sizes


def _reason_to_stop(
    problem: Problem, archive: Table | None, sizes: tuple[int, ...], limits: Limits, seconds: float
) -> str:
    """Why the search ends here; empty where it goes on."""
    if archive is None:
        return ""
    if len(sizes) >= limits.generations:
        return f"{limits.generations} generations"
    if limits.evaluations is not None and len(archive) >= limits.evaluations:
        return f"{limits.evaluations} evaluations"
    if limits.seconds is not None and seconds >= limits.seconds:
        return f"time limit of {limits.seconds:g} s"
    if limits.stalled_generations is not None and _stalled(problem, archive, sizes, limits.stalled_generations):
        return f"hypervolume stalled for {limits.stalled_generations} generations"
    return ""


def _stalled(problem: Problem, archive: Table, sizes: tuple[int, ...], generations: int) -> bool:
    if len(sizes) <= generations:
        return False
    history = hypervolume_history(problem, Trace(archive=archive, generation_sizes=sizes, stopped_by=""))
    return history[-1] > 0 and history[-1] - history[-1 - generations] < _STALLED_GAIN
