"""ONNX operators on elements, and products of tensors → activations, merges, dense layers and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.elementwise import broadcast
from edgeperf.network.onnx.model import Constant
from edgeperf.network.onnx.shapes import axis_of
from edgeperf.network.onnx.values import Emission, Op, Value, recorded
from edgeperf.records import Shape


def one_to_one(op: Op, kind: str, **config: Any) -> Emission:
    """One layer whose output has the shape and the layout of its input."""
    data = op.data
    view = recorded(data.shape, data.channels_first)
    return Emission(kind, config, ((data, view),), (data.shape,), data.channels_first)


def _activation(name: str) -> Callable[[Op], Emission]:
    return lambda op: one_to_one(op, "Activation", activation=name)


def _clip(op: Op) -> Emission:
    bounds = (op.attribute("min"), op.attribute("max")) if "max" in op.node.attributes else _bounds(op)
    if bounds == (0.0, 6.0):
        return one_to_one(op, "ReLU", max_value=6.0)
    return one_to_one(op, "Activation", activation="clip")


def _bounds(op: Op) -> tuple[Any, Any]:
    low, high = (op.constant(at) for at in (1, 2))
    return tuple(each.values[0] if each and each.values else None for each in (low, high))  # type: ignore[return-value]


def _softmax(op: Op) -> Emission:
    return one_to_one(op, "Softmax")


def _merge(kind: str) -> Callable[[Op], Emission]:
    def emitted(op: Op) -> Emission:
        edges = [edge for edge in op.inputs if edge is not None]
        shape = broadcast(tuple(edge.shape for edge in edges))
        values = [edge for edge in edges if isinstance(edge, Value)]
        first = any(value.channels_first and len(value.shape) == len(shape) for value in values)
        if not first and len(shape) > 2 and not any(len(value.shape) == len(shape) for value in values):
            first = op.channels_first
        inputs = tuple((value, _view(value.shape, len(shape), first)) for value in values)
        constants = [edge for edge in edges if isinstance(edge, Constant)]
        held = tuple(_view(edge.shape, len(shape), first) for edge in constants)
        weights = sum(edge.weights for edge in constants)
        config = {"constant": broadcast(held) if held else None, "weights": weights} if kind != "Where" else {}
        return Emission(kind, config, inputs, (shape,), first, _name_of_constant(op))

    return emitted


def _view(shape: Shape, rank: int, channels_first: bool) -> Shape:
    """`shape`, stretched to `rank` dimensions, as records state it."""
    return recorded((1,) * (rank - len(shape)) + shape, channels_first)


def _name_of_constant(op: Op) -> str | None:
    """Name of the weights that a merge holds, where there are any."""
    pairs = zip(op.node.inputs, op.inputs, strict=True)
    return next((name for name, edge in pairs if isinstance(edge, Constant) and len(edge.shape) > 0), None)


def _gemm(op: Op) -> Emission:
    weights = op.constant(1)
    if weights is None or len(weights.shape) != 2 or op.attribute("transA", 0):
        return _matmul(op)
    fan_in, units = weights.shape[::-1] if op.attribute("transB", 0) else weights.shape
    return _dense(op, fan_in, units, len(op.inputs) > 2 and op.inputs[2] is not None)


def _dense(op: Op, fan_in: int, units: int, use_bias: bool) -> Emission:
    data = op.data
    if not data.shape or data.shape[-1] != fan_in:
        raise InvalidInput(f"a kernel for {fan_in} inputs does not fit an input of shape {data.shape}")
    config = {"units": units, "use_bias": use_bias}
    view = recorded(data.shape, False)
    return Emission("Dense", config, ((data, view),), ((*data.shape[:-1], units),), False, op.node.inputs[1])


def _matmul(op: Op) -> Emission:
    if len(op.inputs) < 2:
        raise InvalidInput("it takes two inputs")
    weights = op.constant(1)
    if weights is not None and len(weights.shape) == 2:
        return _dense(op, *weights.shape, use_bias=False)
    one, other = (edge for edge in op.inputs[:2])
    if one is None or other is None:
        raise InvalidInput("it takes two inputs")
    shape, macs = _product(one.shape, other.shape)
    if isinstance(one, Value) and isinstance(other, Value):
        inputs = ((one, recorded(one.shape, False)), (other, recorded(other.shape, False)))
        if _strips_alike(one.shape, other.shape):
            return Emission("MatMul", {}, inputs, (shape,), False)
    inputs = tuple((value, recorded(value.shape, False)) for value in op.computed())  # type: ignore[assignment]
    held = sum(edge.weights for edge in (one, other) if isinstance(edge, Constant))
    config = {"output_shape": recorded(shape, False), "macs": macs, "params": held}
    return Emission("Declared", config, inputs, (shape,), False, _name_of_constant(op))


def _strips_alike(one: Shape, other: Shape) -> bool:
    """Whether both lose a batch of 1, or neither does, so that the product of what remains is the same."""
    return len(one) == len(other) > 2 and (one[0] == 1) == (other[0] == 1)


def _product(one: Shape, other: Shape) -> tuple[Shape, int]:
    """Shape and multiply-accumulates of a matrix product with leading dimensions."""
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-2]:
        raise InvalidInput(f"it multiplies {one} with {other}, which do not fit")
    shape = (*broadcast((one[:-2], other[:-2])), one[-2], other[-1])
    return shape, _elements(shape) * one[-1]


def _elements(shape: Shape) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _einsum(op: Op) -> Emission:
    equation = str(op.attribute("equation", "")).replace(" ", "")
    left, arrow, target = equation.partition("->")
    edges = [edge for edge in op.inputs if edge is not None]
    sources = left.split(",")
    if not arrow or "." in equation or len(sources) != len(edges):
        raise InvalidInput(f"its equation is {equation!r}, expected one such as 'bid,bjd->bij'")
    sizes: dict[str, int] = {}
    for labels, edge in zip(sources, edges, strict=True):
        if len(labels) != len(edge.shape) or any(
            sizes.setdefault(*pair) != pair[1] for pair in zip(labels, edge.shape, strict=True)
        ):
            raise InvalidInput(f"its equation {equation!r} does not fit its inputs")
    shape = tuple(sizes.get(label, 0) for label in target)
    held = sum(edge.weights for edge in edges if isinstance(edge, Constant))
    macs = _elements(tuple(sizes.values())) if len(edges) > 1 else 0
    config = {"output_shape": recorded(shape, False), "macs": macs, "params": held}
    inputs = tuple((value, recorded(value.shape, False)) for value in op.computed())
    return Emission("Declared", config, inputs, (shape,), False, _name_of_constant(op))


def _layer_norm(op: Op) -> Emission:
    data = op.data
    rank = len(data.shape)
    axis = axis_of(op.attribute("axis", -1), rank)
    biased = len(op.inputs) > 2 and op.inputs[2] is not None
    view = recorded(data.shape, False)
    config = {"axis": tuple(range(axis - rank, 0)), "center": biased}
    if op.node.operator in ("RMSNormalization", "SimplifiedLayerNormalization"):
        return Emission(
            "RMSNormalization", {"axis": config["axis"]}, ((data, view),), (data.shape,), False, op.node.inputs[1]
        )
    return Emission("LayerNormalization", config, ((data, view),), (data.shape,), False, op.node.inputs[1])


_ACTIVATIONS: Final = {
    "Sigmoid": "sigmoid",
    "HardSigmoid": "hard_sigmoid",
    "HardSwish": "hard_swish",
    "Swish": "swish",
    "Tanh": "tanh",
    "Elu": "elu",
    "Selu": "selu",
    "Celu": "celu",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Gelu": "gelu",
    "Mish": "mish",
    "ThresholdedRelu": "threshold",
    "Erf": "erf",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Reciprocal": "reciprocal",
    "Neg": "negative",
    "Abs": "abs",
    "Sign": "sign",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Sin": "sin",
    "Cos": "cos",
    "Not": "logical_not",
}
_COMPARISONS: Final = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor")

POINTWISE: Final[Mapping[str, Callable[[Op], Emission]]] = {
    **{operator: _activation(name) for operator, name in _ACTIVATIONS.items()},
    "Relu": lambda op: one_to_one(op, "ReLU"),
    "LeakyRelu": lambda op: one_to_one(op, "LeakyReLU", negative_slope=op.attribute("alpha", 0.01)),
    "Clip": _clip,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "Add": _merge("Add"),
    "Sum": _merge("Add"),
    "Sub": _merge("Subtract"),
    "Mul": _merge("Multiply"),
    "Div": _merge("Divide"),
    "Mod": _merge("Divide"),
    "Max": _merge("Maximum"),
    "Min": _merge("Minimum"),
    "Mean": _merge("Average"),
    "Pow": _merge("Power"),
    "Where": _merge("Where"),
    **dict.fromkeys(_COMPARISONS, _merge("Compare")),
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _layer_norm,
    "SimplifiedLayerNormalization": _layer_norm,
    "LpNormalization": lambda op: one_to_one(op, "UnitNormalization"),
}
