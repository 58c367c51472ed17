"""An ONNX file → `Network`, by shape rules of its own; weights are never loaded and external data never opened.

Covers whole graphs of vision networks as Keras, tf2onnx and PyTorch export them (opsets 11 to 20): static shapes but
for the batch, which is taken as 1, and the image size, which `input_size` closes. Records state channels last, so that
the transpositions between the two layouts vanish. What an export folds stays folded: a batch normalisation that became
part of a convolution is a bias here. An addition of weights behind a matrix product is the bias of a dense layer.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from edgeperf.errors import InvalidInput, UnsupportedLayer
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.files import CLOSED_IN_THE_MODEL, CLOSED_ON_READING, EXPECTED
from edgeperf.network.keras_layers import Declarations, declaration
from edgeperf.network.onnx.folding import FOLDABLE, fold, integers
from edgeperf.network.onnx.layout import expected_layouts
from edgeperf.network.onnx.model import Constant, OnnxGraph, OnnxNode, parse_model
from edgeperf.network.onnx.moving import MOVING
from edgeperf.network.onnx.pointwise import POINTWISE
from edgeperf.network.onnx.values import Edge, Emission, Op, Value, recorded
from edgeperf.network.onnx.windows import WINDOWS
from edgeperf.records import Network, Shape

_RULES: Final = {**WINDOWS, **POINTWISE, **MOVING}
_CONSTANT_LIKE: Final = frozenset({"Constant", "Shape", "Size"})

_BROKEN: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)

MAX_FOLDED: Final = 500_000
"""Elements of all constants that are computed while a file is read; shape arithmetic of real graphs takes thousands."""

ADVICE: Final = (
    "State what they do with --declared FILE, or in Python with declared={name or operator: "
    "{'output_shape': (H, W, C), 'params': N, 'macs': N, "
    "'flops': N}}, or export with another opset."
)


def network_from_onnx(
    path: Path,
    *,
    input_size: Shape | None = None,
    declared: Declarations | None = None,
    assembler: Assembler | None = None,
) -> Network:
    """The network of an ONNX file.

    Args:
        path: the file; its external data are not needed.
        input_size: (height, width) that replaces the image inputs' own.
        declared: node name or operator → kind and parameters of operators that the reader lacks.
        assembler: takes the calls of layers; a plain one where None.

    Raises:
        UnsupportedLayer: operators that the reader lacks and nobody declared.
        InvalidInput: the file is no ONNX model, is broken, or its shapes depend on data.
    """
    try:
        graph = _parsed(path)
    except _BROKEN as error:
        raise InvalidInput(
            f"{path.name} is neither a Keras model (archive, HDF5, JSON) nor a readable ONNX file: {_detail(error)}. "
            f"{EXPECTED}"
        ) from error
    try:
        reader = _Reader(graph, input_size, declared or {}, assembler or Assembler())
        offenders = tuple(reader.offenders())
        if offenders:
            raise UnsupportedLayer(path.name, offenders, ADVICE)
        return reader.network(path.stem)
    except UnsupportedLayer:
        raise
    except _BROKEN as error:
        raise InvalidInput(f"{path.name}, read as ONNX, cannot be used: {_detail(error)}.") from error


def _detail(error: Exception) -> str:
    """What is wrong with a file, without a full stop."""
    own = isinstance(error, InvalidInput)
    return str(error).rstrip(".") if own else f"it is malformed ({type(error).__name__}: {str(error)[:200]})"


def _parsed(path: Path) -> OnnxGraph:
    with path.open("rb") as file:
        if not file.read(1):
            raise InvalidInput("it is empty")
        # Mapped, so that only pages with structure are read; the map closes with its last reader.
        graph = parse_model(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    if not graph.nodes:  # as of other files whose bytes happen to pass for fields
        raise InvalidInput("it holds no operators")
    return graph


class _Reader:
    """Walks the nodes in order and keeps what every edge is."""

    def __init__(
        self, graph: OnnxGraph, input_size: Shape | None, declared: Declarations, assembler: Assembler
    ) -> None:
        self._graph = graph
        self._input_size = input_size
        self._declared = declared
        self._assembler = assembler
        self._expected = expected_layouts(graph)
        self._edges: dict[str, Edge] = {**graph.constants, **dict(_constants(graph.nodes))}
        self._uses = _uses(graph)
        self._names: set[str] = set()
        self._biases: set[int] = set()
        self._folded = 0
        self._batch = next((sizes[0] for sizes in graph.inputs.values() if len(sizes) > 1 and sizes[0]), 1)
        self._first_use: dict[tuple[str, str], str] = {}

    def offenders(self) -> Iterator[tuple[str, str]]:
        """(name, operator) of every node that no rule covers."""
        for node in self._graph.nodes:
            known = node.operator in _RULES or node.operator in FOLDABLE or node.operator in _CONSTANT_LIKE
            standard = node.domain in ("", "ai.onnx")
            if not (known and standard) and self._declaration(node) is None:
                yield _name(node), node.operator

    def network(self, name: str) -> Network:
        used = {key: sizes for key, sizes in self._graph.inputs.items() if key in self._uses}
        inputs = [self._input(key, sizes) for key, sizes in used.items()]
        for node in self._graph.nodes:
            if node.operator == "Constant":
                continue
            try:
                self._run(node)
            except InvalidInput as error:
                raise InvalidInput(f"the operator {_name(node)!r} ({node.operator}) cannot be used: {error}") from None
        ends = [self._edges.get(output) for output in self._graph.outputs]
        tensors = [Tensor(end.layer, end.shape) for end in ends if isinstance(end, Value)]
        if not tensors:
            raise InvalidInput("none of its outputs is computed from its inputs")
        network = self._assembler.finish(name, inputs, tensors)
        return replace(network, precision=self._graph.precision, batch_size=self._batch)

    def _input(self, name: str, sizes: tuple[int | None, ...]) -> str:
        """Adds an input; the batch is 1, open image sizes come from `input_size`."""
        first = self._expected.get(name)
        if first is None:
            first = len(sizes) > 3 and sizes[1] in (1, 2, 3, 4) and sizes[-1] not in (1, 2, 3, 4)
        spatial = slice(2, None) if first else slice(1, -1)
        shape = [1, *sizes[1:]] if len(sizes) > 1 else list(sizes)
        if self._input_size is not None and len(shape) == 4:
            shape[spatial] = self._input_size
        if any(size is None for size in shape):
            channels = shape[1 if first else -1]
            advice = CLOSED_ON_READING if len(shape) == 4 and channels is not None else CLOSED_IN_THE_MODEL
            raise InvalidInput(f"the input {name!r} has open sizes: {sizes}. {advice}")
        closed = tuple(size for size in shape if size is not None)
        config = {"shape": recorded(closed, first)}
        (tensor,) = self._assembler.configured(self._unused(name), "InputLayer", config, ())
        self._edges[name] = Value(tensor.layer, closed, first)
        return tensor.layer

    def _run(self, node: OnnxNode) -> None:
        edges = [self._edge(name) for name in node.inputs]
        declared = self._declaration(node)
        if declared is not None:
            self._add(node, _declared(edges, declared, self._expected.get(node.outputs[0]) or False))
        elif node.operator in ("Shape", "Size") and edges and edges[0] is not None:
            self._edges[node.outputs[0]] = _measured(node, edges[0].shape)
        elif not any(isinstance(edge, Value) for edge in edges):
            folded = fold(node, [edge if isinstance(edge, Constant) else None for edge in edges])
            if folded is None:
                raise InvalidInput("it computes constants in a way that no rule covers")
            self._folded += len(folded.values or ())
            if self._folded > MAX_FOLDED:
                raise InvalidInput(f"the graph computes more than {MAX_FOLDED} constants, which no real one does")
            self._edges[node.outputs[0]] = folded
        elif id(node) in self._biases:
            self._edges[node.outputs[0]] = next(edge for edge in edges if isinstance(edge, Value))
        elif node.operator in _RULES:
            op = Op(node, edges, self._expected.get(node.outputs[0]) or False, self._batch)
            self._add(node, _RULES[node.operator](op))
        else:
            raise InvalidInput("it works on the data in a way that no rule covers")

    def _edge(self, name: str) -> Edge | None:
        if not name:
            return None
        if name not in self._edges:
            raise InvalidInput(f"its input {name!r} is produced by no operator before it")
        return self._edges[name]

    def _add(self, node: OnnxNode, result: Emission | Value) -> None:
        """Records what an operator became, a layer or a tensor that passes through."""
        if isinstance(result, Value):
            self._edges[node.outputs[0]] = result
            return
        config = result.config
        if result.kind == "Dense" and not config["use_bias"] and self._bias_behind(node, config["units"]):
            config = {**config, "use_bias": True}
        inputs = [Tensor(value.layer, shape) for value, shape in result.inputs]
        tensors = self._assembler.configured(self._call_name(node, result), result.kind, config, inputs)
        shapes = result.shapes or tuple((1, tensor.shape[-1], *tensor.shape[:-1]) for tensor in tensors)
        for output, tensor, shape in zip(node.outputs, tensors, shapes, strict=False):
            self._edges[output] = Value(tensor.layer, shape, result.channels_first)

    def _call_name(self, node: OnnxNode, result: Emission) -> str:
        """The node's own name, or that of the layer whose weights it uses again."""
        weights = self._edges.get(result.weight or "")
        own = self._unused(_name(node))
        if not isinstance(weights, Constant) or weights.is_integer or weights.shape in ((), (1,)):
            return own
        return self._first_use.setdefault((result.kind, str(result.weight)), own)

    def _unused(self, name: str) -> str:
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{name}_{number}"
        self._names.add(free)
        return free

    def _bias_behind(self, node: OnnxNode, units: int) -> bool:
        """Whether the only use of a matrix product is an addition of one weight per unit."""
        uses = self._uses.get(node.outputs[0], ())
        if len(uses) != 1 or uses[0] is None or uses[0].operator != "Add":
            return False
        others = [self._edges.get(name) for name in uses[0].inputs if name != node.outputs[0]]
        held = others[0] if len(others) == 1 else None
        if isinstance(held, Constant) and held.shape and held.shape[-1] == units and _count(held.shape) == units:
            self._biases.add(id(uses[0]))
            return True
        return False

    def _declaration(self, node: OnnxNode) -> tuple[str, Mapping[str, Any]] | None:
        return declaration(_name(node), node.operator, self._declared) if self._declared else None


