"""Operation and data sheet → time, by non-negative prices that hold on every GPU.

A call takes as long as the host needs to launch it or the GPU to run it, whichever is longer:
t = (h^6 + (sum of price x term)^6)^(1/6). The terms of a kind with weights or products, each in ms at the rate that the
data sheet gives:

* a constant, and one that shrinks with the clock;
* arithmetic: operations / sustained peak (`GpuSpec.sustained_gflops`);
* energy: operations x process node / power limit. A board that cannot feed its peak lowers its clock; energy per
  operation falls with the node;
* waves: tiles of the matrix product run in whole waves over the multiprocessors; the quickest of nine tile sizes;
* Winograd waves: the same for the 36 products of F(4x4, 3x3), for 3x3 windows of stride 1;
* depth: a dot product is a chain of that many dependent steps, one per clock;
* inputs, outputs, weights at memory bandwidth, and again at the rate of the load/store units, through which every
  element passes whatever the memory delivers; and two operands per multiply-accumulate there, in part reused.

Kinds without products have the constant and bytes at memory bandwidth alone.

Reference: Qi, Sparks, Talwalkar, Paleo, ICLR 2017, for priced sums; Lee et al., NeuSight, ASPLOS 2025, for waves of
tiles; Lavin, Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016, for Winograd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.layerwise.quantities import Array, quantities

if TYPE_CHECKING:
    import pandas as pd

PRODUCT_TERMS: Final = (
    *("constant", "cycles", "arithmetic", "energy", "waves", "winograd_waves", "depth"),
    *("read", "written", "weights", "loads", "stores", "weight_loads", "product_loads"),
)
MOVING_TERMS: Final = ("constant", "moved")
SHARES: Final = tuple(f"share_{name}" for name in PRODUCT_TERMS)
"""Columns that `with_shares` adds beside `physical_ms`."""

_TILES: Final = ((32, 32), (32, 64), (64, 32), (64, 64), (32, 128), (128, 32), (64, 128), (128, 64), (128, 128))
_TILE_DEPTH: Final = 8
_WORDS_PER_CLOCK: Final = 8
"""Tile edges that a multiprocessor takes from the second-level cache: 32 bytes, one sector, per clock."""
_JOULE_PER_OPERATION_AND_NM: Final = 1.25e-12
_SHARPNESS: Final = 6.0
_TOLERANCE: Final = 0.2
_LEAST_MS: Final = 1e-7
"""Of a term that does not apply, so that its logarithm exists."""


class PhysicalTimes:
    """Prices per kind and phase, fitted on relative error; ms.

    Behind the same interface as `edgeperf.layerwise.predictors.OperationPredictor`; tables need the columns `device`
    and `phase`.
    """

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], Array] = {}

    def fit(self, table: pd.DataFrame, labels: Array) -> Self:
        """Learns from measured operations; `labels` in ms, one per row."""
        terms = term_times(table)
        for key, rows in parts(table).items():
            matrix = _matrix(terms, rows)
            occurring = np.concatenate([[True], (matrix > 0).any(axis=0)])
            # What no row has, no row can price; it costs nothing.
            self._logs[key] = np.full(len(occurring), -np.inf)
            self._logs[key][occurring] = _fitted(matrix[:, occurring[1:]], labels[rows])
        return self

    def predict(self, table: pd.DataFrame) -> Array:
        """Ms per row.

        Raises:
            InvalidInput: a kind of operation was not among the training rows.
        """
        terms, found = term_times(table), np.empty(len(table))
        for key, rows in parts(table).items():
            if key not in self._logs:
                known = ", ".join(sorted({kind for kind, _ in self._logs}))
                raise InvalidInput(f"No {key[0]} ({key[1]}) was measured on any GPU. Kinds that were: {known}.")
            logs = self._logs[key]
            running = _matrix(terms, rows) @ np.exp(logs[1:])
            found[rows] = np.exp(np.logaddexp(_SHARPNESS * logs[0], _SHARPNESS * np.log(running)) / _SHARPNESS)
        return found


def with_shares(table: pd.DataFrame, physical_ms: Array) -> pd.DataFrame:
    """Adds `physical_ms`, and each term's share of it before pricing, as a logarithm, for what learns the rest."""
    terms = term_times(table)
    shares = [np.log((terms[name] + _LEAST_MS) / physical_ms) for name in PRODUCT_TERMS]
    return table.assign(physical_ms=physical_ms, **dict(zip(SHARES, shares, strict=True)))


def physical_ms(table: pd.DataFrame) -> Array:
    """What `with_shares` added; a scale for `edgeperf.layerwise.predictors.OneForAll`."""
    return table["physical_ms"].to_numpy(np.float64)


def parts(table: pd.DataFrame) -> dict[tuple[str, str], NDArray[np.int64]]:
    """(kind, phase) → positions of its rows."""
    keys = list(zip(table["kind"].astype(str), table["phase"].astype(str), strict=True))
    places: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return {key: np.array(rows) for key, rows in places.items()}


