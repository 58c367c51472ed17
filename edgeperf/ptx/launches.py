"""Lists of kernel launches: XLA's thunk sequence, or a user's own JSON → `LaunchList`.

A user's own list is a JSON array, one object per launch::

    [{"kernel": "saxpy", "grid": [64, 1, 1], "block": [256, 1, 1], "arguments": {"n": 16000}, "times": 3}]

`grid` and `block` may leave out trailing ones, `arguments` and `times` may be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.ptx.records import Extent, Launch

MOST_LAUNCHES = 1_000_000

_THUNK = re.compile(r"\s*\d+:\s+(?P<kind>k\w+)\s*(?:\[[^\]]*\])?\s*(?P<rest>.*)")
_KERNEL = re.compile(
    r"(?P<name>[\w.$]+)\s+grid:\s*\[(?P<grid>\d{1,10}, \d{1,10}, \d{1,10})\]\s+"
    r"threads:\s*\[(?P<block>\d{1,10}, \d{1,10}, \d{1,10})\]"
)
_KERNEL_KINDS = frozenset({"kKernel", "kCustomKernel"})
_FREE_KINDS = frozenset({"kCopy", "kMemset32BitValue", "kMemzero", "kSequential", "kCommandBuffer"})
"""Copies and fills that the driver does without a kernel of the network, and brackets around other thunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchList:
    """What a network launches, in order.

    Attributes:
        launches: kernels with their geometry.
        library_calls: launches that have no PTX, e.g. calls of cuDNN; they are reported as not counted.
    """

    launches: tuple[Launch, ...]
    library_calls: tuple[str, ...] = ()


def parse_thunks(text: str) -> LaunchList:
    """The launches of XLA's ``thunk_sequence.txt``.

    Raises:
        InvalidInput: a line cannot be read.
    """
    launches: list[Launch] = []
    calls: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _THUNK.fullmatch(line)
        if found is None:
            if line.strip():
                raise InvalidInput(f"Line {number} of the thunk sequence cannot be read: {line.strip()[:80]!r}.")
            continue
        kernel = _KERNEL.match(found["rest"])
        if kernel is not None and found["kind"] in _KERNEL_KINDS:
            grid, block = _extent(kernel["grid"]), _extent(kernel["block"])
            launches.append(Launch(kernel=kernel["name"], grid=grid, block=block))
        elif found["kind"] not in _FREE_KINDS:
            calls.append(found["kind"])
    return LaunchList(launches=tuple(launches), library_calls=tuple(calls))


def _extent(text: str) -> Extent:
    x, y, z = (int(size) for size in text.split(","))
    return x, y, z


def parse_launch_list(text: str) -> LaunchList:
    """The launches of a user's own JSON list.

    Raises:
        InvalidInput: the text is not such a list.
    """
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The launch list is not JSON: {error}.") from error
    if not isinstance(entries, list):
        raise InvalidInput("The launch list must be a JSON array of objects with kernel, grid and block.")
    launches: list[Launch] = []
    for number, entry in enumerate(entries, start=1):
        launch, times = _entry(entry, number)
        if len(launches) + times > MOST_LAUNCHES:
            raise InvalidInput(f"The launch list holds more than {MOST_LAUNCHES} launches.")
        launches.extend([launch] * times)
    return LaunchList(launches=tuple(launches))


def _entry(entry: Any, number: int) -> tuple[Launch, int]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("kernel"), str):
        raise InvalidInput(f"Launch {number} of the launch list names no kernel.")
    unknown = sorted(set(entry) - {"kernel", "grid", "block", "arguments", "times"})
    if unknown:
        raise InvalidInput(f"Launch {number} of the launch list has an unknown field {unknown[0]!r}.")
    arguments = entry.get("arguments", {})
    if not isinstance(arguments, Mapping) or not all(map(_is_integer, arguments.values())):
        raise InvalidInput(f"Launch {number} of the launch list: arguments must map names to integers.")
    times = entry.get("times", 1)
    if not _is_integer(times) or not 1 <= times <= MOST_LAUNCHES:
        raise InvalidInput(f"Launch {number} of the launch list: times must be 1 to {MOST_LAUNCHES}, not {times!r}.")
    grid, block = (_sizes(entry.get(key), key, number) for key in ("grid", "block"))
    return Launch(kernel=entry["kernel"], grid=grid, block=block, arguments=dict(arguments)), times


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sizes(value: Any, key: str, number: int) -> Extent:
    if not isinstance(value, list) or not 1 <= len(value) <= 3 or not all(map(_is_integer, value)):
        raise InvalidInput(f"Launch {number} of the launch list: {key} must hold one to three integers, not {value!r}.")
    x, y, z = [*value, 1, 1][:3]
    return x, y, z


def to_entries(launches: LaunchList) -> list[dict[str, Any]]:
    """The JSON form of a launch list, which `parse_launch_list` reads."""
    entries: list[dict[str, Any]] = []
    for launch in launches.launches:
        entry: dict[str, Any] = {"kernel": launch.kernel, "grid": list(launch.grid), "block": list(launch.block)}
        if launch.arguments:
            entry["arguments"] = dict(launch.arguments)
        entries.append(entry)
    return entries
