"""Results → standard output, as JSON alone or as a table for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer

_UNLIMITED = 10_000
"""Characters in a line where no terminal sets a limit."""


def print_json(value: Any) -> None:
    """One JSON document on standard output; numbers that are not finite become null, which JSON can hold."""
    typer.echo(json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False, default=list))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """A table on standard output; the first `left` columns are text, the others numbers aligned to the right.

    Redirected output is never cut to a terminal's width.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=_UNLIMITED)
    console.print(table)


def note(text: str) -> None:
    """A remark for people, on standard error so that it never mixes with results."""
    typer.echo(text, err=True)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
