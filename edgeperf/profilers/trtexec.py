"""What `trtexec` writes → latencies in ms.

`computeMs` is in the JSON of every TensorRT from 7.1 on; all other keys come and go, so it is the only one that is
read. It is the time between two events on the stream: gaps between kernels count, unlike in nvprof's sum of kernels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from edgeperf.errors import InvalidInput

_LONGEST_MS = 1e9  # also keeps infinities, NaN and integers too large for a float out
METHOD = "GPU compute time, gaps between kernels included (trtexec)"
_STATISTIC = re.compile(r"([a-z]+(?:\([0-9.]+%\))?) = ([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) ms")
_COMPUTE_LINE = re.compile(r"\[I\] GPU Compute(?: Time)?: (.*)")
_VERSION = re.compile(r"TensorRT v([0-9]{4,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The "Performance summary" that trtexec prints.

    Attributes:
        compute_ms: statistic → GPU compute time in ms, e.g. ``{"min": ..., "mean": ..., "percentile(99%)": ...}``.
        tensorrt: version as trtexec prints it, e.g. ``"8401"``; None where the text holds none.
        warnings: what trtexec warned of, joined to whole sentences.
    """

    compute_ms: Mapping[str, float]
    tensorrt: str | None
    warnings: tuple[str, ...]


def parse_times(text: str) -> tuple[float, ...]:
    """GPU compute time of each run in ms, from ``--exportTimes``.

    Raises:
        InvalidInput: the text is no such JSON.

    >>> parse_times('[{"startInMs": 0.0, "computeMs": 1.5}, {"computeMs": 1.25}]')
    (1.5, 1.25)
    """
    try:
        runs = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise InvalidInput(
            f"The times of trtexec are no JSON: {problem}. Expected what `trtexec --exportTimes=FILE` writes; "
            "a full disk cuts the file short."
        ) from None
    times = [_time(run) for run in runs] if isinstance(runs, list) else []
    known = tuple(time for time in times if time is not None)
    if not known or len(known) < len(times):
        raise InvalidInput(
            "The times of trtexec hold no `computeMs` per run. Expected what `trtexec --exportTimes=FILE` of "
            "TensorRT 7.1 or later writes."
        )
    return known


def parse_summary(text: str) -> Summary:
    """The performance summary in the text that trtexec prints.

    Raises:
        InvalidInput: there is none.

    >>> parse_summary("[I] GPU Compute Time: min = 1.2 ms, mean = 1.4 ms").compute_ms["mean"]
    1.4
    """
    found = _COMPUTE_LINE.search(text)
    statistics = {name: float(value) for name, value in _STATISTIC.findall(found[1])} if found else {}
    if not statistics:
        raise InvalidInput(
            "No 'GPU Compute Time' line in the output of trtexec. Expected a performance summary; "
            "look at its last lines for the reason why there is none."
        )
    version = _VERSION.search(text)
    return Summary(compute_ms=statistics, tensorrt=version[1] if version else None, warnings=tuple(_warnings(text)))


def _time(run: object) -> float | None:
    value = run.get("computeMs") if isinstance(run, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _LONGEST_MS else None


def _warnings(text: str) -> list[str]:
    """Texts of ``[W]`` lines; a sentence that begins with ``*`` goes on over the lines that follow."""
    sentences: list[str] = []
    for line in re.findall(r"\[W\] ?(.*)", text):
        if sentences and line.startswith("  "):
            sentences[-1] += " " + line.strip()
        else:
            sentences.append(line.lstrip("* ").strip())
    return [sentence for sentence in sentences if sentence]
