"""A finished search and measurements of its networks → the predicted front beside the measured one, in the same report.

The measurements are a dataset, as ``edgeperf profile`` writes it for the exported models; a network is known by its
file's name. Where the measured board has a name of its own, surrogates for it are made from the search's surrogates and
the new rows, to search again with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.report import write_search_report
from edgeperf.units import METRICS, energy_mj
from search.front import nondominated
from search.objectives import objectives
from search.results import FRONT, replace_file

if TYPE_CHECKING:
    from edgeperf.datasets import Dataset

SURROGATES = "surrogates"
"""Folder of refitted surrogates in a search's directory."""

_FEWEST_ROWS = 5

Measured = dict[str, dict[str, float]]
"""Network → metric → value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How predictions compare with measurements.

    Attributes:
        measured_on: device name in the dataset.
        networks: points of the front that were measured.
        mape: metric → mean absolute percentage error of the predictions.
        still_on_front: measured points that no other measured point beats by measured values.
        refitted: files of surrogates that the measurements were used for.
        report: the page.
    """

    measured_on: str
    networks: int
    mape: Mapping[str, float]
    still_on_front: tuple[str, ...]
    refitted: tuple[Path, ...]
    report: Path


def verify(directory: Path, data: Path, *, device: str | None = None) -> Verification:
    """Compares, refits, and writes ``front.json`` and the report again.

    Args:
        directory: of a finished search.
        data: dataset of measurements.
        device: device name in the dataset, where it holds several.

    Raises:
        InvalidInput: the directory holds no search, or none of its networks was measured.
    """
    from edgeperf.datasets import load

    path = directory / FRONT
    if not path.is_file():
        raise InvalidInput(f"{directory} holds no finished search: {FRONT} is missing.")
    document = json.loads(path.read_text(encoding="utf-8"))
    dataset = load(data)
    board = _measured_device(dataset, device)
    searched_for = _searched_device(document, board)
    measured = _measurements(dataset, board)
    found = [point for point in document["points"] if point["network"] in measured]
    if not found:
        raise InvalidInput(
            f"{data} holds none of the front's {len(document['points'])} networks. "
            f"Measure the exported models: edgeperf profile $(cat {directory / 'profile.txt'})"
        )
    for point in found:
        point["measured"] = {f"{m}@{searched_for}": value for m, value in measured[point["network"]].items()}
    kept = _still_on_front(document, found)
    mape = _errors(found)
    document["summary"]["verification"] = {
        "measured_on": board,
        "networks": len(found),
        "mape": mape,
        "still_on_front": list(kept),
    }
    replace_file(path, json.dumps(document, indent=1) + "\n")
    return Verification(
        measured_on=board,
        networks=len(found),
        mape=mape,
        still_on_front=kept,
        refitted=_refitted(dataset, board, searched_for, directory / SURROGATES),
        report=write_search_report(directory),
    )


def _measured_device(dataset: Dataset, device: str | None) -> str:
    have = sorted(map(str, dataset.rows["device"].unique()))
    if device is None and len(have) == 1:
        return have[0]
    if device is None or device not in have:
        raise InvalidInput(f"The measurements are of {', '.join(have)}; name one of these devices, got {device}.")
    return device


def _searched_device(document: Mapping[str, Any], board: str) -> str:
    devices = document["summary"]["question"]["devices"]
    return board if board in devices else str(devices[0])


def _measurements(dataset: Dataset, board: str) -> Measured:
    rows = dataset.rows[dataset.rows["device"] == board]
    measured: Measured = {}
    for (model, metric), labels in rows.groupby(["model", "metric"])["value"]:
        measured.setdefault(str(model), {})[str(metric)] = float(labels.median())
    for values in measured.values():
        if "energy_mj" not in values and {"latency_ms", "power_mw"} <= set(values):
            values["energy_mj"] = energy_mj(values["latency_ms"], values["power_mw"])
    return measured


def _errors(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Mean absolute percentage error per metric."""
    errors: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for point in found:
        for estimate in point["estimates"]:
            truth = point["measured"].get(f"{estimate['metric']}@{estimate['device']}")
            if truth is not None:
                errors[estimate["metric"]].append(100 * abs(estimate["value"] - truth) / truth)
    return {metric: round(float(np.mean(values)), 2) for metric, values in errors.items() if values}


def _still_on_front(document: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Measured points that no other one beats; empty where an objective was not measured."""
    question = document["summary"]["question"]
    asked = objectives(question["objectives"], question["devices"], each_device=question["each_device"])
    columns = [{**_of_network(point), **point["measured"]} for point in found]
    needed = [[name.partition(":")[0] for name in quantity.columns] for quantity in asked]
    if not all(name in row for row in columns for names in needed for name in names):
        return ()
    signs = [-1 if quantity.maximised else 1 for quantity in asked]
    values = np.array(
        [
            [sign * max(row[name] for name in names) for sign, names in zip(signs, needed, strict=True)]
            for row in columns
        ]
    )
    kept = nondominated(values)
    return tuple(point["network"] for point, on in zip(found, kept, strict=True) if on)


def _of_network(point: Mapping[str, Any]) -> dict[str, float]:
    return {name: point[name] for name in ("accuracy", "params", "macs")}


def _refitted(dataset: Dataset, board: str, searched_for: str, folder: Path) -> tuple[Path, ...]:
    """Surrogates for a board of another name, for the metrics with enough measurements."""
    if board == searched_for:
        return ()
    from edgeperf.surrogates import adapt, load

    shipped = load(searched_for).trained
    made = []
    for metric, trained in shipped.items():
        rows = dataset.rows[(dataset.rows["device"] == board) & (dataset.rows["metric"] == metric)]
        if len(rows) >= _FEWEST_ROWS:
            made.append(adapt(trained, dataset, device=board, out=folder / f"{board}.{metric}.edgeperf").path)
    return tuple(made)
