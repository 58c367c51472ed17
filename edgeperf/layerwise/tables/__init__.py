"""Published tables of measured operations → one form: the columns of an operation and its labels.

Labels carry the project's metric names (`latency_ms`, `power_mw`, `energy_mj`, `memory_mib`; NaN = not measured), each
for one call of the operation. `device` and `phase` (``"inference"`` or ``"training"``) say where and how.
"""

from __future__ import annotations

from edgeperf.layerwise.tables.justus import read_justus
from edgeperf.layerwise.tables.neusight import read_neusight
from edgeperf.layerwise.tables.nicolai import parse_torch, read_nicolai, read_nicolai_networks
from edgeperf.layerwise.tables.sponner import read_sponner

__all__ = [
    "parse_torch",
    "read_justus",
    "read_neusight",
    "read_nicolai",
    "read_nicolai_networks",
    "read_sponner",
]
