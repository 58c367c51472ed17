"""Metric name → unit, label and formatter; the only place where conversion constants stand.

A metric's name carries its unit and is the same as column, record field, command-line flag and search objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeperf.errors import InvalidInput

BYTES_PER_MIB = 1024**2
MILLISECONDS_PER_SECOND = 1000.0
FLOPS_PER_MAC = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One quantity that is measured or predicted.

    Attributes:
        name: as in columns and flags, with the unit as suffix.
        unit: as printed.
        label: for axis titles and tables.
        digits: significant digits that a formatted value shows.
    """

    name: str
    unit: str
    label: str
    digits: int

    def format(self, value: float | None) -> str:
        """Value with unit, e.g. ``"12.3 ms"``; ``"not measured"`` for None.

        >>> METRICS["latency_ms"].format(12.3456)
        '12.3 ms'
        >>> METRICS["power_mw"].format(None)
        'not measured'
        """
        return "not measured" if value is None else f"{significant(value, self.digits)} {self.unit}"


def significant(value: float, digits: int) -> str:
    """Value rounded to `digits` significant digits, without an exponent and with a comma between thousands.

    >>> significant(1234.567, 3)
    '1,235'
    >>> significant(0.012345, 3)
    '0.0123'
    >>> significant(0.101, 3), significant(9.7, 3), significant(0.09996, 3)
    ('0.101', '9.70', '0.100')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    # The exponent after rounding, which may carry into another digit.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="latency_ms", unit="ms", label="Latency", digits=3),
        Metric(name="power_mw", unit="mW", label="GPU-rail power", digits=4),
        Metric(name="energy_mj", unit="mJ", label="GPU-rail energy per inference", digits=3),
        Metric(name="memory_mib", unit="MiB", label="Memory in use on the board", digits=4),
    )
}


def metric(name: str) -> Metric:
    """The metric of that name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in METRICS:
        raise InvalidInput(f"Unknown metric {name!r}. Known metrics: {', '.join(METRICS)}.")
    return METRICS[name]


def energy_mj(latency_ms: float, power_mw: float) -> float:
    """Energy of one inference in mJ at constant power.

    >>> energy_mj(10.0, 2500.0)
    25.0
    """
    return latency_ms * power_mw / MILLISECONDS_PER_SECOND
