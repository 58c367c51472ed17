"""Rows of GPU kernels → their summed time: what nvprof and nsys readers share."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeperf.errors import InvalidInput

NANOSECONDS_PER = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One row of a summary of kernels.

    Attributes:
        name: of the kernel, demangled.
        calls: how often it ran.
        total_ns: time of all calls together.
    """

    name: str
    calls: int
    total_ns: float


def total_ms(kernels: Iterable[Kernel]) -> float:
    """Time of all kernels together in ms.

    Raises:
        InvalidInput: there is no kernel; a network that ran none was not measured, it did not take 0 ms.

    >>> total_ms([Kernel(name="a", calls=2, total_ns=1.5e6), Kernel(name="b", calls=1, total_ns=5e5)])
    2.0
    """
    times = [kernel.total_ns for kernel in kernels]
    if not times:
        raise InvalidInput("The profiler saw no GPU kernel. Did the network run on the CPU?")
    return sum(times) / NANOSECONDS_PER["ms"]


def rows_after(text: str, is_header: Sequence[str], *, tool: str) -> tuple[list[str], list[list[str]]]:
    """Column names and rows of the first CSV table whose header begins with one of `is_header`.

    Tools write their own remarks before the header, and blank lines or another table behind the rows. A name in the
    last column may hold commas without being quoted.

    Raises:
        InvalidInput: there is no such table, or a row is cut off: a sum without it would be too small.
    """
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    start = next((n for n, line in enumerate(lines) if line.lstrip('"').startswith(tuple(is_header))), None)
    if start is None:
        raise InvalidInput(f"No table of {tool} in {len(lines)} line(s). {refusal(text)}")
    table = lines[start : next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))]
    try:
        header, *rows = csv.reader(io.StringIO("\n".join(table)), strict=True)
    except csv.Error as problem:
        raise InvalidInput(f"The table of {tool} is no CSV: {problem}. A full disk cuts the file short.") from None
    return header, [_fitted(row, header, tool=tool) for row in rows]


def _fitted(row: list[str], header: list[str], *, tool: str) -> list[str]:
    surplus = len(row) - len(header)
    if surplus > 0 and header[-1] == "Name":
        return [*row[: len(header) - 1], ",".join(row[len(header) - 1 :])]
    if surplus != 0:
        raise InvalidInput(
            f"A row of the table of {tool} has {len(row)} cells under {len(header)} columns: {','.join(row)[:120]!r}. "
            "A full disk cuts the file short."
        )
    return row


def number(cell: str, *, tool: str) -> float:
    """The cell's number.

    Raises:
        InvalidInput: it holds none.
    """
    try:
        return float(cell)
    except ValueError:
        raise InvalidInput(f"{cell!r} in the table of {tool} is no number. Was the file edited or cut?") from None


def refusal(text: str) -> str:
    """Why a profiler wrote no table, as far as its remarks tell, and what to do."""
    if "compute capability 8.0" in text:
        return "nvprof refuses this GPU (compute capability 8.0 or later): profile with nsys instead."
    return "Expected the CSV output of the tool with its header line; see its last lines for the reason."
