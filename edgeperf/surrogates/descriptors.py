"""Features → the few numbers in which networks are near or far from each other.

Additive features grow with a network; descriptors are their logarithms and the shares of kinds of work, so that a
distance between descriptors means "so many times larger" or "made of other things".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from edgeperf.network import FEATURE_NAMES
from edgeperf.network.graph_quantities import CONV_CLASSES, DEPTHWISE_CLASSES, PASS_CLASSES, QUANTITY_NAMES
from edgeperf.surrogates.arrays import Matrix, Vector

_PLACE: Final = {name: place for place, name in enumerate(FEATURE_NAMES)}
_FIRST_QUANTITY: Final = len(FEATURE_NAMES) - len(QUANTITY_NAMES)

_SHARES_OF_MACS: Final = ("first", "conv3_strided", "conv_large", "depthwise_strided")
_SHARES_OF_PASSES: Final = ("add", "multiply", "pad", "slice", "shuffle", "pool")

DESCRIPTORS: Final = (
    "log MACs", "log bytes of activations", "log bytes of weights", "log convolutions and dense layers",
    "log element-wise passes", "log input size", "depthwise share of MACs", "pointwise share of MACs",
    "3x3 share of MACs", "concatenated share of bytes", "smooth activations' share of bytes",
    "batch normalisation's share of bytes", "depthwise share of convolutions", "log MACs per convolution",
    "log bytes per call", "log2 of the input size's largest power of two",
    *(f"{name} share of MACs" for name in _SHARES_OF_MACS),
    *(f"{name} share of element-wise traffic" for name in _SHARES_OF_PASSES),
)  # fmt: skip
"""What `descriptors` returns, in order."""


def quantities(features: Matrix) -> Matrix:
    """(rows, quantities) the additive part of `features`, in the order of `QUANTITY_NAMES`."""
    return features[:, _FIRST_QUANTITY:]


def column(features: Matrix, name: str) -> Vector:
    """(rows,) one feature by name."""
    return features[:, _PLACE[name]]


def descriptors(features: Matrix) -> Matrix:
    """(rows, len(DESCRIPTORS)) where networks lie, for features (rows, features)."""
    macs = _total(features, CONV_CLASSES, "macs")
    weights = _total(features, CONV_CLASSES, "bytes_weights")
    convolutions = _total(features, CONV_CLASSES, "count")
    passes = _total(features, PASS_CLASSES, "count")
    passed = _total(features, PASS_CLASSES, "bytes")
    moved = _total(features, CONV_CLASSES, "bytes_out") + passed
    return np.column_stack([
        np.log(macs),
        np.log(moved),
        np.log(weights),
        np.log(convolutions),
        np.log(passes),
        np.log(np.sqrt(np.maximum(column(features, "input_pixels"), 1))),
        _total(features, DEPTHWISE_CLASSES, "macs") / macs,
        column(features, "pointwise_macs") / macs,
        column(features, "conv3_macs") / macs,
        column(features, "concat_bytes") / moved,
        column(features, "smooth_bytes") / moved,
        column(features, "batch_norm_bytes") / moved,
        _total(features, DEPTHWISE_CLASSES, "count") / convolutions,
        np.log(macs / convolutions),
        np.log(moved / (convolutions + passes)),
        _alignment(column(features, "input_width")),
        *(column(features, f"{name}_macs") / macs for name in _SHARES_OF_MACS),
        *(column(features, f"{name}_bytes") / passed for name in _SHARES_OF_PASSES),
    ])  # fmt: skip


_SHARES: Final = (
    (CONV_CLASSES, "macs", "multiply-accumulates in {} layers"),
    (PASS_CLASSES, "bytes", "element-wise traffic in {} layers"),
    ((*CONV_CLASSES, *PASS_CLASSES), "count", "launches in {} layers"),
)
COMPOSITION: Final = tuple(text.format(name) for classes, _, text in _SHARES for name in classes)
"""What `composition` returns, in order, in words."""


def composition(features: Matrix) -> Matrix:
    """(rows, shares) what networks are made of: shares of work, traffic and launches by class of layer."""
    parts = []
    for classes, quantity, _ in _SHARES:
        values = np.column_stack([column(features, f"{name}_{quantity}") for name in classes])
        parts.append(values / np.maximum(values.sum(axis=1, keepdims=True), 1))
    return np.hstack(parts)


def _alignment(size: Vector) -> Vector:
    """(rows,) how often `size` halves evenly: 512 pixels fill tiles at every depth of a network, 500 do not."""
    whole = np.maximum(size, 1).astype(np.int64)
    halvings: Vector = np.log2((whole & -whole).astype(float))
    return halvings


def _total(features: Matrix, classes: Iterable[str], quantity: str) -> Vector:
    """Sum over classes, at least 1 so that its logarithm exists."""
    total: Vector = np.sum([column(features, f"{name}_{quantity}") for name in classes], axis=0)
    return np.maximum(total, 1.0)
