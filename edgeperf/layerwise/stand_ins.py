"""Operations of kinds that were not measured → what they are most like among those that were.

Products are products: a transposed or one-dimensional convolution is taken for a convolution of two dimensions, and a
product of matrices for a dense layer, at its own sizes and multiply-accumulates.

An operation without products takes as long as memory needs to deliver its bytes, and every table holds a kind that does
just that. In training a kernel's bytes are those of its backward pass too, and kinds differ in what that reads::

    relu         forward in, out | backward gradient, output, gradient of the input       5 passes over a tensor
    Add          forward in, in, out | backward none: both inputs get the same gradient   3
    Concatenate  forward in, out | backward none: slices are views                        2
    Multiply     forward in, out | backward 2 for the wide input, 4 for the narrow one    8
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

STAND_IN: Final = "relu"

_STEP_OVER_FORWARD: Final = {"Add": 1.0, "Concatenate": 1.0, "Multiply": 4.0, "Scale": 4.0}
"""Bytes of a training step over those of its forward pass, where they differ from the stand-in's."""

_STAND_IN_STEP_OVER_FORWARD: Final = 2.5
_NOT_APPLICABLE: Final = (
    *("kernel_height", "kernel_width", "stride", "dilation", "pad_height", "pad_width", "weights", "macs"),
)


def as_measured(table: pd.DataFrame, kinds: frozenset[str], *, training: bool) -> pd.DataFrame:
    """The table with kinds that were not measured replaced; unchanged where what they are like was not measured either.

    An operation without products becomes an element-wise pass at the size that moves as many bytes.
    """
    unknown = ~table["kind"].isin(kinds).to_numpy()
    if not unknown.any():
        return table
    found = table.copy()
    products = unknown & (table["macs"] > 0).to_numpy()
    like = _products_like(table[products])
    found.loc[products, "kind"] = like.where(like.isin(kinds), table.loc[products, "kind"])
    if STAND_IN in kinds:
        _pass_over_bytes(found, unknown & ~products, training=training)
    return found


def _products_like(rows: pd.DataFrame) -> pd.Series[Any]:
    """The kind of two-dimensional layer that each product is; one without a window is a dense layer."""
    channelwise = (rows["groups"] > 1) & (rows["groups"] == rows["in_channels"])
    window = rows["kernel_height"] > 0
    return window.map({True: "Conv2D", False: "Dense"}).where(~channelwise, "DepthwiseConv2D")


def _pass_over_bytes(found: pd.DataFrame, unknown: NDArray[np.bool_], *, training: bool) -> None:
    rows = found[unknown]
    moved = (rows["input_elements"] + rows["weights"] + rows["output_elements"]).to_numpy(np.float64) / 2
    if training:
        moved *= rows["kind"].map(_STEP_OVER_FORWARD).fillna(_STAND_IN_STEP_OVER_FORWARD) / _STAND_IN_STEP_OVER_FORWARD
    found.loc[unknown, "kind"] = STAND_IN
    found.loc[unknown, list(_NOT_APPLICABLE)] = 0
    found.loc[unknown, ["groups", "inputs"]] = 1
    for axis in ("height", "width", "channels"):
        found.loc[unknown, f"in_{axis}"] = rows[f"out_{axis}"]
    for side in ("input_elements", "output_elements"):
        found.loc[unknown, side] = moved.astype(np.int64)
