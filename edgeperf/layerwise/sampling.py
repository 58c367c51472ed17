"""Networks → which operations to measure: theirs, variations of them, and windows and dense layers in their range.

Reference: Sponner et al., Electronics 2022, section 3.1: configurations of known networks, convolutions varied by
groups, depthwise and dilation, pooling by window, dense layers drawn at random.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import Operation, operation
from edgeperf.layerwise.singles import single_network
from edgeperf.layerwise.workloads import Fusion, steps, workloads
from edgeperf.records import Network

_GROUPS = (2, 4, 8)
_DILATIONS = (2, 3)
_WINDOWS = (2, 3, 5)
_NARROWEST = 8


def sample(networks: Sequence[Network], count: int, *, batch_size: int, fusion: Fusion, seed: int) -> list[Operation]:
    """`count` different operations: one identity, those of the networks, then variations, dense layers drawn last.

    Where the networks alone hold more, an evenly spread part of theirs by multiply-accumulates is taken.

    Raises:
        InvalidInput: fewer than one is asked for.
    """
    if count < 1:
        raise InvalidInput(f"Asked for {count} operations; expected 1 or more.")
    own = [op for op in workloads(networks, batch_size=batch_size, fusion=fusion) if can_stand_alone(op)]
    own.sort(key=lambda op: (op.kind, op.macs, op.output_elements))
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    varied = [other for op in own for other in _variations(op)]
    chance.shuffle(varied)
    share = max(1, count * 3 // 5)
    kept = own if len(own) <= share else [own[index * len(own) // share] for index in range(share)]
    found = dict.fromkeys([_identity(batch_size), *kept, *varied[: count // 4]])
    dense = _drawn_dense(own, batch_size, chance, count - len(found))
    while len(found) < count:
        found.setdefault(next(dense))
    return list(found)[:count]


def can_stand_alone(op: Operation) -> bool:
    """Whether `edgeperf.layerwise.singles` can build the operation, and what it builds is that one.

    An operation leaves some settings out: unequal strides, say, or the axis of a concatenation.
    """
    try:
        return _alone(op) == op
    except InvalidInput:
        return False


def _identity(batch_size: int) -> Operation:
    return _alone(
        Operation(
            kind="Identity",
            batch_size=batch_size,
            in_height=56,
            in_width=56,
            in_channels=64,
            out_height=56,
            out_width=56,
            out_channels=64,
        )
    )


def _variations(op: Operation) -> Iterator[Operation]:
    """The operation in groups, dilated, or with another window, where that is possible."""
    changes: Iterable[dict[str, int | str]] = ()
    if op.kind == "Conv2D" and op.groups == 1 and op.kernel_height > 1:
        fits = [groups for groups in _GROUPS if op.in_channels % groups == op.out_channels % groups == 0]
        changes = [{"groups": groups} for groups in fits]
        if op.stride == 1:
            changes += [{"dilation": dilation, "pad_height": 2, "pad_width": 2} for dilation in _DILATIONS]
    elif op.kind in ("MaxPooling2D", "AveragePooling2D"):
        changes = [{"kernel_height": window, "kernel_width": window} for window in _WINDOWS]
    for change in changes:
        try:
            yield _alone(replace(op, **change))  # type: ignore[arg-type]
        except InvalidInput:  # the window does not fit into the image
            continue


def _drawn_dense(own: list[Operation], batch_size: int, chance: random.Random, needed: int) -> Iterator[Operation]:
    """Dense layers within the networks' widths, or as much wider that half of the drawn ones are new."""
    widest = max((op.in_channels for op in own if op.kind == "Dense"), default=2048)
    widest = max(widest, _NARROWEST + math.isqrt(2 * max(0, needed + len(own))))
    while True:
        features, units = chance.randint(_NARROWEST, widest), chance.randint(_NARROWEST, widest)
        yield _alone(
            Operation(
                kind="Dense",
                batch_size=batch_size,
                in_height=1,
                in_width=1,
                in_channels=features,
                out_height=1,
                out_width=1,
                out_channels=units,
                weights=features * units + units,
            )
        )


def _alone(op: Operation) -> Operation:
    """The operation as its own network has it, all counts filled in."""
    network = single_network(op)
    found = steps(network, batch_size=op.batch_size, fusion=Fusion())
    return found[0].operation if found else operation(network.layers[-1], op.batch_size)
