"""Training rows without a graph → a surrogate on published columns alone, learned over all boards together.

Such rows are few per board, so boards share one function: prices are pulled towards those of all boards, scaled, and a
Gaussian process takes the board as further coordinates. Limits: it knows the families that it was fitted on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeperf.surrogates.additive import fit_prices
from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.gaussian import GaussianProcess, fit_process, optimise
from edgeperf.surrogates.paper import paper_features
from edgeperf.surrogates.physical import Hyper
from edgeperf.surrogates.rows import Rows, Training
from edgeperf.units import FLOPS_PER_MAC, MILLISECONDS_PER_SECOND

OWN_RIDGE: Final = 100.0
"""Pull of a board's own surcharges towards zero, beside which all boards share one price up to a factor."""
_SHARED_RIDGE: Final = 1e-5
_ROUNDS: Final = 6
_PREFIX: Final = "columns of "


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsSurrogate:
    """Predicts from the paper's features.

    Attributes:
        metric: what it predicts.
        prices: (quantities,) of this board.
        correction: over columns and boards.
        board: (boards,) coordinates of this board.
    """

    metric: str
    prices: Vector
    correction: GaussianProcess
    board: Vector

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) in the metric's unit."""
        where = np.hstack([_coordinates(rows.paper, self.metric), np.tile(self.board, (len(rows), 1))])
        return _costs(rows.paper, self.metric) @ self.prices * np.exp(self.correction.mean(where))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsEnergy:
    """Energy as latency times power, each from the published columns."""

    latency: ColumnsSurrogate
    power: ColumnsSurrogate

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) mJ."""
        return self.latency.predict_rows(rows) * self.power.predict_rows(rows) / MILLISECONDS_PER_SECOND


def fit_columns(training: Training, hyper: Hyper) -> ColumnsSurrogate | ColumnsEnergy | None:
    """The surrogate for rows without a graph, fitted on the families that have such rows; None where there are none."""
    if training.metric == "energy_mj":
        latency, power = (fit_columns(training.of(metric), hyper) for metric in ("latency_ms", "power_mw"))
        if not isinstance(latency, ColumnsSurrogate) or not isinstance(power, ColumnsSurrogate):
            return None
        return ColumnsEnergy(latency=latency, power=power)
    prepared = _prepare(training)
    if prepared is None:
        return None
    prices, where, missed, boards = prepared
    correction = fit_process(where, missed, np.asarray(hyper[_PREFIX + training.metric]))
    return ColumnsSurrogate(metric=training.metric, prices=prices, correction=correction, board=np.eye(boards)[0])


def tune_columns(training: Training, *, seed: int) -> Hyper:
    """Hyper-parameters for `fit_columns`; empty where no row lacks a graph."""
    if training.metric == "energy_mj":
        return tune_columns(training.of("latency_ms"), seed=seed) | tune_columns(training.of("power_mw"), seed=seed)
    prepared = _prepare(training)
    if prepared is None:
        return {}
    _, where, missed, _ = prepared
    return {_PREFIX + training.metric: optimise(where, missed, seed=seed).tolist()}


def _prepare(training: Training) -> tuple[Vector, Matrix, Vector, int] | None:
    """Prices of this board, coordinates and log ratios of the rows of all boards, and how many boards there are."""
    boards = [rows for rows in (_alike(t) for t in (training, *training.elsewhere)) if len(rows)]
    if not boards or boards[0].device != training.rows.device:
        return None
    paper = np.concatenate([rows.paper for rows in boards])
    value = np.concatenate([rows.value for rows in boards])
    board = np.repeat(np.arange(len(boards)), [len(rows) for rows in boards])
    prices = _fit_shared(_costs(paper, training.metric), value, board)
    missed = np.log(value / np.einsum("rq,rq->r", _costs(paper, training.metric), prices[board]))
    where = np.hstack([_coordinates(paper, training.metric), np.eye(len(boards))[board]])
    return prices[0], where, missed, len(boards)


def _alike(training: Training) -> Rows:
    """Rows of the families that have rows without a graph, as far as their columns are known."""
    rows = training.rows
    families = np.unique(rows.family[~rows.has_graph])
    return rows.take(np.isin(rows.family, families) & np.isfinite(rows.paper).all(axis=1))


def _fit_shared(costs: Matrix, value: Vector, board: NDArray[np.intp]) -> Matrix:
    """(boards, costs) prices: a factor per board times shared prices, and surcharges of its own."""
    boards = int(board.max()) + 1
    factor = np.ones(boards)
    for _ in range(_ROUNDS):
        shared = costs @ fit_prices(costs * factor[board][:, None], value, ridge=_SHARED_RIDGE)
        for place in range(boards):
            ratio = shared[board == place] / value[board == place]
            factor[place] = ratio.sum() / (ratio**2).sum()
    scaled = costs * factor[board][:, None]
    own = [scaled * (board == place)[:, None] for place in range(boards)]
    width = costs.shape[1]
    ridge = np.r_[np.full(width, _SHARED_RIDGE), np.full(boards * width, OWN_RIDGE)]
    prices = fit_prices(np.hstack([scaled, *own]), value, ridge=ridge)
    own_prices = prices[width:].reshape(boards, width)
    return np.asarray(factor[:, None] * (prices[:width] + own_prices), dtype=float)


def _columns(paper: Matrix, metric: str) -> dict[str, Vector]:
    return dict(zip(paper_features(metric), paper.T, strict=True))


def _costs(paper: Matrix, metric: str) -> Matrix:
    """(rows, costs) what a network is charged for."""
    of = _columns(paper, metric)
    if metric == "memory_mib":
        return np.column_stack([np.ones(len(paper)), of["params"], of["activations"], of["num_layers"]])
    if metric == "power_mw":
        return np.ones((len(paper), 1))
    return np.column_stack([
        _macs(of),
        of["activations"],
        of["params_conv"],
        of["params_dense"],
        of["num_layers"],
        of["num_batch_norm"] * of["activations"] / of["num_layers"],
    ])  # fmt: skip


def _macs(of: dict[str, Vector]) -> Vector:
    """(rows,) multiply-accumulates, of which weighted neurons and half the FLOPs are two statements.

    Where they contradict each other nothing says which is right, so both weigh the same.
    """
    return np.asarray(np.sqrt(of["weighted_neurons"] * of["flops"] / FLOPS_PER_MAC))


def _coordinates(paper: Matrix, metric: str) -> Matrix:
    """(rows, coordinates) where a network lies; for networks whose weighted neurons are its multiply-accumulates."""
    of = {name: np.maximum(values, 1) for name, values in _columns(paper, metric).items()}
    per_layer = of["activations"] / of["num_layers"] / of["input_size"] ** 2
    if metric == "memory_mib":
        known = np.column_stack([of["params"], of["activations"], of["num_layers"], of["input_size"], per_layer])
        return np.asarray(np.log(known))
    macs = _macs(of)
    logs = np.log(np.column_stack([
        macs,
        of["activations"],
        of["params_conv"],
        of["num_conv"],
        of["num_layers"],
        of["input_size"],
        macs / of["num_conv"],
        macs / of["params_conv"],
        macs / of["activations"],
        per_layer,
    ]))  # fmt: skip
    return np.column_stack([logs, of["num_batch_norm"] / of["num_conv"]])
