"""`nvpmodel -q` and /etc/nvpmodel.conf → power modes.

Modes are found by name, never by id: id 0 is MAXN on a TX2 and 15 W on an Orin Nano, and Xavier NX has no MAXN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgeperf.errors import InvalidInput

_NAME = re.compile(r"NV Power Mode: *([^\s]+)[ \t]*\r?\n(?:.*\n)*?([0-9]{1,3})[ \t]*\r?(?:\n|\Z)", re.ASCII)
_CONF_MODE = re.compile(r"<\s*POWER_MODEL\s+ID=([0-9]{1,3})\s+NAME=([^\s>]+)\s*>", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMode:
    """A power mode of a board."""

    name: str
    id: int


def parse_query(text: str) -> PowerMode:
    r"""The mode that `nvpmodel -q` reports.

    Raises:
        InvalidInput: the text is no such report.

    >>> parse_query("NV Power Mode: MAXN\n0\n")
    PowerMode(name='MAXN', id=0)
    """
    found = _NAME.search(text)
    if found is None:
        raise InvalidInput(
            "`nvpmodel -q` reported no power mode. Expected 'NV Power Mode: NAME' and a number; "
            f"it printed: {text.strip()[:200] or 'nothing'}"
        )
    return PowerMode(name=found[1], id=int(found[2]))


def parse_modes(conf: str) -> tuple[PowerMode, ...]:
    r"""All modes that /etc/nvpmodel.conf defines.

    >>> parse_modes("< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=2 NAME=MAXN >")[1].id
    2
    """
    return tuple(PowerMode(name=name, id=int(number)) for number, name in _CONF_MODE.findall(conf))


def fastest(modes: tuple[PowerMode, ...]) -> PowerMode | None:
    """The mode named MAXN (or MAXN_SUPER); None where the board has none, as Xavier NX.

    >>> fastest(parse_modes("< POWER_MODEL ID=0 NAME=15W > < POWER_MODEL ID=2 NAME=MAXN_SUPER >")).name
    'MAXN_SUPER'
    """
    unlimited = [mode for mode in modes if mode.name.startswith("MAXN")]
    return max(unlimited, key=lambda mode: len(mode.name), default=None)
