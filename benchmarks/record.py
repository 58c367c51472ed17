"""Figures of a benchmark → ``results/NAME.json`` and ``results/NAME.md``, with what they are, machine and versions."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
_VERSIONS_OF = ("numpy", "scikit-learn", "pymoo", "optuna", "keras", "tensorflow", "xgboost")


def write_result(
    name: str, figures: Mapping[str, Any], *, about: str | None, table: Sequence[Mapping[str, Any]] = ()
) -> Path:
    """The JSON file's path, after writing it and, from `table`, a Markdown file beside it.

    Args:
        name: of the files.
        figures: what the JSON file holds.
        about: the benchmark's own documentation: which data, which split, how to run it; it stands in both files.
        table: rows for readers.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"about": about, **figures, "machine": machine()}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if table:
        path.with_suffix(".md").write_text(f"{(about or '').strip()}\n\n{markdown(table)}", encoding="utf-8")
    return path


def machine() -> dict[str, Any]:
    """Processor, cores, Python and the versions of what did the work."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in _VERSIONS_OF},
    }


def markdown(table: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a Markdown table."""
    heads = list(table[0])
    lines = [heads, ["---"] * len(heads), *([str(row[head]) for head in heads] for row in table)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
