"""A trained surrogate and a dataset of another board → a surrogate for that board, and what to measure next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from edgeperf.datasets import Dataset, load
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.cards import card_text
from edgeperf.surrogates.gaussian import matern
from edgeperf.surrogates.intervals import LEVEL, Interval, weighted_quantile
from edgeperf.surrogates.ranges import Measured, coordinates
from edgeperf.surrogates.rows import Rows, corpus
from edgeperf.surrogates.store import Trained, read, write
from edgeperf.surrogates.transfer import transfer

FEWEST: Final = 5
"""Measurements below which an interval would be a guess."""
ADVISED: Final = 5
_ADVICE_LENGTH: Final = 4.0
_ADVICE_NOISE: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """What `adapt` made.

    Attributes:
        path: the new surrogate's file.
        rows: measurements that it was fitted on.
        left_out_mape: percent, each measurement predicted from the others.
        source_mape: percent, of the source surrogate times one factor.
        advice: names of measured networks of the source board that would tell the most, most telling first.
    """

    path: Path
    rows: int
    left_out_mape: float
    source_mape: float
    advice: tuple[str, ...]


def adapt(surrogate: Path | str | Trained, data: Dataset | Path | str, *, device: str, out: Path | str) -> Adapted:
    """Writes a surrogate of the same metric for another board.

    Args:
        surrogate: a `.edgeperf` file, or what `read` gave.
        data: measurements of the other board, 10 to 50 of networks that differ; a dataset or its folder.
        device: name of the other board in the data.
        out: file to write.

    Raises:
        InvalidInput: too few measurements, or no graphs of the networks.
        IncompatibleData: the surrogate is for this very board.
    """
    trained = surrogate if isinstance(surrogate, Trained) else read(Path(surrogate))
    dataset = data if isinstance(data, Dataset) else load(data)
    if trained.device == device:
        raise IncompatibleData(
            f"device: the surrogate is for {trained.device!r}, the measurements are of {device!r} too. Use `edgeperf "
            "train` for a board with measurements of its own, or name the measured board as another device."
        )
    rows = _measurements(dataset, trained, device)
    fitted = transfer(trained.surrogate, rows.features, rows.value)
    log_ratio = np.log(rows.value / trained.surrogate.predict(rows.features))
    adapted = Trained(
        device=device,
        metric=trained.metric,
        algorithm=f"{trained.algorithm} transferred from {trained.device}",
        surrogate=fitted.surrogate,
        interval=_interval(fitted.left_out, trained.interval),
        measured=trained.measured,
        card=_card(trained, dataset, rows, fitted.left_out),
    )
    path = Path(out)
    write(adapted, path)
    path.with_suffix(".md").write_text(card_text(adapted), encoding="utf-8")
    return Adapted(
        path=path,
        rows=len(rows),
        left_out_mape=_mape(fitted.left_out),
        source_mape=_mape(log_ratio - log_ratio.mean()),
        advice=tuple(advise(trained.measured, count=ADVISED, known=rows.features)),
    )


def advise(candidates: Measured, *, count: int, known: Matrix | None = None) -> list[str]:
    """Networks to measure on a new board, the most telling first.

    Each is the network about which those before it leave the most uncertainty, so that together they span what the
    source board's surrogate knows.

    Args:
        candidates: networks to choose from, e.g. `Trained.measured`.
        count: how many.
        known: (rows, features) of networks that were measured on the new board already.

    Reference: Krause, Singh, Guestrin: "Near-Optimal Sensor Placements in Gaussian Processes", JMLR 9, 2008, section 3.
    """
    points = np.asarray(candidates.points, dtype=float) / _ADVICE_LENGTH
    given = np.empty((0, points.shape[1])) if known is None else coordinates(known).astype(float) / _ADVICE_LENGTH
    everything = np.vstack([given, points])
    uncertainty = np.ones(len(everything))
    factor = np.zeros((len(everything), len(given) + count))
    chosen: list[int] = []
    for step in range(min(len(given) + count, len(everything))):
        pick = step if step < len(given) else len(given) + int(uncertainty[len(given) :].argmax())
        column = matern(everything, everything[[pick]])[:, 0] - factor[:, :step] @ factor[pick, :step]
        factor[:, step] = column / np.sqrt(uncertainty[pick] + _ADVICE_NOISE)
        uncertainty = np.maximum(uncertainty - factor[:, step] ** 2, 0)
        if step >= len(given):
            chosen.append(pick - len(given))
            uncertainty[pick] = -1
    return [candidates.names[place] for place in chosen]


def _measurements(dataset: Dataset, trained: Trained, device: str) -> Rows:
    rows = corpus(dataset).rows(device, trained.metric)
    known = rows.take(rows.has_graph)
    if len(known) < FEWEST:
        raise InvalidInput(
            f"{dataset.provenance.name} has {len(known)} measurement(s) of {trained.metric} on {device} of networks "
            f"whose graph is known; {FEWEST} are needed, 10 to 50 advised. Most telling: "
            f"{', '.join(advise(trained.measured, count=ADVISED, known=known.features))}."
        )
    return known


def _interval(left_out: Vector, source: Interval) -> Interval:
    """From errors on left-out measurements; outside the measured range it grows as the source's does."""
    level = min(1.0, LEVEL * (1 + 1 / len(left_out)))
    base = weighted_quantile(np.abs(left_out), np.ones(len(left_out)), level)
    return Interval(base=base, step=0.0, near=0.0, far=source.far)


def _mape(log_ratio: Vector) -> float:
    return float(100 * np.mean(np.abs(np.exp(-log_ratio) - 1)))


def _card(trained: Trained, dataset: Dataset, rows: Rows, left_out: Vector) -> dict[str, object]:
    provenance = dataset.provenance
    return {
        **trained.card,
        "data": f"{provenance.name}, transferred from {trained.card['data']} ({trained.device})",
        "source": provenance.source,
        "cite": provenance.cite,
        "licence": provenance.licence,
        "meaning": provenance.meaning.get(rows.metric, ""),
        "table_sha256": dataset.sha256(),
        "rows": len(rows),
        "networks": len(np.unique(rows.network)),
        "models": len(np.unique(rows.model)),
        "families": sorted(map(str, np.unique(rows.family))),
        "label_range": [float(rows.value.min()), float(rows.value.max())],
        "cv_mape": {"left out": round(_mape(left_out), 3)},
        "cv_mape_in_range": {},
        "tested": {},
    }