def term_times(table: pd.DataFrame) -> dict[str, Array]:
    """Name → ms per row that the data sheet gives to each part of the work; zero where a part does not apply."""
    found, sheet = quantities(table), _sheet(table)
    clock, bandwidth = 1e6 * sheet["clock"], 1e6 * sheet["bandwidth"]
    transfers = sheet["sms"] * sheet["load_store"] * clock / 1e3
    operations, weighted = found["operations"], found["macs"] > 0
    batched = (table["kind"] == "MatMul").to_numpy()
    products = np.where(batched, found["batch_size"], found["groups"])
    rows = found["rows"] / np.where(batched, found["batch_size"], 1.0)
    fast = (found["kernel_height"] == 3) & (found["kernel_width"] == 3) & (found["stride"] == 1) & weighted
    patches = fast * found["batch_size"] * np.ceil(found["out_height"] / 4) * np.ceil(found["out_width"] / 4)
    return {
        "constant": np.ones(len(table)),
        "cycles": 1e9 / clock,
        "arithmetic": weighted * operations / sheet["peak"] / 1e6,
        "energy": weighted * operations * _JOULE_PER_OPERATION_AND_NM * 1e3 * sheet["node"] / sheet["power"],
        "waves": _waves(rows, found["columns"], found["depth"], products, sheet),
        "winograd_waves": _waves(
            patches, found["columns"], fast * found["in_channels"] / found["groups"], 36 * products, sheet
        ),
        "depth": found["depth"] / clock * 1e3,
        "read": 4 * found["input_elements"] / bandwidth,
        "written": 4 * found["output_elements"] / bandwidth,
        "weights": 4 * found["weights"] / bandwidth,
        "moved": found["bytes"] / bandwidth,
        "loads": found["input_elements"] / transfers,
        "stores": found["output_elements"] / transfers,
        "weight_loads": found["weights"] / transfers,
        "product_loads": found["macs"] / 4 / transfers,
    }


def _sheet(table: pd.DataFrame) -> dict[str, Array]:
    specs = [gpu(name) for name in table["device"]]
    read = {
        "sms": [spec.sms for spec in specs],
        "clock": [spec.default_clock_mhz for spec in specs],
        "lanes": [spec.sustained_lanes_per_sm for spec in specs],
        "load_store": [spec.load_store_units_per_sm for spec in specs],
        "bandwidth": [spec.memory_bandwidth_gb_s for spec in specs],
        "peak": [spec.sustained_gflops for spec in specs],
        "node": [spec.process_nm for spec in specs],
        "power": [spec.power_limit_w / spec.gpus_on_board for spec in specs],
    }
    return {name: np.array(values, dtype=np.float64) for name, values in read.items()}


def _waves(rows: Array, columns: Array, depth: Array, products: Array, sheet: dict[str, Array]) -> Array:
    """Ms of `products` matrix products in whole waves, in the tile size that is quickest."""
    least = np.full(len(rows), np.inf)
    for high, wide in _TILES:
        tiles = products * np.ceil(rows / high) * np.ceil(columns / wide)
        cycles = high * wide / sheet["lanes"] + (high + wide) / _WORDS_PER_CLOCK
        steps = np.ceil(depth / _TILE_DEPTH) * _TILE_DEPTH
        least = np.minimum(least, np.ceil(tiles / sheet["sms"]) * steps * cycles / (1e3 * sheet["clock"]))
    return least


def _matrix(terms: dict[str, Array], rows: NDArray[np.int64]) -> Array:
    weighted = terms["arithmetic"][rows[0]] > 0
    return np.column_stack([terms[name][rows] for name in (PRODUCT_TERMS if weighted else MOVING_TERMS)])


def _fitted(terms: Array, labels: Array) -> Array:
    """Logarithms of the host's ms and of one price per term.

    Minimises the pseudo-Huber loss of relative errors, quadratic below `_TOLERANCE`, from the non-negative least
    squares of the sum.
    """
    from scipy.optimize import minimize, nnls

    relative = terms / labels[:, None]
    scale = relative.mean(axis=0) + np.finfo(float).tiny
    prices = nnls(relative / scale, np.ones(len(labels)))[0] / scale
    floor = 1e-2 * np.median(labels) / np.maximum(terms.mean(axis=0), 1e-12) / terms.shape[1]
    launch = np.log(np.quantile(labels, 0.05))
    start = np.concatenate([[launch], np.log(np.maximum(prices, floor))])
    start[1] = launch - 1
    target = np.log(labels)

    def loss(logs: Array) -> tuple[float, Array]:
        shares = terms * np.exp(logs[1:])
        running = shares.sum(axis=1)
        total = np.logaddexp(_SHARPNESS * logs[0], _SHARPNESS * np.log(running)) / _SHARPNESS
        error = np.expm1(np.clip(total - target, -20, 3))
        root = np.sqrt(1 + (error / _TOLERANCE) ** 2)
        slope = error / root * (error + 1)
        hosted = np.exp(_SHARPNESS * (logs[0] - total))
        gradient = ((slope * (1 - hosted) / running)[:, None] * shares).mean(axis=0)
        return float(_TOLERANCE**2 * (root - 1).mean()), np.append((slope * hosted).mean(), gradient)

    bounds = [(launch - 3, launch + 3), *((value - 10, value + 8) for value in start[1:])]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x)
