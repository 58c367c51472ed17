"""Operation table → the numbers that predictors read.

`SIZES` are the four features that Sponner et al. add to a layer's own attributes. The others say how a matrix product
of those sizes falls onto a GPU: a convolution is one of `rows` x `columns` x `depth` per group, done in tiles, and
tiles that are not full are paid for all the same.

Reference: Sponner et al., AI-Driven Performance Modeling for AI Inference Workloads, Electronics 2022, for the four
sizes; NVIDIA, Matrix Multiplication Background User's Guide, for tiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgeperf.layerwise.operations import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

SIZES: tuple[str, ...] = ("input_elements", "weights", "output_elements", "operations")
"""The four added features; element counts, and floating-point operations."""

ATTRIBUTES: tuple[str, ...] = tuple(name for name in COLUMNS if name not in ("kind", *SIZES))

_TILE_ROWS, _TILE_COLUMNS, _TILE_DEPTH = 128, 64, 16


def quantities(table: pd.DataFrame) -> dict[str, Array]:
    """Name → one number per row: attributes, the four sizes, and the shape of the matrix product.

    Kinds without products have one operation per element of each window, or per element that an output is computed of,
    and no matrix product (zeros).
    """
    found = {name: table[name].to_numpy(np.float64) for name in (*ATTRIBUTES, *SIZES[:3])}
    window = found["kernel_height"] * found["kernel_width"]
    gathered = found["input_elements"] / np.maximum(1.0, found["inputs"] * found["output_elements"])
    per_output = np.maximum(1.0, np.where(window > 0, window, gathered))
    found["operations"] = np.where(found["macs"] > 0, 2 * found["macs"], per_output * found["output_elements"])
    weighted = found["macs"] > 0
    found["rows"] = weighted * found["batch_size"] * found["out_height"] * found["out_width"]
    found["columns"] = weighted * found["out_channels"] / found["groups"]
    found["depth"] = found["macs"] / np.maximum(1.0, found["rows"] * found["columns"] * found["groups"])
    found["tiles"] = found["groups"] * np.ceil(found["rows"] / _TILE_ROWS) * np.ceil(found["columns"] / _TILE_COLUMNS)
    padded = found["tiles"] * _TILE_ROWS * _TILE_COLUMNS * np.ceil(found["depth"] / _TILE_DEPTH) * _TILE_DEPTH
    found["tile_fill"] = np.where(weighted, found["macs"] / np.maximum(1.0, padded), 0.0)
    found["bytes"] = 4 * (found["input_elements"] + found["weights"] + found["output_elements"])
    found["intensity"] = found["operations"] / found["bytes"]
    # A bias is one more kernel to launch.
    found["has_bias"] = weighted & (
        found["weights"] * found["batch_size"] * found["out_height"] * found["out_width"] > found["macs"]
    )
    found["odd_width"] = found["out_width"] % 2
    found["prime_width"] = _is_prime(found["out_width"])
    return found


QUANTITIES: tuple[str, ...] = (
    *ATTRIBUTES,
    *SIZES,
    *("rows", "columns", "depth", "tiles", "tile_fill", "bytes", "intensity", "has_bias", "odd_width", "prime_width"),
)
"""Names of all quantities, in the order of `quantity_matrix`."""


def quantity_matrix(table: pd.DataFrame, names: tuple[str, ...] = QUANTITIES) -> Array:
    """Quantities as a matrix, one row per operation, one column per name."""
    found = quantities(table)
    return np.column_stack([found[name] for name in names])


def one_hot(table: pd.DataFrame, kinds: tuple[str, ...]) -> Array:
    """One column per kind, then the flags that say which attributes apply (windows, weights, several inputs).

    Reference: Nicolai 2025: one model for all operations, with applicability flags beside one-hot kinds.
    """
    kind = table["kind"].to_numpy()
    flags = (table["kernel_height"] > 0, table["weights"] > 0, table["inputs"] > 1)
    return np.column_stack([*(kind == name for name in kinds), *(flag.to_numpy() for flag in flags)]).astype(np.float64)


def _is_prime(values: Array) -> Array:
    """1 where a value is a prime number of at least 11, whose rows no vector width divides."""
    limit = int(values.max(initial=0)) + 1
    prime = np.ones(max(limit, 2), dtype=bool)
    prime[:2] = False
    for divisor in range(2, int(limit**0.5) + 1):
        prime[divisor * divisor :: divisor] &= ~prime[divisor]
    prime[:11] = False
    return prime[values.astype(np.int64)].astype(np.float64)
