"""Layers of a network → operations: what one kernel call computes, whatever framework asked for it.

An `Operation` is a layer without its name and place. Two layers of the same kind, sizes and settings are one operation
that occurs twice, so measured tables of any source and networks of any format meet in the same columns.

Sizes are those of one call at `batch_size`; multi-input layers count all their inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from edgeperf.errors import InvalidInput
from edgeperf.records import Layer, Shape

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of one kernel; every field is a column of an operation table.

    Attributes:
        kind: the Keras class name, or an activation's own name (``"relu"``, ``"swish"``).
        batch_size: images per call.
        in_height: rows of one input image; tokens of a sequence; 1 for vectors.
        in_width: columns of one input image; 1 for sequences and vectors.
        in_channels: last axis of the first input.
        out_height: as for the input.
        out_width: as for the input.
        out_channels: last axis of the output.
        kernel_height: window; 0 where there is none.
        kernel_width: window; 0 where there is none.
        stride: of the rows; 0 where there is no window.
        dilation: of the rows; 0 where there is no window.
        pad_height: rows added in all.
        pad_width: columns added in all.
        groups: channel groups of a convolution, 1 for other kinds.
        inputs: tensors read beside weights.
        input_elements: of all inputs, batch included.
        output_elements: batch included.
        weights: numbers that the call reads as weights.
        macs: multiply-accumulates, batch included.
    """

    kind: str
    batch_size: int
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel_height: int = 0
    kernel_width: int = 0
    stride: int = 0
    dilation: int = 0
    pad_height: int = 0
    pad_width: int = 0
    groups: int = 1
    inputs: int = 1
    input_elements: int = 0
    output_elements: int = 0
    weights: int = 0
    macs: int = 0


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Operation))
"""Columns of every operation table, in order; `kind` is text, all others are numbers."""


def operation(layer: Layer, batch_size: int = 1) -> Operation:
    """The operation that a layer runs at that batch size.

    Raises:
        InvalidInput: the batch size is below 1.
    """
    if batch_size < 1:
        raise InvalidInput(f"The batch size is {batch_size}; expected 1 or more.")
    first = layer.input_shapes[0] if layer.input_shapes else layer.output_shape
    (in_height, in_width, in_channels), (out_height, out_width, out_channels) = (
        _image(first),
        _image(layer.output_shape),
    )
    kernel_height, kernel_width = _pair(layer.kernel_size, 0)
    pad_height, pad_width = _pair(tuple(sum(both) for both in layer.padding), 0)
    return Operation(
        kind=kind_of(layer),
        batch_size=batch_size,
        in_height=in_height,
        in_width=in_width,
        in_channels=in_channels,
        out_height=out_height,
        out_width=out_width,
        out_channels=out_channels,
        kernel_height=kernel_height,
        kernel_width=kernel_width,
        stride=_pair(layer.strides, 0)[0],
        dilation=_pair(layer.dilation, 0)[0],
        pad_height=pad_height,
        pad_width=pad_width,
        groups=layer.groups,
        inputs=max(1, len(layer.input_shapes)),
        input_elements=batch_size * sum(math.prod(shape) for shape in layer.input_shapes),
        output_elements=batch_size * sum(math.prod(s) for s in (layer.output_shape, *layer.other_output_shapes)),
        weights=layer.weights,
        macs=batch_size * layer.macs,
    )


def kind_of(layer: Layer) -> str:
    """The layer's kind as measured tables name it: activations by their own name, channel-wise convolutions as such."""
    if layer.kind == "Activation":
        return layer.activation
    if layer.kind == "ReLU":
        return "relu"
    if layer.kind == "AdaptiveAveragePooling2D" and layer.output_shape[:2] == (1, 1):
        return "GlobalAveragePooling2D"
    if layer.kind == "Conv2D" and layer.groups > 1 and layer.groups == layer.input_shapes[0][-1]:
        return "DepthwiseConv2D"
    return layer.kind


def operation_table(operations: Iterable[Operation]) -> pd.DataFrame:
    """One row per operation, the columns of `COLUMNS`."""
    import pandas as pd

    return pd.DataFrame(map(attrgetter(*COLUMNS), operations), columns=list(COLUMNS))


def _image(shape: Shape) -> tuple[int, int, int]:
    """Any shape as (rows, columns, channels); axes before the last two count as rows."""
    if not shape:
        return 1, 1, 1
    if len(shape) <= 2:
        return (shape[0] if len(shape) == 2 else 1), 1, shape[-1]
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def _pair(values: Shape, default: int) -> tuple[int, int]:
    """The first two of `values`; one value stands for (value, 1)."""
    if not values:
        return default, default
    return (values[0], values[1]) if len(values) > 1 else (values[0], 1)
