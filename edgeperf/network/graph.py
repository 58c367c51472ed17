"""Calls in any order → calls in an order in which each has its inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgeperf.errors import InvalidInput
from edgeperf.network.keras_nodes import Arguments, Ref


class PendingCall(NamedTuple):
    """One call of a layer that waits for its inputs."""

    layer: Mapping[str, Any]
    output: tuple[str, int]
    inputs: Sequence[Ref]
    arguments: Arguments


def ordered(calls: Sequence[PendingCall], ready: Collection[tuple[str, int]]) -> Iterator[PendingCall]:
    """The calls such that each comes after those whose outputs it takes; listed order wherever that is one.

    Args:
        calls: every call of the graph.
        ready: outputs that exist beforehand.

    Raises:
        InvalidInput: inputs that no call produces, or cycles.
    """
    known = set(ready)
    missing: dict[int, int] = {}
    waiting: dict[tuple[str, int], list[int]] = {}
    for number, call in enumerate(calls):
        absent = {ref[:2] for ref in call.inputs if ref[:2] not in known}
        if absent:
            missing[number] = len(absent)
            for source in absent:
                waiting.setdefault(source, []).append(number)
            continue
        due = deque([number])
        while due:
            done = calls[due.popleft()]
            known.add(done.output)
            yield done
            for blocked in waiting.pop(done.output, ()):
                missing[blocked] -= 1
                if not missing[blocked]:
                    del missing[blocked]
                    due.append(blocked)
    if missing:
        stuck = ", ".join(sorted({calls[number].output[0] for number in missing})[:10])
        raise InvalidInput(f"These layers wait for inputs that never come, or for each other: {stuck}.")
