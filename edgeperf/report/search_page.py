"""A search's directory → ``report.html``: the front to look at and to walk through, and what its numbers rest on.

Reads ``front.json`` and, where it is there, ``evaluated.csv``; so a page can be made again at any time, by
``edgeperf report DIR``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeperf import __version__
from edgeperf.errors import InvalidInput
from edgeperf.report.quantities import Axis, axes, interval_ends, numbers, subtitle, title

_TEMPLATES = Path(__file__).with_name("templates")
_MOST_CANDIDATES = 20_000
_MILLION = 1e6
_DASH = "\N{EN DASH}"


def write_search_report(directory: Path) -> Path:
    """The page's path, after making it from the files in `directory`.

    Raises:
        InvalidInput: the directory holds no finished search.
    """
    document = _read(directory / "front.json")
    page = directory / "report.html"
    partial = page.with_name("report.html.partial")
    partial.write_text(render(document, _cloud(directory / "evaluated.csv")), encoding="utf-8")
    partial.replace(page)
    return page


def render(document: Mapping[str, Any], cloud: Mapping[str, Sequence[float]]) -> str:
    """The page's HTML.

    Args:
        document: as in ``front.json``.
        cloud: column → values of all candidates seen, counts in millions.
    """
    import jinja2
    from plotly.offline import get_plotlyjs

    question = document["summary"]["question"]
    shown = axes(question["devices"], _estimated(document))
    objective_keys = [key for key in _objective_keys(question, shown) if key in shown]
    view = {
        **document,
        "points": [_dressed(point, shown) for point in document["points"]],
        "nearest": [_dressed(point, shown) for point in document["nearest"]],
        "references": [
            {**_dressed(point, shown), "beaten": _beaten(point["dominated_by"], document["points"])}
            for point in document["references"]
        ],
    }
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    markup = environment.from_string((_TEMPLATES / "search.html.j2").read_text(encoding="utf-8"))
    heading = _heading(objective_keys, shown, question)
    return markup.render(
        title=f"{heading} {_DASH} edgeperf",
        heading=heading,
        lead=_lead(document),
        cards=_cards(view, shown, objective_keys),
        document=view,
        axes=shown,
        metric_keys=[key for key in shown if "@" in key],
        objective_keys=objective_keys,
        table_keys=list(shown),
        plot_label=_plot_label(view, shown, objective_keys),
        question_rows=[(name.replace("_", " "), _plain(value)) for name, value in question.items() if name != "genes"],
        version=__version__,
        css=(_TEMPLATES / "search.css").read_text(encoding="utf-8"),
        js=(_TEMPLATES / "search.js").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        data=_script_data(view, shown, cloud, objective_keys),
    )


def _estimated(document: Mapping[str, Any]) -> set[str]:
    """Columns of the metrics that the networks have estimates of."""
    networks = [*document["points"], *document["nearest"], *document["references"]]
    return {f"{row['metric']}@{row['device']}" for network in networks for row in network["estimates"]}


def _script_data(
    view: Mapping[str, Any],
    shown: Mapping[str, Axis],
    cloud: Mapping[str, Sequence[float]],
    objective_keys: Sequence[str],
) -> str:
    """What the script reads, as JSON that cannot end its element."""
    x = next((key for key in objective_keys if key != "accuracy"), "accuracy")
    y = "accuracy" if "accuracy" in objective_keys and x != "accuracy" else next(k for k in objective_keys if k != x)
    needed = (
        "network",
        "title",
        "subtitle",
        "numbers",
        "cells",
        "ends",
        "intervals",
        "accuracy_provenance",
        "in_range",
        "measured",
    )
    data = {
        "x": x,
        "y": y,
        "axes": {key: asdict(axis) for key, axis in shown.items()},
        "knee": view["summary"]["knee"],
        "history": view["summary"]["hypervolume"],
        "points": [{name: point[name] for name in needed} for point in view["points"]],
        "references": [{name: point[name] for name in needed} for point in view["references"]],
        "cloud": {"columns": {key: list(values) for key, values in cloud.items() if key in shown}},
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _dressed(point: Mapping[str, Any], shown: Mapping[str, Axis]) -> dict[str, Any]:
    """The point with everything as it is printed."""
    values, ends = numbers(point), interval_ends(point)
    return {
        **point,
        "title": title(point),
        "subtitle": subtitle(point),
        "numbers": {key: values[key] for key in shown},
        "ends": {key: ends.get(key) for key in shown},
        "cells": {key: axis.format(values[key]) for key, axis in shown.items()},
        "intervals": {key: _interval(axis, ends.get(key)) for key, axis in shown.items()},
        "measured": _measured(point, shown),
    }


def _beaten(names: Sequence[str], front: Sequence[Mapping[str, Any]]) -> str:
    """The first network of the front that beats a known one, as people write it, and how many more do."""
    if not names:
        return "none"
    first = next((f"{title(point)}, {subtitle(point)}" for point in front if point["network"] == names[0]), names[0])
    return f"{first}; {len(names) - 1} more" if len(names) > 1 else first


def _measured(point: Mapping[str, Any], shown: Mapping[str, Axis]) -> dict[str, Any] | None:
    """Measured values as numbers, and in words with the prediction's error; None where it was not measured."""
    if not point.get("measured"):
        return None
    predicted = numbers(point)
    values = {key: value for key, value in point["measured"].items() if key in shown}
    words = {
        key: f"{shown[key].format(value)} ({100 * (predicted[key] / value - 1):+.1f} %)"
        for key, value in values.items()
    }
    return {"numbers": values, "cells": words}


