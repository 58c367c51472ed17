"""What a user asks for → a searched front with its files; the one call behind ``edgeperf search``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.report import write_search_report
from search.accuracy import AccuracySource, published_accuracy
from search.checkpoint import NAME as CHECKPOINT
from search.describe import describe
from search.evaluation import Evaluator, Surrogates, Table
from search.loop import Limits, Problem, Trace, evolve
from search.objectives import constraints as read_constraints
from search.objectives import objectives as read_objectives
from search.optimiser import Setting, optimiser
from search.results import (
    Point,
    Summary,
    least_violating,
    points,
    reference_points,
    summarise,
    surrogate_cards,
    write_results,
)
from search.space import Space, Vectors, space

if TYPE_CHECKING:
    from collections.abc import Iterator

Progress = Callable[[int, Table], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search found.

    Attributes:
        points: the front, ordered by the first objective; empty where nothing is feasible.
        nearest: where nothing is feasible, the candidates that miss the bounds least, each with what it misses.
        summary: how the search went.
        report: the HTML page.
        models: exported ``.keras`` and ``.onnx`` files.
    """

    points: tuple[Point, ...]
    nearest: tuple[Point, ...]
    summary: Summary
    report: Path
    models: tuple[Path, ...]


def run(
    *,
    spaces: Sequence[str],
    devices: Sequence[str],
    seed: int,
    out: str | Path,
    objectives: Sequence[str] = ("accuracy", "energy_mj"),
    constraints: Sequence[str] = (),
    generations: int = 60,
    population: int = 100,
    algorithm: str = "auto",
    each_device: bool = False,
    allow_out_of_range: bool = False,
    warm_start: Sequence[str] = (),
    export: int = 0,
    onnx: bool = False,
    resume: bool = False,
    time_limit_s: float | None = None,
    stalled_generations: int | None = None,
    progress: bool = True,
    accuracy: AccuracySource | None = None,
    surrogates: Mapping[str, Surrogates] | None = None,
) -> Result:
    """Searches the spaces and writes front, report and, where asked, models into `out`.

    Args:
        spaces: names of families, ``union``, or paths of users' own files; together they are one space.
        devices: device names; a metric without a device means the worst of them.
        seed: of every draw; the same seed gives the same files.
        out: directory for the results; made if there is none.
        objectives: names as in `search.objectives`.
        constraints: e.g. ``"latency_ms<=30"``.
        generations: how many at most.
        population: candidates per generation.
        algorithm: one of `search.optimiser.OPTIMISERS`, or ``auto``.
        each_device: make a metric one objective per device.
        allow_out_of_range: let candidates in that are unlike everything that was measured.
        warm_start: names of published networks to begin with; ``all`` for all that the spaces hold.
        export: how many of the front's networks to build and save, spread evenly; they are untrained.
        onnx: save ONNX files as well.
        resume: go on from the checkpoint in `out`, if there is one.
        time_limit_s: stop after the generation in which so many seconds have passed.
        stalled_generations: stop after so many generations without progress.
        progress: show a progress bar on standard error.
        accuracy: another source of accuracies than published ImageNet results.
        surrogates: predictors per device, in place of the shipped ones.

    Raises:
        InvalidInput: something asked for does not exist or contradicts itself; the message says what to do.
    """
    searched = space(spaces)
    problem = Problem(
        objectives=read_objectives(objectives, devices, each_device=each_device),
        constraints=read_constraints(constraints, devices),
        require_in_range=not allow_out_of_range,
    )
    _check_counts(population=population, generations=generations, export=export)
    directory = _directory(Path(out), resume=resume)
    source = accuracy or published_accuracy()
    predictors = surrogates if surrogates is not None else _shipped(devices)
    evaluate = Evaluator(searched, predictors, source)
    known = dict(searched.published())
    setting = Setting(
        space=searched,
        population=population,
        objectives=len(problem.objectives),
        warm_start=_warm_start(known, warm_start, searched),
        describe=lambda vectors: describe(searched, evaluate, vectors),
    )
    question = {
        "spaces": list(spaces),
        "genes": _genes(searched),
        "devices": list(devices),
        "objectives": list(objectives),
        "constraints": list(constraints),
        "algorithm": algorithm,
        "population": population,
        "seed": seed,
        "each_device": each_device,
        "allow_out_of_range": allow_out_of_range,
        "warm_start": list(warm_start),
        "accuracy": source.description,
    }
    limits = Limits(generations=generations, seconds=time_limit_s, stalled_generations=stalled_generations)
    with _bar(generations, shown=progress) as advance:
        trace = evolve(
            problem,
            optimiser(algorithm, setting),
            evaluate,
            limits,
            seed=seed,
            question=question,
            directory=directory,
            resume=resume,
            on_generation=advance,
        )
    cards = [row for device, predictor in predictors.items() for row in surrogate_cards(device, predictor)]
    return _finished(
        searched, problem, trace, evaluate, question, directory, surrogates=cards, export=export, onnx=onnx
    )


