"""Operators on constants → constants: the arithmetic by which exported graphs compute shapes.

Values are kept where they are few, as a tuple in row-major order; of everything else only the shape is known, which is
all that weights need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.elementwise import broadcast
from edgeperf.network.onnx.model import MAX_VALUES, Constant, OnnxNode
from edgeperf.network.onnx.shapes import axis_of, gathered, place, reshaped, sliced, squeezed, unsqueezed
from edgeperf.records import Shape


def integers(values: Sequence[int]) -> Constant:
    """A list of integers, as a shape is."""
    return Constant((len(values),), tuple(values), True)


def fold(node: OnnxNode, inputs: Sequence[Constant | None]) -> Constant | None:
    """The result of an operator on constants; None where it is not one that shapes are computed by.

    Raises:
        InvalidInput: the operator does not fit its inputs.
    """
    rule = _RULES.get(node.operator)
    if rule is None or not inputs or inputs[0] is None:
        return None
    known = [each for each in inputs if each is not None]
    try:
        # Bounded, so that no chain of sums grows without end.
        return replace(rule(node, known), computed_from=min(sum(each.weights for each in known), 2**48))
    except (ZeroDivisionError, OverflowError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"it cannot be computed: {error}") from error


def _elementwise(operation: Callable[..., Any]) -> Callable[[OnnxNode, list[Constant]], Constant]:
    def folded(_: OnnxNode, inputs: list[Constant]) -> Constant:
        shape = broadcast(tuple(each.shape for each in inputs))
        whole = all(each.is_integer for each in inputs)
        if any(each.values is None for each in inputs) or math.prod(shape) > MAX_VALUES:
            return Constant(shape, None, whole)
        spread = [_spread(each, shape) for each in inputs]
        values = tuple(_bounded(operation(*each)) for each in zip(*spread, strict=True))
        return Constant(shape, values, whole)

    return folded


def _bounded(value: Any) -> Any:
    """Integers wrap at 64 bits, as everywhere; so that no chain of products grows without end."""
    return (value + 2**63) % 2**64 - 2**63 if isinstance(value, int) else value


def _spread(constant: Constant, shape: Shape) -> list[Any]:
    """Values as they stretch over `shape`."""
    values = constant.values or ()
    if constant.shape == shape:
        return list(values)
    if len(values) == 1:
        return list(values) * math.prod(shape)
    padded = (1,) * (len(shape) - len(constant.shape)) + constant.shape
    strides = [math.prod(padded[axis + 1 :]) * (size > 1) for axis, size in enumerate(padded)]
    places = product(*(range(size) for size in shape))
    return [values[sum(at * stride for at, stride in zip(place, strides, strict=True))] for place in places]


def _divided(one: Any, other: Any) -> Any:
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        return quotient if (one < 0) == (other < 0) else -quotient
    return one / other


def _cast(node: OnnxNode, inputs: list[Constant]) -> Constant:
    (source,) = inputs
    whole = node.attributes.get("to") in (2, 3, 4, 5, 6, 7, 9, 12, 13)
    values = source.values
    if values is not None and whole:
        values = tuple(int(value) if math.isfinite(value) else 0 for value in values)
    return Constant(source.shape, values, whole)


def _moved(shape_rule: Callable[[OnnxNode, list[Constant]], Shape]) -> Callable[[OnnxNode, list[Constant]], Constant]:
    """A rule that keeps the elements and their order."""

    def folded(node: OnnxNode, inputs: list[Constant]) -> Constant:
        return Constant(shape_rule(node, inputs), inputs[0].values, inputs[0].is_integer)

    return folded


def stated_axes(
    attributes: Mapping[str, Any], inputs: Sequence[Constant | None], at: int = 1
) -> tuple[int, ...] | None:
    """The axes of an operator that takes them as an attribute or, since opset 13, as an input; None where neither."""
    if len(inputs) > at and inputs[at] is not None:
        return tuple(inputs[at].values or ())  # type: ignore[union-attr]
    axes = attributes.get("axes")
    return tuple(axes) if axes is not None else None


def _reshape(node: OnnxNode, inputs: list[Constant]) -> Shape:
    target = inputs[1].values
    if target is None:
        raise InvalidInput("its new shape is not known")
    return reshaped(inputs[0].shape, target, allow_zero=bool(node.attributes.get("allowzero")))


def _concatenated(node: OnnxNode, inputs: list[Constant]) -> Constant:
    first = inputs[0]
    axis = axis_of(node.attributes.get("axis", 0), len(first.shape) or 1)
    total = sum(each.shape[axis] for each in inputs)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    whole = all(each.is_integer for each in inputs)
    if len(shape) != 1 or any(each.values is None for each in inputs) or total > MAX_VALUES:
        return Constant(shape, None, whole)
    return Constant(shape, tuple(value for each in inputs for value in each.values or ()), whole)


def _gather(node: OnnxNode, inputs: list[Constant]) -> Constant:
    data, indices = inputs
    axis = axis_of(node.attributes.get("axis", 0), len(data.shape))
    shape = gathered(data.shape, indices.shape, axis)
    if len(data.shape) != 1 or data.values is None or indices.values is None:
        return Constant(shape, None, data.is_integer)
    return Constant(shape, tuple(data.values[index] for index in indices.values), data.is_integer)


def slice_ranges(node: OnnxNode, shape: Shape, inputs: Sequence[Constant | None]) -> list[range]:
    """The positions that a Slice takes of every dimension; bounds come as inputs, or as attributes before opset 10."""
    given = [each.values if each is not None else None for each in inputs[1:]]
    starts, ends = [*given, None, None][:2] if len(inputs) > 1 else (None, None)
    starts, ends = starts or node.attributes.get("starts"), ends or node.attributes.get("ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise InvalidInput("its bounds are not known")
    axes = (given[2] if len(given) > 2 else None) or node.attributes.get("axes") or range(len(starts))
    steps = (given[3] if len(given) > 3 else None) or (1,) * len(starts)
    ranges = [range(size) for size in shape]
    for axis, start, stop, step in zip(axes, starts, ends, steps, strict=True):
        position = axis_of(axis, len(shape))
        ranges[position] = sliced(shape[position], start, stop, step)
    return ranges


def _slice(node: OnnxNode, inputs: list[Constant]) -> Constant:
    data = inputs[0]
    ranges = slice_ranges(node, data.shape, inputs)
    shape = tuple(map(len, ranges))
    if data.values is None:
        return Constant(shape, None, data.is_integer)
    return Constant(shape, tuple(data.values[place(at, data.shape)] for at in product(*ranges)), data.is_integer)


def _transposed(node: OnnxNode, inputs: list[Constant]) -> Constant:
    (data,) = inputs
    rank = len(data.shape)
    order = tuple(axis_of(axis, rank) for axis in node.attributes.get("perm") or reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        raise InvalidInput(f"it arranges {rank} axes as {order}")
    shape = tuple(data.shape[axis] for axis in order)
    if data.values is None:
        return Constant(shape, None, data.is_integer)
    back = [order.index(axis) for axis in range(rank)]
    places = (tuple(at[axis] for axis in back) for at in product(*map(range, shape)))
    return Constant(shape, tuple(data.values[place(at, data.shape)] for at in places), data.is_integer)


def _filled(node: OnnxNode, inputs: list[Constant]) -> Constant:
    if inputs[0].values is None:
        raise InvalidInput("its shape is not known")
    value = node.attributes.get("value")
    element = value.values[0] if isinstance(value, Constant) and value.values else 0
    shape = tuple(int(size) for size in inputs[0].values)
    few = min(shape, default=1) >= 0 and math.prod(shape) <= MAX_VALUES
    return Constant(shape, (element,) * math.prod(shape) if few else None, isinstance(element, int))


def _range(_: OnnxNode, inputs: list[Constant]) -> Constant:
    start, stop, step = (each.values[0] if each.values else 0 for each in inputs)
    count = max(math.ceil((stop - start) / step), 0)
    values = tuple(start + step * at for at in range(count)) if count <= MAX_VALUES else None
    return Constant((count,), values, all(each.is_integer for each in inputs))


def _expanded(_: OnnxNode, inputs: list[Constant]) -> Constant:
    data, target = inputs
    if target.values is None:
        raise InvalidInput("its shape is not known")
    shape = broadcast((data.shape, tuple(int(size) for size in target.values)))
    values = tuple(_spread(data, shape)) if data.values is not None and math.prod(shape) <= MAX_VALUES else None
    return Constant(shape, values, data.is_integer)


def _product(_: OnnxNode, inputs: list[Constant]) -> Constant:
    values = inputs[0].values
    return Constant((), (math.prod(values),) if values is not None else None, inputs[0].is_integer)


def _shape_alone(_: OnnxNode, inputs: list[Constant]) -> Constant:
    """Masks that are filled slice by slice, tables that small networks compute: no shape depends on their values."""
    return Constant(inputs[0].shape, None, inputs[0].is_integer)


def _multiplied(_: OnnxNode, inputs: list[Constant]) -> Constant:
    one, other = (each.shape for each in inputs)
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-2]:
        raise InvalidInput(f"constants of shapes {one} and {other} have no product")
    return Constant((*broadcast((one[:-2], other[:-2])), one[-2], other[-1]), None, False)


_RULES: Final[Mapping[str, Callable[[OnnxNode, list[Constant]], Constant]]] = {
    "Add": _elementwise(lambda one, other: one + other),
    "Sub": _elementwise(lambda one, other: one - other),
    "Mul": _elementwise(lambda one, other: one * other),
    "Div": _elementwise(_divided),
    "Mod": _elementwise(lambda one, other: one % other),
    "Max": _elementwise(max),
    "Min": _elementwise(min),
    "Equal": _elementwise(lambda one, other: int(one == other)),
    "Less": _elementwise(lambda one, other: int(one < other)),
    "Greater": _elementwise(lambda one, other: int(one > other)),
    "And": _elementwise(lambda one, other: int(bool(one and other))),
    "Or": _elementwise(lambda one, other: int(bool(one or other))),
    "Not": _elementwise(lambda one: int(not one)),
    "Where": _elementwise(lambda condition, one, other: one if condition else other),
    "Neg": _elementwise(lambda one: -one),
    "Abs": _elementwise(abs),
    "Floor": _elementwise(math.floor),
    "Ceil": _elementwise(math.ceil),
    "Pow": _elementwise(math.pow),
    "Sqrt": _elementwise(lambda one: one**0.5),
    "Reciprocal": _elementwise(lambda one: 1 / one),
    "Cast": _cast,
    "Identity": _moved(lambda _, inputs: inputs[0].shape),
    "Squeeze": _moved(lambda node, inputs: squeezed(inputs[0].shape, stated_axes(node.attributes, inputs))),
    "Unsqueeze": _moved(lambda node, inputs: unsqueezed(inputs[0].shape, stated_axes(node.attributes, inputs) or ())),
    "Reshape": _moved(_reshape),
    "Concat": _concatenated,
    "Gather": _gather,
    "Slice": _slice,
    "Transpose": _transposed,
    "ConstantOfShape": _filled,
    "Range": _range,
    "Expand": _expanded,
    "ReduceProd": _product,
    "MatMul": _multiplied,
    **dict.fromkeys(("ScatterND", "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Clip"), _shape_alone),
}

FOLDABLE: Final = frozenset(_RULES)
"""Operators that `fold` knows."""
