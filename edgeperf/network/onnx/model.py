"""The bytes of an ONNX model → its graph as plain records; of weights only the shapes.

Reference: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto (field numbers).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.onnx import wire
from edgeperf.records import Shape

MAX_VALUES: Final = 1024
"""Tensors of up to so many elements are read, since shapes are computed from them; larger ones are weights."""

MAX_NODES: Final = 100_000

_INTEGER_FORMATS: Final = {2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 12: "I", 13: "Q"}
_FLOAT_FORMATS: Final = {1: "f", 10: "e", 11: "d"}
_PRECISIONS: Final = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor that the model holds.

    Attributes:
        shape: () for a scalar.
        values: its elements in order where they are few, else None.
        is_integer: whether it holds integers, as shapes and indices do and weights do not.
        computed_from: number of weights that it was computed from, as a gathered table is; None where it is stored.
        precision: of its floating-point numbers; None where they are of another kind, or it is not stored.
    """

    shape: Shape
    values: tuple[Any, ...] | None
    is_integer: bool
    computed_from: int | None = None
    precision: str | None = None

    @property
    def weights(self) -> int:
        """Number of weights that it stands for; a single number is none."""
        if self.computed_from is not None:
            return self.computed_from
        count = math.prod(self.shape)
        return count if count > 1 and not self.is_integer else 0


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One operator of the graph."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """The main graph of a model.

    Attributes:
        inputs: name → sizes, None where one is open; initialisers that are listed as inputs are left out.
        opset: version of the standard operators.
    """

    name: str
    inputs: Mapping[str, tuple[int | None, ...]]
    outputs: tuple[str, ...]
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, Constant]
    opset: int

    @property
    def precision(self) -> str:
        """The one in which most stored weights are; ``"float32"`` where there are none."""
        counts: dict[str, int] = {}
        for constant in self.constants.values():
            if constant.precision is not None:
                counts[constant.precision] = counts.get(constant.precision, 0) + constant.weights
        return max(counts, key=counts.__getitem__, default="float32")


def parse_model(data: memoryview) -> OnnxGraph:
    """The main graph of a serialised ``ModelProto``.

    Raises:
        InvalidInput: the bytes are no such model.
    """
    opset, graph = 0, None
    for number, value in wire.fields(data):
        if number == 7:
            graph = wire.message(value)
        elif number == 8:
            domain, version = _opset(wire.message(value))
            if domain in ("", "ai.onnx"):
                opset = version
        elif number == 25:
            raise InvalidInput("it holds functions of its own; export it again with them inlined")
    if graph is None:
        raise InvalidInput("it holds no graph")
    return _graph(graph, opset)


def _opset(data: memoryview) -> tuple[str, int]:
    domain, version = "", 0
    for number, value in wire.fields(data):
        if number == 1:
            domain = wire.text(value)
        elif number == 2 and isinstance(value, int):
            version = value
    return domain, version


def _graph(data: memoryview, opset: int) -> OnnxGraph:
    name, nodes, outputs = "", [], []
    inputs: dict[str, tuple[int | None, ...]] = {}
    constants: dict[str, Constant] = {}
    for number, value in wire.fields(data):
        if number == 1:
            nodes.append(_node(wire.message(value)))
            if len(nodes) > MAX_NODES:
                raise InvalidInput(f"it has more than {MAX_NODES} operators, which no real model has")
        elif number == 2:
            name = wire.text(value)
        elif number == 5:
            key, constant = _tensor(wire.message(value))
            constants[key] = constant
        elif number == 11:
            key, sizes = _value_info(wire.message(value))
            inputs[key] = sizes
        elif number == 12:
            outputs.append(_value_info(wire.message(value))[0])
    real = {key: sizes for key, sizes in inputs.items() if key not in constants}
    return OnnxGraph(name, real, tuple(outputs), tuple(nodes), constants, opset)


def _node(data: memoryview) -> OnnxNode:
    inputs, outputs, attributes = [], [], {}
    texts = {3: "", 4: "", 7: ""}
    for number, value in wire.fields(data):
        if number == 1:
            inputs.append(wire.text(value))
        elif number == 2:
            outputs.append(wire.text(value))
        elif number in texts:
            texts[number] = wire.text(value)
        elif number == 5:
            key, attribute = _attribute(wire.message(value))
            attributes[key] = attribute
    return OnnxNode(texts[3], texts[4], texts[7], tuple(inputs), tuple(outputs), attributes)


def _attribute(data: memoryview) -> tuple[str, Any]:
    """Name and value: a number, a text, a list of them, or a `Constant`; None for graphs."""
    name, repeated = "", False
    value: Any = None
    several: list[Any] = []
    for number, raw in wire.fields(data):
        if number == 1:
            name = wire.text(raw)
        elif number == 2:
            value = wire.number32(raw)
        elif number == 3 and isinstance(raw, int):
            value = wire.signed(raw)
        elif number == 4:
            value = wire.text(raw)
        elif number == 5:
            value = _tensor(wire.message(raw))[1]
        elif number == 7:
            repeated = True
            several += _floats(wire.message(raw))
        elif number == 8:
            repeated = True
            several += wire.integers(raw)
        elif number == 9:
            repeated = True
            several.append(wire.text(raw))
    if len(several) > MAX_VALUES:
        raise InvalidInput(f"the attribute {name!r} has more than {MAX_VALUES} values")
    return name, tuple(several) if repeated else value


def _floats(data: memoryview) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data[: len(data) // 4 * 4]))


def _tensor(data: memoryview) -> tuple[str, Constant]:
    """Name and content; elements are decoded only where they are few and stand in the file itself."""
    dims: list[int] = []
    kind, name, raw, external = 0, "", None, False
    listed: list[memoryview | int] = []
    for number, value in wire.fields(data):
        if number == 1:
            dims += wire.integers(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8:
            name = wire.text(value)
        elif number == 9:
            raw = wire.message(value)
        elif number in (4, 5, 7):
            listed.append(value)
        elif number == 14:
            external = value == 1
    if any(not 0 <= size < 2**40 for size in dims) or len(dims) > 16:
        raise InvalidInput(f"the tensor {name!r} has an impossible shape")
    shape = tuple(dims)
    few = math.prod(shape) <= MAX_VALUES and not external
    values = _elements(kind, raw, listed, math.prod(shape)) if few else None
    return name, Constant(shape, values, kind in _INTEGER_FORMATS, precision=_PRECISIONS.get(kind))


def _elements(kind: int, raw: memoryview | None, listed: list[memoryview | int], count: int) -> tuple[Any, ...] | None:
    code = _INTEGER_FORMATS.get(kind) or _FLOAT_FORMATS.get(kind)
    if code is None:
        return None
    if raw is not None and len(raw):
        size = struct.calcsize(f"<{code}") * count
        return struct.unpack(f"<{count}{code}", raw) if len(raw) == size else None
    values: list[Any] = []
    for value in listed:
        if kind in _INTEGER_FORMATS:
            values += wire.integers(value)
        elif kind == 1:
            values += _floats(wire.message(value))
    return tuple(values) if len(values) == count else None


def _value_info(data: memoryview) -> tuple[str, tuple[int | None, ...]]:
    name = ""
    sizes: tuple[int | None, ...] = ()
    for number, value in wire.fields(data):
        if number == 1:
            name = wire.text(value)
        elif number == 2:
            sizes = _type_sizes(wire.message(value))
    return name, sizes


def _type_sizes(data: memoryview) -> tuple[int | None, ...]:
    """Sizes of a ``TypeProto`` that is a tensor's."""
    for number, tensor in wire.fields(data):
        if number == 1:
            for inner, shape in wire.fields(wire.message(tensor)):
                if inner == 2:
                    return tuple(
                        _dimension(wire.message(dim)) for key, dim in wire.fields(wire.message(shape)) if key == 1
                    )
    return ()


def _dimension(data: memoryview) -> int | None:
    for number, value in wire.fields(data):
        if number == 1 and isinstance(value, int):
            return value if 0 < value < 2**40 else None
    return None
