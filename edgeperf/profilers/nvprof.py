"""CSV output of nvprof → GPU kernels with their times.

nvprof writes ``==pid==`` remarks, a header, then a row of units that varies; versions before CUDA 8 put the unit into
each cell instead. Kernels are "GPU activities" without copies and fills (``[CUDA mem...]``). It refuses GPUs of
compute capability 8.0 and later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from edgeperf.errors import InvalidInput
from edgeperf.profilers.kernels import NANOSECONDS_PER, Kernel, number, refusal, rows_after

METHOD = "sum of GPU kernel times (nvprof)"
_HEADERS = ("Type", "Time(%)", "Start")
_TIME_CELL = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)(ns|us|ms|s)", re.ASCII)


def parse_kernels(text: str) -> tuple[Kernel, ...]:
    """Kernels of a summary (``--print-gpu-summary``) or, one row per call, of a trace (``--print-gpu-trace``).

    Raises:
        InvalidInput: the text holds no table of GPU activities.
    """
    header, rows = rows_after(text, _HEADERS, tool="nvprof")
    time_column = "Duration" if "Duration" in header else "Time"
    if time_column not in header or "Name" not in header:
        raise InvalidInput(f"nvprof's table has no column {time_column!r} and 'Name', but {header}.")
    units: Mapping[str, str] = {}
    if rows and not _cell(header, rows[0], "Name"):
        units = dict(zip(header, rows.pop(0), strict=True))
    records = [dict(zip(header, row, strict=True)) for row in rows]
    activities = [record for record in records if record.get("Type", "GPU activities") == "GPU activities"]
    if not activities:
        raise InvalidInput(f"nvprof's table holds no GPU activities, only other calls. {refusal(text)}")
    return tuple(_kernel(record, time_column, units) for record in activities if not _moves_memory(record["Name"]))


def remarks(text: str) -> tuple[str, ...]:
    """What nvprof warned of, such as records that it lost.

    >>> remarks("==7== Warning: 12 records have invalid timestamps.")
    ('12 records have invalid timestamps.',)
    """
    return tuple(re.findall(r"^=+(?:[0-9]+=+)? Warning: (.*)", text, re.MULTILINE))


def _cell(header: list[str], row: list[str], column: str) -> str:
    return row[header.index(column)]


def _moves_memory(name: str) -> bool:
    return name.startswith("[CUDA mem")


def _kernel(record: Mapping[str, str], time_column: str, units: Mapping[str, str]) -> Kernel:
    calls = number(record["Calls"], tool="nvprof") if "Calls" in record else 1
    return Kernel(
        name=record["Name"], calls=int(calls), total_ns=_nanoseconds(record[time_column], units.get(time_column))
    )


def _nanoseconds(cell: str, unit: str | None) -> float:
    """The cell's time; the unit stands in the units row or, in old versions, in the cell."""
    if unit in NANOSECONDS_PER:
        return number(cell, tool="nvprof") * NANOSECONDS_PER[unit]
    in_cell = _TIME_CELL.fullmatch(cell)
    if in_cell is None:
        raise InvalidInput(f"nvprof's time {cell!r} has no unit. Record again with --normalized-time-unit us.")
    return number(in_cell[1], tool="nvprof") * NANOSECONDS_PER[in_cell[2]]