def _interval(axis: Axis, ends: tuple[float, float] | None) -> str:
    return f"{axis.format(ends[0])} {_DASH} {axis.format(ends[1])}" if ends else ""


def _heading(objective_keys: Sequence[str], shown: Mapping[str, Axis], question: Mapping[str, Any]) -> str:
    names = [shown[key].short.lower() for key in objective_keys]
    return f"{' against '.join(names).capitalize()} on {', '.join(question['devices']) or 'no device'}"


def _lead(document: Mapping[str, Any]) -> str:
    summary = document["summary"]
    bounds = summary["question"]["constraints"]
    under = f" under {', '.join(bounds)}" if bounds else ""
    return (
        f"{summary['evaluated']:,} of {summary['size']:,} networks of {' + '.join(summary['question']['spaces'])} were "
        f"rated from their graphs alone{under}. {len(document['points'])} of them are on the front: no other network "
        "that was seen is at least as good in every objective and better in one."
    )


def _cards(
    view: Mapping[str, Any], shown: Mapping[str, Axis], objective_keys: Sequence[str]
) -> list[dict[str, str | None]]:
    if not view["points"]:
        return []
    best = next(point for point in view["points"] if point["network"] == view["summary"]["knee"])
    summary = view["summary"]
    ends: list[dict[str, str | None]] = [
        {
            "label": f"{shown[key].short} on the front",
            "value": f"{_extreme(view, shown, key, min)} {_DASH} {_extreme(view, shown, key, max)}",
            "unit": shown[key].unit,
            "note": f"knee: {best['cells'][key]} {shown[key].unit}",
        }
        for key in objective_keys
    ]
    return [
        {
            "label": "Networks on the front",
            "value": str(len(view["points"])),
            "unit": None,
            "note": f"of {summary['evaluated']:,} seen, {summary['feasible']:,} of them feasible",
        },
        *ends,
        {"label": "Knee", "value": best["title"], "unit": None, "note": best["subtitle"]},
    ]


def _extreme(view: Mapping[str, Any], shown: Mapping[str, Axis], key: str, pick: Any) -> str:
    return shown[key].format(pick(point["numbers"][key] for point in view["points"]))


def _plot_label(view: Mapping[str, Any], shown: Mapping[str, Axis], objective_keys: Sequence[str]) -> str:
    if not view["points"]:
        return ""
    ranges = (
        f"{shown[key].label} from {_extreme(view, shown, key, min)} to {_extreme(view, shown, key, max)} "
        f"{shown[key].unit}"
        for key in objective_keys
    )
    return f"Front of {len(view['points'])} networks: {'; '.join(ranges)}."


def _objective_keys(question: Mapping[str, Any], shown: Mapping[str, Axis]) -> list[str]:
    """Columns of the objectives; a metric without a device stands for all devices."""
    keys: list[str] = []
    for text in question["objectives"]:
        name = text.partition(":")[0]
        keys += [name] if name in shown else [key for key in shown if key.startswith(f"{name}@")]
    return list(dict.fromkeys(keys))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InvalidInput(
            f"{path.parent} holds no finished search: {path.name} is missing. Run `edgeperf search` first."
        )
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        document["summary"]["question"]["devices"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} is no front that `edgeperf search` wrote ({error}).") from error
    return document


def _cloud(path: Path) -> dict[str, list[float]]:
    """Numeric columns of all candidates, thinned evenly to what a page bears."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    rows = rows[:: max(1, -(-len(rows) // _MOST_CANDIDATES))]
    names = [name for name in (rows[0] if rows else ()) if name not in ("network", "accuracy_provenance")]
    scale = {"params": _MILLION, "macs": _MILLION}
    return {name: [float(row[name]) / scale.get(name, 1.0) for row in rows] for name in names}
