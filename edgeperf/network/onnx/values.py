"""What flows along the edges of an ONNX graph, and the view of one operator on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.onnx.model import Constant, OnnxNode
from edgeperf.records import Shape


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor that is computed.

    Attributes:
        layer: name of the layer that puts it out.
        shape: as ONNX has it, with the batch.
        channels_first: whether channels come right behind the batch; records always state them last.
    """

    layer: str
    shape: Shape
    channels_first: bool


Edge = Value | Constant


def recorded(shape: Shape, channels_first: bool) -> Shape:
    """A shape as records state it: no batch of 1, channels last.

    >>> recorded((1, 64, 56, 56), True)
    (56, 56, 64)
    """
    bare = shape[1:] if shape and shape[0] == 1 else shape
    return (*bare[1:], bare[0]) if channels_first and len(bare) > 1 else bare


def position(axis: int, rank: int, channels_first: bool) -> int:
    """An ONNX axis of a tensor of `rank` dimensions, as the kind table counts it: batch 0, channels last.

    >>> position(1, 4, True)
    3
    """
    if not channels_first or axis == 0:
        return axis
    return rank - 1 if axis == 1 else axis - 1


@dataclass(frozen=True, slots=True)
class Op:
    """One operator with its inputs at hand.

    Attributes:
        inputs: in order; None where an optional one is left out.
        channels_first: what the consumers of the output expect, where the operator itself does not tell.
        batch: images that the export was made with, which its shapes may repeat; the reader takes one.
    """

    node: OnnxNode
    inputs: Sequence[Edge | None]
    channels_first: bool
    batch: int = 1

    def attribute(self, name: str, default: Any = None) -> Any:
        """The attribute `name`, or `default`."""
        value = self.node.attributes.get(name)
        return default if value is None else value

    @property
    def data(self) -> Value:
        """The first input, which is computed.

        Raises:
            InvalidInput: it is a constant or missing.
        """
        first = self.inputs[0] if self.inputs else None
        if not isinstance(first, Value):
            raise InvalidInput("its first input is no computed tensor")
        return first

    def constant(self, at: int) -> Constant | None:
        """The input `at` where it is a constant."""
        edge = self.inputs[at] if at < len(self.inputs) else None
        return edge if isinstance(edge, Constant) else None

    def numbers(self, at: int, attribute: str | None = None) -> tuple[Any, ...] | None:
        """The values of the input `at`, or of an attribute of older opsets; None where neither is stated.

        Raises:
            InvalidInput: the input depends on data.
        """
        if at < len(self.inputs) and self.inputs[at] is not None:
            constant = self.constant(at)
            if constant is None or constant.values is None:
                raise InvalidInput("its parameters depend on the data")
            return constant.values
        value = self.node.attributes.get(attribute) if attribute else None
        return tuple(value) if isinstance(value, tuple) else None

    def computed(self) -> list[Value]:
        """All inputs that are computed, in order."""
        return [edge for edge in self.inputs if isinstance(edge, Value)]


@dataclass(frozen=True, slots=True)
class Emission:
    """What an operator becomes: one layer.

    Attributes:
        kind: of the table.
        config: the layer's parameters.
        inputs: the tensors that it takes, with the shapes that the kind's rule wants.
        shapes: of the outputs, as ONNX has them; None where the kind's rule tells.
        channels_first: layout of the outputs.
        weight: the constant by which calls of a shared layer are recognised.
    """

    kind: str
    config: dict[str, Any]
    inputs: tuple[tuple[Value, Shape], ...]
    shapes: tuple[Shape, ...]
    channels_first: bool
    weight: str | None = None
