"""An operation in a functional graph (`keras.ops`, TensorFlow functions of Keras 2) → a kind and its configuration.

``x * 2 + 1``, ``keras.ops.mean(x, axis=(1, 2))`` or ``x[:, ::2]`` stand in a model's configuration as nodes of their
own. Where a layer does the same, the node becomes that layer's kind. Axis 0 is the batch, which no operation may touch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.keras_nodes import Node, Range, plain
from edgeperf.network.kinds.spec import as_integer, axis_without_batch, elements
from edgeperf.network.kinds.tensors import ELLIPSIS, NEW_AXIS

Translated = tuple[str, dict[str, Any]]


def translate(node: Node) -> Translated:
    """Kind and configuration of an operation.

    Raises:
        InvalidInput: its parameters do not fit, or it works across the batch.
    """
    return _TRANSLATIONS[canonical_operation(node.name)](node)


def is_known(name: str) -> bool:
    """Whether `translate` takes an operation of class or function `name`."""
    return canonical_operation(name) in _TRANSLATIONS


def canonical_operation(name: str) -> str:
    """The `keras.ops` class of a TensorFlow function: ``"math.reduce_mean"`` is ``"Mean"``."""
    bare = name.rpartition(".")[2]
    if bare == name and name[:1].isupper():
        return name
    camel = "".join(part.title() for part in bare.removeprefix("reduce_").split("_"))
    return _FUNCTIONS.get(bare, camel)


_FUNCTIONS: Final = {
    "sub": "Subtract",
    "mul": "Multiply",
    "truediv": "Divide",
    "div_no_nan": "Divide",
    "pow": "Power",
    "concat": "Concatenate",
    "swish": "Silu",
    "getitem": "GetItem",
    "matmul": "Matmul",
    "clip_by_value": "Clip",
    "max_pool2d": "MaxPool",
    "avg_pool2d": "AveragePool",
    "resize": "Resize",
}


def _same(kind: str, **config: Any) -> Callable[[Node], Translated]:
    return lambda _: (kind, config)


def _activation(name: str) -> Callable[[Node], Translated]:
    return _same("Activation", activation=name)


def _reduction(function: str) -> Callable[[Node], Translated]:
    def translated(node: Node) -> Translated:
        axes, keepdims = node.value("axis"), bool(node.value("keepdims", default=False) is True)
        several = axes if isinstance(axes, tuple) or axes is None else (axes,)
        if several is None:
            raise InvalidInput("it reduces over all axes, the batch among them")
        positions = {axis_without_batch(axis, len(node.shape)) for axis in several}
        if function in _GLOBAL and len(node.shape) == 3 and positions == {0, 1}:
            return _GLOBAL[function], {"keepdims": keepdims}
        return "Reduce", {"function": function, "axes": several, "keepdims": keepdims}

    return translated


_GLOBAL: Final = {"mean": "GlobalAveragePooling2D", "max": "GlobalMaxPooling2D"}


def _reshape(node: Node) -> Translated:
    target = node.value("newshape", "shape")
    if not isinstance(target, tuple) or not target:
        raise InvalidInput(f"its new shape is {target!r}, expected a list of sizes")
    rest = tuple(-1 if size is None else as_integer(size, "newshape", least=-1) for size in target[1:])
    if target[0] not in (None, -1, 1) or (
        target[0] == -1 and -1 not in rest and elements(rest) != elements(node.shape)
    ):
        raise InvalidInput(f"it reshapes across the batch, to {target}")
    return "Reshape", {"target_shape": rest}


def _permuted(order: tuple[int, ...]) -> Translated:
    if order[0] != 0:
        raise InvalidInput("it moves the batch axis")
    return "Permute", {"dims": order[1:]}


def _transpose(node: Node) -> Translated:
    axes = node.value("axes", "perm", default=tuple(range(len(node.shape), -1, -1)))
    rank = len(node.shape) + 1
    return _permuted(tuple(as_integer(axis, "axes", least=-rank) % rank for axis in axes))


def _swap(node: Node) -> Translated:
    rank = len(node.shape) + 1
    order = list(range(rank))
    one, other = (as_integer(node.config[key], key, least=-rank) % rank for key in ("axis1", "axis2"))
    order[one], order[other] = order[other], order[one]
    return _permuted(tuple(order))


def _move(node: Node) -> Translated:
    rank = len(node.shape) + 1
    ends = [plain(node.config[key]) for key in ("source", "destination")]
    sources, targets = [
        [as_integer(axis, "axis", least=-rank) % rank for axis in (end if isinstance(end, tuple) else (end,))]
        for end in ends
    ]
    order = [axis for axis in range(rank) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return _permuted(tuple(order))


def _expand(node: Node) -> Translated:
    axis = node.value("axis")
    sizes = list(node.shape)
    for each in axis if isinstance(axis, tuple) else (axis,):
        sizes.insert(axis_without_batch(each, len(sizes) + 1), 1)
    return "Reshape", {"target_shape": tuple(sizes)}


def _squeeze(node: Node) -> Translated:
    axis = node.value("axis")
    several = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    dropped = {axis_without_batch(each, len(node.shape)) for each in several}
    if axis is None:
        dropped = {position for position, size in enumerate(node.shape) if size == 1}
    if any(node.shape[position] != 1 for position in dropped):
        raise InvalidInput(f"it squeezes an axis of {node.shape} that is not 1")
    kept = tuple(size for position, size in enumerate(node.shape) if position not in dropped)
    return "Reshape", {"target_shape": kept}


def _get_item(node: Node) -> Translated:
    key = node.value("slice_spec") if "slice_spec" in node.named else node.args[1]
    index = key if isinstance(key, tuple) and not isinstance(key, Range) else (key,)
    if index[0] == Range(None, None, None):
        index = index[1:]
    elif index[0] != ELLIPSIS:
        raise InvalidInput("it takes a part of the batch")
    items = [NEW_AXIS if item is None else tuple(item) if isinstance(item, Range) else item for item in index]
    return "Slice", {"index": tuple(items)}


def _split(node: Node) -> Translated:
    parts = node.value("indices_or_sections", "num_or_size_splits")
    if isinstance(parts, tuple) and "num_or_size_splits" in node.named:
        parts = tuple(sum(parts[: end + 1]) for end in range(len(parts) - 1))
    return "Split", {"parts": parts, "axis": node.config.get("axis", node.named.get("axis", -1))}


def _behind_batch(value: Any, identity: Any) -> Any:
    """What a parameter with one value per axis says behind the batch, where it must leave things as they are."""
    if not isinstance(value, tuple) or not value or value[0] not in (identity, None):
        raise InvalidInput(f"{value!r} touches the batch")
    return value[1:]


def _repeat(node: Node) -> Translated:
    axis = axis_without_batch(node.config["axis"], len(node.shape))
    factor = as_integer(node.config["repeats"], "repeats", least=1)
    return "Tile", {"repeats": tuple(factor if each == axis else 1 for each in range(len(node.shape)))}


def _pool(function: str) -> Callable[[Node], Translated]:
    def translated(node: Node) -> Translated:
        config = {
            "pool_size": node.value("pool_size", "ksize"),
            "strides": node.value("strides"),
            "padding": str(node.value("padding", default="valid")).lower(),
            "data_format": node.config.get("data_format"),
        }
        return f"{function}Pooling{len(node.shape) - 1}D", config

    return translated


def _resize(node: Node) -> Translated:
    height, width = node.value("size")
    interpolation = node.value("interpolation", "method", default="bilinear")
    return "Resizing", {
        "height": height,
        "width": width,
        "interpolation": interpolation if isinstance(interpolation, str) else "bilinear",
        "data_format": node.config.get("data_format"),
    }


def _broadcast_to(node: Node) -> Translated:
    return "BroadcastTo", {"shape": node.value("shape")[1:]}


def _with(kind: str, **parameters: str) -> Callable[[Node], Translated]:
    """The kind whose parameters are those of the operation, by other names."""

    def translated(node: Node) -> Translated:
        found = {own: node.config.get(name, node.named.get(name)) for own, name in parameters.items()}
        return kind, {own: plain(value) for own, value in found.items() if value is not None}

    return translated


_SNAKE: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# fmt: off
_UNARY: Final = (
    "Absolute", "Abs", "Negative", "Exp", "Exp2", "Expm1", "Log", "Log1p", "Log2", "Log10", "Sqrt", "Rsqrt",
    "Square", "Reciprocal", "Sign", "Round", "Floor", "Ceil", "Erf", "Sin", "Cos", "Tan", "Sinh", "Cosh",
    "Tanh", "Arctan", "Clip", "Relu6", "Sigmoid", "Softplus", "Softsign", "Silu", "LogSigmoid", "HardSigmoid",
    "HardSilu", "Elu", "Selu", "Gelu", "Celu", "Mish", "HardTanh", "HardShrink", "SoftShrink", "TanhShrink",
    "Squareplus", "Threshold", "LogicalNot",
)
_COMPARISONS: Final = (
    "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "LogicalXor",
)
# fmt: on

_TRANSLATIONS: Final[Mapping[str, Callable[[Node], Translated]]] = {
    **{name: _activation(_SNAKE.sub("_", name).lower()) for name in _UNARY},
    **dict.fromkeys(("Cast", "StopGradient", "Copy", "Identity", "SaturateCast"), _same("Identity")),
    **{name: _same(name) for name in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Power", "Where")},
    **dict.fromkeys(("TrueDivide", "DivideNoNan", "FloorDivide", "Mod"), _same("Divide")),
    **dict.fromkeys(_COMPARISONS, _same("Compare")),
    **{name: _reduction(name.lower()) for name in ("Mean", "Sum", "Max", "Min", "Prod", "Var", "Std", "Any", "All")},
    "Amax": _reduction("max"),
    "Amin": _reduction("min"),
    **{name: _reduction(name.lower()) for name in ("Argmax", "Argmin", "Logsumexp")},
    "Relu": _same("ReLU"),
    "LeakyRelu": _with("LeakyReLU", negative_slope="negative_slope"),
    "Softmax": _with("Softmax", axis="axis"),
    "LogSoftmax": _with("Softmax", axis="axis"),
    "Concatenate": _with("Concatenate", axis="axis"),
    "Stack": _with("Stack", axis="axis"),
    "Einsum": _with("Einsum", subscripts="subscripts"),
    "Matmul": _with("MatMul", transpose_first="transpose_a", transpose_second="transpose_b"),
    "DepthToSpace": _with("DepthToSpace", block_size="block_size", data_format="data_format"),
    "SpaceToDepth": _with("SpaceToDepth", block_size="block_size", data_format="data_format"),
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Swapaxes": _swap,
    "Moveaxis": _move,
    "ExpandDims": _expand,
    "Squeeze": _squeeze,
    "GetItem": _get_item,
    "Split": _split,
    "Tile": lambda node: ("Tile", {"repeats": _behind_batch(node.value("repeats", "multiples"), 1)}),
    "Pad": lambda node: ("Pad", {"margins": _behind_batch(node.value("pad_width", "paddings"), (0, 0))}),
    "Repeat": _repeat,
    "BroadcastTo": _broadcast_to,
    "MaxPool": _pool("Max"),
    "AveragePool": _pool("Average"),
    "Resize": _resize,
}