def _finished(
    searched: Space,
    problem: Problem,
    trace: Trace,
    evaluate: Evaluator,
    question: Mapping[str, Any],
    directory: Path,
    *,
    surrogates: Sequence[Mapping[str, Any]],
    export: int,
    onnx: bool,
) -> Result:
    chosen = problem.front(trace.archive)
    front = points(searched, trace.archive.rows(chosen), question["devices"])
    nearest = () if front else least_violating(searched, problem, trace.archive, question["devices"])
    references = reference_points(searched, problem, evaluate, trace.archive.rows(chosen), question["devices"])
    summary = summarise(problem, trace, question, searched)
    models: tuple[Path, ...] = ()
    if export and front:
        from search.export import export_models

        models = export_models(searched, trace.archive.vectors[chosen], export, directory / "models", onnx=onnx)
    write_results(directory, searched, trace, front, nearest, references, summary, surrogates)
    report = write_search_report(directory)
    return Result(points=front, nearest=nearest, summary=summary, report=report, models=models)


def _shipped(devices: Sequence[str]) -> dict[str, Surrogates]:
    from edgeperf.surrogates import load

    return {device: load(device) for device in dict.fromkeys(devices)}


def _check_counts(*, population: int, generations: int, export: int) -> None:
    for name, value, least in (("population", population, 4), ("generations", generations, 1), ("export", export, 0)):
        if value < least:
            raise InvalidInput(f"{name} must be at least {least}, got {value}.")


def _directory(directory: Path, *, resume: bool) -> Path:
    if directory.exists() and not directory.is_dir():
        raise InvalidInput(f"{directory} is a file; --out names a directory for the results.")
    directory.mkdir(parents=True, exist_ok=True)
    if not resume:
        (directory / CHECKPOINT).unlink(missing_ok=True)
    return directory


def _warm_start(known: Mapping[str, Vectors], names: Sequence[str], searched: Space) -> Vectors:
    wanted = list(known) if "all" in names else list(names)
    for name in wanted:
        if name not in known:
            raise InvalidInput(
                f"{searched.name} holds no known network {name!r} to start from. "
                f"It holds: {', '.join(known) or 'none'}."
            )
    rows = [known[name] for name in wanted]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(searched.counts))


def _genes(searched: Space) -> dict[str, dict[str, list[Any]]]:
    """Every family's genes with their values, so that a checkpoint of an edited space is told apart."""
    return {family.name: {gene.name: list(gene.values) for gene in family.genes} for family in searched.families}


@contextmanager
def _bar(generations: int, *, shown: bool) -> Iterator[Progress]:
    """A progress bar on standard error that counts generations."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("Searching", total=generations)
        yield lambda done, archive: bar.update(
            task, completed=done, description=f"Searching, {len(archive):,} networks seen"
        )
