"""``"latency_ms<=30"`` and ``"energy_mj"`` → numbers to minimise, and by how much a candidate violates what was asked.

Names: ``accuracy`` (percent, maximised), the metrics of `edgeperf.units` (``latency_ms``, ``power_mw``, ``energy_mj``,
``memory_mib``), ``params`` and ``macs``. A name may carry a device, ``latency_ms@jetson-nano``; without one it means
the only device, or the worst of several. It may carry an interval's end, ``energy_mj:high``, for those who want safety.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from edgeperf.units import METRICS

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]

OF_NETWORK = ("params", "macs")
NAMES = ("accuracy", *METRICS, *OF_NETWORK)
_END_OF_NAME = {"low", "high"}
_CONSTRAINT = re.compile(r"\s*([\w@:\-.]+?)\s*(<=|>=|<|>)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number that each candidate has, as a search names it.

    Attributes:
        text: as the user wrote it.
        columns: the columns that it is the worst of; one in most cases.
        maximised: whether more is better.
    """

    text: str
    columns: tuple[str, ...]
    maximised: bool

    def of(self, columns: Columns) -> Array:
        """Its value for each candidate: shape (candidates,)."""
        worst: Array = np.max([columns[name] for name in self.columns], axis=0)
        return worst

    def minimised(self, columns: Columns) -> Array:
        """Its value with the sign that makes less better."""
        return -self.of(columns) if self.maximised else self.of(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A bound on a quantity; ``<`` counts as ``<=``, since predictions are real numbers."""

    quantity: Quantity
    relation: Literal["<=", ">="]
    bound: float

    def __str__(self) -> str:
        return f"{self.quantity.text}{self.relation}{self.bound:g}"

    def violation(self, columns: Columns) -> Array:
        """0 where it holds, else by which share of the bound it fails: shape (candidates,)."""
        excess = self.quantity.of(columns) - self.bound
        if self.relation == ">=":
            excess = -excess
        return np.maximum(excess, 0.0) / max(abs(self.bound), 1e-12)


def quantity(text: str, devices: Sequence[str]) -> Quantity:
    """The quantity that the user named.

    Raises:
        InvalidInput: no such name, device or end.
    """
    rest, _, end = text.partition(":")
    name, _, device = rest.partition("@")
    if name not in NAMES:
        raise InvalidInput(f"Unknown objective {name!r}. Known objectives: {', '.join(NAMES)}.")
    if end and (end not in _END_OF_NAME or name in OF_NETWORK):
        raise InvalidInput(
            f"Cannot read {text!r}: after the colon, low or high was expected, for a predicted quantity."
        )
    if device and (name not in METRICS or device not in devices):
        raise InvalidInput(
            f"Cannot read {text!r}: {name} on {device!r} is not part of this search over {_listed(devices)}."
        )
    if name in METRICS and not devices:
        raise InvalidInput(f"The objective {name} needs a device; name one with --device.")
    suffix = f":{end}" if end else ""
    places = [device] if device else devices
    columns = tuple(f"{name}@{place}{suffix}" for place in places) if name in METRICS else (f"{name}{suffix}",)
    return Quantity(text=text, columns=columns, maximised=name == "accuracy")


def objectives(texts: Sequence[str], devices: Sequence[str], *, each_device: bool = False) -> tuple[Quantity, ...]:
    """The quantities to optimise; with `each_device` a metric without a device becomes one objective per device.

    Raises:
        InvalidInput: fewer than two, one twice, or one that does not exist.
    """
    split = [part for text in texts for part in (_per_device(text, devices) if each_device else [text])]
    if len(set(split)) != len(split):
        raise InvalidInput(f"An objective is named twice in {', '.join(split)}.")
    if len(split) < 2:
        raise InvalidInput(
            f"A front needs at least two objectives, got {', '.join(split) or 'none'}; e.g. accuracy energy_mj."
        )
    return tuple(quantity(text, devices) for text in split)


def constraints(texts: Sequence[str], devices: Sequence[str]) -> tuple[Constraint, ...]:
    """The bounds that the user wrote.

    Raises:
        InvalidInput: one cannot be read, or two leave nothing between them.
    """
    read = tuple(_constraint(text, devices) for text in texts)
    for lower in (bound for bound in read if bound.relation == ">="):
        for upper in (bound for bound in read if bound.relation == "<="):
            if lower.quantity.columns == upper.quantity.columns and lower.bound > upper.bound:
                raise InvalidInput(f"The constraints {lower} and {upper} contradict each other; nothing can meet both.")
    return read


def _constraint(text: str, devices: Sequence[str]) -> Constraint:
    found = _CONSTRAINT.fullmatch(text)
    if not found:
        raise InvalidInput(
            f'Cannot read the constraint {text!r}; expected a name, <= or >=, and a number: "latency_ms<=30".'
        )
    relation: Literal["<=", ">="] = "<=" if found[2].startswith("<") else ">="
    try:
        bound = float(found[3])
    except ValueError:
        raise InvalidInput(f"Cannot read the constraint {text!r}: {found[3]!r} is not a number.") from None
    return Constraint(quantity=quantity(found[1], devices), relation=relation, bound=bound)


def _per_device(text: str, devices: Sequence[str]) -> list[str]:
    name, colon, end = text.partition(":")
    if name not in METRICS:
        return [text]
    return [f"{name}@{device}{colon}{end}" for device in devices]


def _listed(devices: Sequence[str]) -> str:
    return ", ".join(devices) or "no device"