def _name(node: OnnxNode) -> str:
    return node.name or (node.outputs[0] if node.outputs else node.operator)


def _constants(nodes: Sequence[OnnxNode]) -> Iterator[tuple[str, Constant]]:
    """Results of the operators that state a constant."""
    for node in nodes:
        if node.operator != "Constant" or not node.outputs:
            continue
        for key, value in node.attributes.items():
            if isinstance(value, Constant):
                yield node.outputs[0], value
            elif key in ("value_int", "value_float"):
                yield node.outputs[0], Constant((), (value,), key == "value_int")
            elif key in ("value_ints", "value_floats"):
                yield node.outputs[0], Constant((len(value),), value, key == "value_ints")


def _uses(graph: OnnxGraph) -> dict[str, list[OnnxNode | None]]:
    """Tensor → nodes that take it; None stands for the caller of the graph."""
    uses: dict[str, list[OnnxNode | None]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            uses.setdefault(name, []).append(node)
    for name in graph.outputs:
        uses.setdefault(name, []).append(None)
    return uses


def _measured(node: OnnxNode, shape: Shape) -> Constant:
    if node.operator == "Size":
        return Constant((), (_count(shape),), True)
    return integers(shape[node.attributes.get("start", 0) : node.attributes.get("end", len(shape))])


def _count(shape: Shape) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _declared(edges: Sequence[Edge | None], declared: tuple[str, Mapping[str, Any]], channels_first: bool) -> Emission:
    """A declared operator; its stated output shape has the channels last."""
    kind, config = declared
    inputs = tuple((edge, recorded(edge.shape, edge.channels_first)) for edge in edges if isinstance(edge, Value))
    stated = config.get("output_shape") or (inputs[0][1] if inputs else ())
    shape = tuple(stated)
    native = (1, shape[-1], *shape[:-1]) if channels_first and shape else (1, *shape)
    return Emission(kind, {**config}, inputs, (native,), channels_first)
