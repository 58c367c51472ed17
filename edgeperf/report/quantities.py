"""What stands in a search's files → names, units and digits for a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from edgeperf.units import METRICS, significant

_OF_NETWORK = {"params": ("Parameters", "Parameters", 3), "macs": ("Multiply-accumulates", "MACs", 3)}
_MILLION = 1e6
_TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A quantity as a page shows it.

    Attributes:
        key: column of the search's tables.
        label: for axis titles.
        short: for table heads.
        unit: as printed; ``"M"`` for counts, which are shown in millions.
        digits: significant digits.
    """

    key: str
    label: str
    short: str
    unit: str
    digits: int

    def format(self, value: float) -> str:
        """The value without its unit."""
        if self.key == "accuracy":
            return f"{value:.1f}"
        return significant(value, self.digits)


def axes(devices: Iterable[str], columns: Iterable[str]) -> dict[str, Axis]:
    """The quantities that a search's points have, by column; a metric names its device where there are several."""
    places, present = list(devices), set(columns)
    found = {"accuracy": Axis(key="accuracy", label="ImageNet top-1 accuracy", short="Accuracy", unit="%", digits=3)}
    for device in places:
        where = f", {device}" if len(places) > 1 else ""
        for metric in METRICS.values():
            key = f"{metric.name}@{device}"
            if key in present:
                found[key] = Axis(
                    key=key,
                    label=f"{metric.label}{where}",
                    short=f"{metric.name.rpartition('_')[0].capitalize()}{where}",
                    unit=metric.unit,
                    digits=metric.digits,
                )
    for key, (label, short, digits) in _OF_NETWORK.items():
        found[key] = Axis(key=key, label=label, short=short, unit="M", digits=digits)
    return found


def numbers(point: Mapping[str, Any]) -> dict[str, float]:
    """A point's values by column; counts in millions."""
    estimates = {f"{row['metric']}@{row['device']}": row["value"] for row in point["estimates"]}
    counts = {name: point[name] / _MILLION for name in _OF_NETWORK}
    return {"accuracy": point["accuracy"], **estimates, **counts}


def interval_ends(point: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Ends of the 90 % intervals by column, for the values that have one."""
    ends = {f"{row['metric']}@{row['device']}": (row["low"], row["high"]) for row in point["estimates"]}
    ends["accuracy"] = (point["accuracy_low"], point["accuracy_high"])
    return {key: (low, high) for key, (low, high) in ends.items() if high > low}


def title(point: Mapping[str, Any]) -> str:
    """A point's family, width and input size, with the multiplication sign between the first two."""
    genes = point["genes"]
    width = f" {_TIMES} {genes['width']}" if "width" in genes else ""
    size = f", {genes['input_size']} px" if "input_size" in genes else ""
    return f"{point['family_title']}{width}{size}"


def subtitle(point: Mapping[str, Any]) -> str:
    """The other genes, depths joined: ``"depth 2·3·4·3·3, expansion 6"``."""
    genes = {name: value for name, value in point["genes"].items() if name not in ("width", "input_size")}
    depths = [str(value) for name, value in genes.items() if name.startswith("depth")]
    others = [f"{name.replace('_', ' ')} {value}" for name, value in genes.items() if not name.startswith("depth")]
    return ", ".join(([f"depth {'·'.join(depths)}"] if depths else []) + others)
