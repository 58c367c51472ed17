"""The command line: each command parses its arguments, calls one library function and prints what comes back.

Tables and messages are for people; with ``--json`` standard output holds JSON alone. Progress and notes go to standard
error. Exit codes: 0 done; 2 the user's input is wrong (one message, no traceback); 1 anything else; 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from edgeperf import __version__
from edgeperf.cli import across, boards, data, layers, models, searching
from edgeperf.errors import EdgePerfError

_INTERRUPTED = 130

app = typer.Typer(
    name="edgeperf",
    help="Latency, power, energy and memory of a Keras CNN on an edge GPU, from the model file alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _room in (models, layers, across, boards, data, searching):
    _room.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Holds the options that come before the command."""


def main() -> None:
    """Run the command line; an `EdgePerfError` becomes one message on standard error and its exit code."""
    try:
        app()
    except EdgePerfError as error:
        print(f"edgeperf: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except SystemExit as ended:
        # Typer turns a KeyboardInterrupt into this exit code, without a word.
        if ended.code == _INTERRUPTED:
            print("edgeperf: interrupted; finished work is kept.", file=sys.stderr)  # noqa: T201
        raise
