"""``nsys stats --report cuda_gpu_kern_sum`` → GPU kernels with their times.

Reads the CSV form and the table that nsys prints by default. The report's remarks come before the header; kernel names
are quoted in CSV and contain commas.
"""

from __future__ import annotations

import re

from edgeperf.errors import InvalidInput
from edgeperf.profilers.kernels import Kernel, number, rows_after

METHOD = "sum of GPU kernel times (nsys)"
_CALLS = "Instances"
_PRINTED_REPORT = re.compile(r"CUDA (?:GPU )?Kernel (?:Summary|Statistics).*?:\n\s*\n(.*?)(?:\n\s*\n|\Z)", re.DOTALL)


def parse_kernels(text: str) -> tuple[Kernel, ...]:
    """Kernels of the report.

    Raises:
        InvalidInput: the text holds no summary of GPU kernels.
    """
    printed = _PRINTED_REPORT.search(text)
    if printed:
        return _parse_printed(printed[1])
    header, rows = rows_after(text, ("Time (%)", "Time(%)"), tool="nsys")
    total = next((column for column in header if column.startswith("Total Time")), None)
    if total is None or _CALLS not in header or "Name" not in header:
        raise InvalidInput(f"nsys's table is no summary of kernels: its columns are {header}. Use cuda_gpu_kern_sum.")
    records = [dict(zip(header, row, strict=True)) for row in rows]
    return tuple(_kernel(record["Name"], record[_CALLS], record[total]) for record in records)


def _parse_printed(report: str) -> tuple[Kernel, ...]:
    """Rows of the table for people: columns are as wide as the dashes under the header."""
    lines = [line for line in report.splitlines() if line.strip()]
    dashes = lines[1] if len(lines) > 1 else ""
    spans = [match.span() for match in re.finditer(r"-+", dashes)]
    names = [lines[0][start:end].strip() for start, end in spans]
    total = next((n for n, name in enumerate(names) if name.startswith("Total Time")), None)
    if total is None or _CALLS not in names:
        raise InvalidInput(f"nsys's table is no summary of kernels: its columns are {names}. Use cuda_gpu_kern_sum.")
    cells = [[row[start:end].strip() for start, end in spans] for row in lines[2:]]
    return tuple(_kernel(row[-1], row[names.index(_CALLS)], row[total]) for row in cells)


def _kernel(name: str, calls: str, total_ns: str) -> Kernel:
    return Kernel(name=name, calls=int(number(calls, tool="nsys")), total_ns=number(total_ns, tool="nsys"))
