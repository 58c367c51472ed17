"""A question → a searched front with its files; the one call behind ``edgeperf search``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.report import write_search_report
from search.accuracy import AccuracySource, published_accuracy
from search.checkpoint import NAME as CHECKPOINT
from search.describe import describe
from search.evaluation import Evaluator, Surrogates, Table
from search.loop import Limits, evolve
from search.optimiser import Setting, optimiser
from search.points import Point, Points
from search.question import Question
from search.results import Answer, write_results

Progress = Callable[[int, Table], None]

SIXTY_GENERATIONS = Limits(generations=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search found.

    Attributes:
        points: the front, ordered by the first objective; empty where nothing is feasible.
        nearest: where nothing is feasible, the candidates that miss the bounds least, each with what it misses.
        answer: how the search went, with all that the report shows.
        report: the HTML page.
        models: exported ``.keras`` and ``.onnx`` files.
    """

    points: tuple[Point, ...]
    nearest: tuple[Point, ...]
    answer: Answer
    report: Path
    models: tuple[Path, ...]


def run(
    question: Question,
    *,
    out: str | Path,
    limits: Limits = SIXTY_GENERATIONS,
    export: int = 0,
    onnx: bool = False,
    resume: bool = False,
    progress: bool = True,
    accuracy: AccuracySource | None = None,
    surrogates: Mapping[str, Surrogates] | None = None,
) -> Result:
    """Searches and writes front, report and, where asked, models into `out`.

    Args:
        question: what to search; the same question gives the same files.
        out: directory for the results; made if there is none.
        limits: when to end.
        export: how many of the front's networks to build and save, spread evenly; they are untrained.
        onnx: save ONNX files as well.
        resume: go on from the checkpoint in `out`, if there is one.
        progress: show a progress bar on standard error.
        accuracy: another source of accuracies than published ImageNet results.
        surrogates: predictors per device, in place of the shipped ones.

    Raises:
        InvalidInput: something asked for does not exist or contradicts itself; the message says what to do.
    """
    searched, problem = question.space(), question.problem()
    directory = _directory(Path(out), resume=resume)
    source = accuracy or published_accuracy()
    evaluate = Evaluator(searched, surrogates if surrogates is not None else _shipped(question), source)
    setting = Setting(
        space=searched,
        population=question.population,
        objectives=len(problem.objectives),
        warm_start=question.first_networks(searched),
        describe=lambda vectors: describe(searched, evaluate, vectors),
        foresee=lambda vectors: problem.minimised(evaluate.costs(vectors)),
    )
    asked = question.to_dict(searched, source.description)
    with _bar(limits.generations, shown=progress) as advance:
        trace = evolve(
            problem,
            optimiser(question.algorithm, setting),
            evaluate,
            limits,
            seed=question.seed,
            question=asked,
            directory=directory,
            resume=resume,
            on_generation=advance,
        )
    answer = Answer.of(asked, problem, trace, Points(searched, problem, evaluate))
    models: tuple[Path, ...] = ()
    if export and answer.front:
        from search.export import export_models

        chosen = trace.archive.vectors[problem.front(trace.archive)]
        models = export_models(searched, chosen, export, directory / "models", onnx=onnx)
    write_results(directory, searched, trace, answer, models)
    report = write_search_report(directory)
    return Result(points=answer.front, nearest=answer.nearest, answer=answer, report=report, models=models)


def _shipped(question: Question) -> dict[str, Surrogates]:
    from edgeperf.surrogates import load

    return {device: load(device) for device in dict.fromkeys(question.devices)}


def _directory(directory: Path, *, resume: bool) -> Path:
    if directory.exists() and not directory.is_dir():
        raise InvalidInput(f"{directory} is a file; --out names a directory for the results.")
    directory.mkdir(parents=True, exist_ok=True)
    if not resume:
        (directory / CHECKPOINT).unlink(missing_ok=True)
    return directory


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
