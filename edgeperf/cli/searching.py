"""Commands that search variants and show results: search, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from edgeperf.cli.options import Devices, OutFolder, Resume, Seed, Surrogates
from edgeperf.cli.output import note
from edgeperf.errors import InvalidInput


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(search)
    app.command()(report)


def search(
    space: Annotated[
        list[str],
        typer.Option(metavar="SPACE", help="A family, `union`, or a user's own file; repeat to search several."),
    ],
    device: Devices,
    seed: Seed,
    out: OutFolder,
    objective: Annotated[
        list[str] | None, typer.Option(metavar="OBJECTIVE", help="What to trade; default: accuracy and energy_mj.")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(metavar="BOUND", help="A bound such as 'latency_ms<=30'; may be repeated.")
    ] = None,
    generations: Annotated[int, typer.Option(min=1, metavar="N", help="Generations at most.")] = 60,
    population: Annotated[int, typer.Option(min=4, metavar="N", help="Candidates per generation.")] = 100,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="auto, nsga2, nsga3, assisted, random, regularised-evolution or optuna-nsga2."
        ),
    ] = "auto",
    each_device: Annotated[
        bool, typer.Option("--each-device", help="One objective per device instead of the worst.")
    ] = False,
    out_of_range: Annotated[
        bool, typer.Option("--out-of-range", help="Also keep networks outside what the surrogates were trained on.")
    ] = False,
    warm_start: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A zoo variant to start from; may be repeated.")
    ] = None,
    export: Annotated[
        int, typer.Option(min=0, metavar="N", help="Save this many networks of the front as .keras files.")
    ] = 0,
    onnx: Annotated[bool, typer.Option("--onnx", help="Save them as ONNX files too.")] = False,
    time_limit_s: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop after so many seconds.")] = None,
    stalled_generations: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after so many generations without gain in hypervolume.")
    ] = None,
    accuracy: Annotated[
        str, typer.Option(metavar="SOURCE", help="published, score, or your Python file with accuracy(model, genes).")
    ] = "published",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers train for --accuracy FILE.")
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option(metavar="USER@HOST", help="Then measure the exported networks on this board, the first --device."),
    ] = None,
    surrogates: Surrogates = None,
    resume: Resume = False,
) -> None:
    """Search CNN variants for the Pareto front, for example of accuracy against energy."""
    from edgeperf.surrogates import load
    from search import Limits, Question, run
    from search.accuracy_sources import accuracy_source

    if verify and not export:
        raise InvalidInput("--verify measures exported networks; say how many with --export.")

    question = Question(
        spaces=space,
        devices=device,
        seed=seed,
        objectives=tuple(objective or ("accuracy", "energy_mj")),
        constraints=tuple(constraint or ()),
        algorithm=algorithm,
        population=population,
        each_device=each_device,
        allow_out_of_range=out_of_range,
        warm_start=tuple(warm_start or ()),
    )
    limits = Limits(generations=generations, seconds=time_limit_s, stalled_generations=stalled_generations)
    predictors = {name: load(name, surrogates) for name in device}
    source = accuracy_source(accuracy, out=out, scheduler=scheduler)
    result = run(
        question,
        out=out,
        limits=limits,
        export=export,
        onnx=onnx,
        resume=resume,
        accuracy=source,
        surrogates=predictors,
    )
    note(f"{len(result.points)} networks on the front, {len(result.models)} model files written.")
    if not result.points:
        closest = result.nearest[0]
        note(
            f"No candidate meets every constraint. The closest, {closest.network}: {'; '.join(closest.misses)}. "
            "The report lists the next ones. Loosen a bound, search a larger space, or allow networks that are unlike "
            "what was measured with --out-of-range."
        )
    if verify and result.points:
        _measure(out, result.models, device[0], verify, resume=resume)
    note("The report is here:")
    typer.echo(result.report)


def _measure(out: Path, models: Sequence[Path], device: str, board: str, *, resume: bool) -> None:
    """Measures exported networks on a board and puts the results into the search's report."""
    from edgeperf.profilers import profile
    from search.verification import verify

    saved = [str(path) for path in models if path.suffix == ".keras"]
    summary = profile(saved, device=device, boards=[board], out=out / "measured", resume=resume)
    if summary.dataset is None:
        note("Nothing was measured; the page of the campaign says why.")
        return
    found = verify(out, summary.dataset, device=device)
    note(f"{found.networks} networks measured; mean errors of the predictions in percent: {dict(found.mape)}.")


def report(folder: Annotated[Path, typer.Argument(help="A folder that `edgeperf search` wrote.")]) -> None:
    """Write the report of a finished search again."""
    from edgeperf.report import write_search_report

    typer.echo(write_search_report(folder))
