"""Commands about measured data and what is trained on them: data, train, evaluate, adapt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from edgeperf.cli.options import DataFolder, Device, Json, OutFolder, Seed, SomeDevices, SomeMetrics
from edgeperf.cli.output import note, print_json, print_table

Item = TypeVar("Item")

tables = typer.Typer(no_args_is_help=True, help="Measured tables: list, import, check.")


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.add_typer(tables, name="data")
    app.command()(train)
    app.command()(evaluate)
    app.command()(adapt)


@tables.command("list")
def list_tables() -> None:
    """Published tables that can be imported."""
    from edgeperf.datasets import TABLES

    print_table("Published tables", ("name", "holds"), ((table.name, table.holds) for table in TABLES.values()), left=2)


@tables.command("import")
def import_table(
    name: Annotated[str, typer.Argument(help="A name of `edgeperf data list`.")],
    source: Annotated[Path, typer.Argument(help="Folder with the published files.")],
    out: OutFolder,
) -> None:
    """Turn a published table into a dataset with a schema, provenance and checked rows."""
    from edgeperf.datasets import import_table as import_from

    dataset = import_from(name, source, out)
    note(f"{len(dataset.rows):,} rows imported.")
    typer.echo(out)


@tables.command("check")
def check(folder: Annotated[Path, typer.Argument(help="A dataset.")]) -> None:
    """Check every row of a dataset and summarise what it holds."""
    from edgeperf.datasets import check as summarise

    summary = summarise(folder)
    rows = ([str(value) for value in row] for row in summary.itertuples(index=False))
    print_table(f"{folder}: every row passed the checks", list(summary.columns), rows, left=3)


def train(
    data: DataFolder,
    seed: Seed,
    out: OutFolder,
    device: SomeDevices = None,
    metric: SomeMetrics = None,
    algorithm: Annotated[str, typer.Option(metavar="NAME", help="best, poly, svr, mlp, rf or xgboost.")] = "best",
    trials: Annotated[
        int, typer.Option(min=0, metavar="N", help="Optuna trials per target; 0 takes the stored settings.")
    ] = 0,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Database URL of the Optuna studies; a SQLite file if none.")
    ] = None,
) -> None:
    """Train one surrogate per device and metric; each comes with a card."""
    from edgeperf.surrogates import train as train_on

    written = train_on(
        data,
        out=out,
        seed=seed,
        devices=device,
        metrics=metric,
        algorithm=algorithm,
        trials=trials,
        storage=storage,
        track=_track("Training"),
    )
    for path in written:
        typer.echo(path)


def evaluate(
    data: DataFolder,
    device: SomeDevices = None,
    metric: SomeMetrics = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this algorithm; may be repeated.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file for every test row with its prediction.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit on the training rows, score the test rows of the splits NIS, NCV and NCA."""
    from edgeperf.surrogates import evaluate as evaluate_on

    scores = evaluate_on(
        data,
        devices=device,
        metrics=metric,
        algorithms=algorithm,
        predictions=predictions,
        track=_track("Evaluating"),
    )
    rows = [score.to_dict() for score in scores]
    if json:
        print_json({"rows": rows})
        return
    columns = (
        "device",
        "metric",
        "algorithm",
        "split",
        "n",
        "mape",
        "mape_low",
        "mape_high",
        "kendall_tau",
        "coverage90",
    )
    print_table(
        "Mean absolute percentage error on rows that no model was fitted or selected on, with 95 % intervals",
        columns,
        ([_cell(row[column]) for column in columns] for row in rows),
        left=4,
    )


def adapt(
    surrogate: Annotated[Path, typer.Argument(help="A trained surrogate (*.edgeperf).")],
    data: DataFolder,
    device: Device,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the adapted surrogate (*.edgeperf).")],
) -> None:
    """Fit a surrogate for another board from 10 to 50 measurements of it."""
    from edgeperf.surrogates import adapt as adapt_to

    adapted = adapt_to(surrogate, data, device=device, out=out)
    note(
        f"Fitted on {adapted.rows} measurements of {device}. Mean error on each of them, predicted from the others: "
        f"{adapted.left_out_mape:.1f} % (one factor on the source surrogate: {adapted.source_mape:.1f} %)."
    )
    if adapted.advice:
        note(f"Measuring these next would tell the most: {', '.join(adapted.advice)}.")
    typer.echo(adapted.path)


class _track:  # noqa: N801 - reads as a function
    """Passes the items of a long loop on and shows a progress bar with the time left on standard error."""

    def __init__(self, description: str) -> None:
        self._description = description

    def __call__(self, items: Iterable[Item]) -> Iterator[Item]:
        from rich.console import Console
        from rich.progress import track

        return iter(track(items, description=self._description, console=Console(stderr=True)))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
