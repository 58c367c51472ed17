"""Estimates on several devices + limits → devices in the order in which they fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from edgeperf.errors import InvalidInput
from edgeperf.ptx.comparison import ComparisonRow
from edgeperf.units import METRICS

PRICE = "price"

Verdict = Literal["meets", "may meet", "misses", "unknown"]
_ORDER: dict[Verdict, int] = {"meets": 0, "may meet": 1, "unknown": 2, "misses": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    """One device against the limits.

    Attributes:
        device: its name.
        verdict: the worst over all limits. ``"may meet"``: the value lies below the limit, the upper end of its 90 %
            interval does not. ``"unknown"``: a limited quantity has no number on this device.
        verdicts: limited quantity → verdict.
        values: quantity → number.
        price: as the user stated it; None where not stated.
    """

    device: str
    verdict: Verdict
    verdicts: Mapping[str, Verdict]
    values: Mapping[str, float]
    price: float | None


def rank_devices(
    rows: Iterable[ComparisonRow],
    *,
    limits: Mapping[str, float],
    prices: Mapping[str, float] | None = None,
    prefer: str = "energy_mj",
) -> list[DeviceChoice]:
    """Devices, best first: those that meet all limits, then those that may; equals by the preferred quantity.

    Args:
        rows: of one network, as `edgeperf.ptx.comparison.compare` gives them.
        limits: metric or ``"price"`` → greatest value.
        prices: device → price, in any currency.
        prefer: metric or ``"price"``; less is better.

    Raises:
        InvalidInput: a limit or preference is no metric, or rows of several networks are mixed.
    """
    known = {*METRICS, PRICE}
    for name in (*limits, prefer):
        if name not in known:
            raise InvalidInput(f"Unknown quantity {name!r}. Known: {', '.join(sorted(known))}.")
    devices: dict[str, dict[str, ComparisonRow]] = {}
    networks = set()
    for row in rows:
        networks.add(row.network)
        devices.setdefault(row.device, {})[row.metric] = row
    if len(networks) > 1:
        raise InvalidInput(f"Rows of {len(networks)} networks are mixed; rank devices for one network at a time.")
    choices = [_choice(device, metrics, limits, (prices or {}).get(device)) for device, metrics in devices.items()]
    return sorted(choices, key=lambda choice: (_ORDER[choice.verdict], *_preference(choice, prefer), choice.device))


def _choice(
    device: str, metrics: Mapping[str, ComparisonRow], limits: Mapping[str, float], price: float | None
) -> DeviceChoice:
    verdicts = {
        name: _price_verdict(price, limit) if name == PRICE else _verdict(metrics.get(name), limit)
        for name, limit in limits.items()
    }
    return DeviceChoice(
        device=device,
        verdict=max(verdicts.values(), key=_ORDER.__getitem__, default="meets"),
        verdicts=verdicts,
        values={name: row.value for name, row in metrics.items()},
        price=price,
    )


def _verdict(row: ComparisonRow | None, limit: float) -> Verdict:
    if row is None:
        return "unknown"
    if row.value > limit:
        return "misses"
    return "meets" if row.high is None or row.high <= limit else "may meet"


def _price_verdict(price: float | None, limit: float) -> Verdict:
    if price is None:
        return "unknown"
    return "meets" if price <= limit else "misses"


def _preference(choice: DeviceChoice, prefer: str) -> tuple[bool, float]:
    """Devices without the preferred quantity come last."""
    value = choice.price if prefer == PRICE else choice.values.get(prefer)
    return value is None, value or 0.0
