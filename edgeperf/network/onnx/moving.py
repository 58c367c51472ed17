"""ONNX operators that move elements or reduce them → reshapes, slices, joins, padding and global pooling.

What changes nothing at inference, and a transposition between (channels, height, width) and (height, width, channels),
is no layer at all: the tensor passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.elementwise import broadcast
from edgeperf.network.onnx.folding import slice_ranges, stated_axes
from edgeperf.network.onnx.model import Constant
from edgeperf.network.onnx.shapes import axis_of, gathered, reshaped, squeezed, unsqueezed
from edgeperf.network.onnx.values import Emission, Op, Value, position, recorded
from edgeperf.records import Shape


def _through(op: Op) -> Value:
    return op.data


def _moved(op: Op, kind: str, shape: Shape, config_key: str) -> Emission:
    """A layer that puts the elements of the first input into `shape`, in the layout that its consumers expect."""
    first = op.channels_first and len(shape) > 2
    view = recorded(op.data.shape, op.data.channels_first)
    return Emission(kind, {config_key: recorded(shape, first)}, ((op.data, view),), (shape,), first)


def _reshape_to(op: Op, shape: Shape) -> Emission | Value:
    return op.data if shape == op.data.shape else _moved(op, "Reshape", shape, "target_shape")


def _rearrange_to(op: Op, shape: Shape) -> Emission | Value:
    return _moved(op, "Rearrange", shape, "output_shape")


def _reshape(op: Op) -> Emission | Value:
    target = op.numbers(1, "shape")
    if target is None:
        raise InvalidInput("its new shape is missing")
    try:
        shape = reshaped(op.data.shape, _for_one_image(op, target), allow_zero=bool(op.attribute("allowzero", 0)))
    except InvalidInput as error:
        if op.batch == 1:
            raise
        raise InvalidInput(f"{error}; its shapes hold a batch of {op.batch}, export it with a batch of 1") from None
    return _reshape_to(op, shape)


def _for_one_image(op: Op, target: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with the batch that the export wrote into it taken for one, where the data hold one image."""
    batched = op.batch > 1 and target and target[0] == op.batch and op.data.shape[0] == 1
    return (1, *target[1:]) if batched else target


def _flatten(op: Op) -> Emission | Value:
    shape = op.data.shape
    axis = op.attribute("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return _reshape_to(op, (_size(shape[:axis]), _size(shape[axis:])))


def _size(shape: Sequence[int]) -> int:
    total = 1
    for each in shape:
        total *= each
    return total


def _axes(op: Op) -> tuple[int, ...] | None:
    if len(op.inputs) > 1 and op.inputs[1] is not None and op.constant(1) is None:
        raise InvalidInput("its axes depend on the data")
    return stated_axes(op.node.attributes, [None, op.constant(1)])


def _squeeze(op: Op) -> Emission | Value:
    return _reshape_to(op, squeezed(op.data.shape, _axes(op)))


def _unsqueeze(op: Op) -> Emission | Value:
    return _reshape_to(op, unsqueezed(op.data.shape, _axes(op) or ()))


def _transpose(op: Op) -> Emission | Value:
    data = op.data
    rank = len(data.shape)
    order = op.attribute("perm", tuple(reversed(range(rank))))
    if sorted(order) != list(range(rank)):
        raise InvalidInput(f"perm is {order!r}, expected an order of {rank} axes")
    shape = tuple(data.shape[axis] for axis in order)
    to_last = (0, *range(2, rank), 1)
    to_first = (0, rank - 1, *range(1, rank - 1))
    if data.channels_first and order == to_last:
        return Value(data.layer, shape, False)
    if not data.channels_first and order == to_first and op.channels_first:
        return Value(data.layer, shape, True)
    if order[0] == 0 and shape[0] == 1 and not op.channels_first and not data.channels_first:
        view = recorded(data.shape, False)
        return Emission("Permute", {"dims": order[1:]}, ((data, view),), (shape,), False)
    return _rearrange_to(op, shape)


def _concat(op: Op) -> Emission:
    edges = [edge for edge in op.inputs if edge is not None]
    rank = len(edges[0].shape)
    axis = axis_of(op.attribute("axis"), rank)
    total = sum(edge.shape[axis] for edge in edges if len(edge.shape) == rank)
    values = op.computed()
    shape = (*values[0].shape[:axis], total, *values[0].shape[axis + 1 :])
    for edge in edges:
        sizes = (*edge.shape[:axis], total, *edge.shape[axis + 1 :])
        if isinstance(edge, Constant) and axis:  # an export may repeat it for every image
            sizes = (shape[0], *sizes[1:]) if sizes[0] == op.batch else sizes
        if sizes != shape:
            raise InvalidInput(f"a part of shape {edge.shape} does not fit the others along axis {axis}")
    first = any(value.channels_first for value in values)
    inputs = tuple((value, recorded(value.shape, first)) for value in values)
    if axis == 0 or shape[0] != 1 or len(values) < len(edges):
        weights = sum(edge.weights for edge in edges if isinstance(edge, Constant))
        config = {"output_shape": recorded(shape, first), "weights": weights}
        return Emission("Rearrange", config, inputs, (shape,), first)
    return Emission("Concatenate", {"axis": position(axis, rank, first)}, inputs, (shape,), first)


def _split(op: Op) -> Emission:
    data = op.data
    rank = len(data.shape)
    axis = axis_of(op.attribute("axis", 0), rank)
    sizes, count = op.numbers(1, "split"), len(op.node.outputs)
    if sizes is None:
        part = -(-data.shape[axis] // max(count, 1))
        sizes = tuple(min(part, data.shape[axis] - part * at) for at in range(count))
    if sum(sizes) != data.shape[axis] or len(sizes) != count or min(sizes) < 1 or axis == 0:
        raise InvalidInput(f"parts of {sizes} do not make up axis {axis} of {data.shape}")
    shapes = tuple((*data.shape[:axis], size, *data.shape[axis + 1 :]) for size in sizes)
    config = {"parts": tuple(accumulate(sizes))[:-1], "axis": position(axis, rank, data.channels_first)}
    view = recorded(data.shape, data.channels_first)
    return Emission("Split", config, ((data, view),), shapes, data.channels_first)


def _slice(op: Op) -> Emission | Value:
    constants = [edge if isinstance(edge, Constant) else None for edge in op.inputs]
    if any(edge is not None and not isinstance(edge, Constant) for edge in op.inputs[1:]):
        raise InvalidInput("its bounds depend on the data")
    ranges = slice_ranges(op.node, op.data.shape, constants)
    shape = tuple(map(len, ranges))
    if shape == op.data.shape:
        return op.data
    kept = op.data.channels_first
    view = recorded(op.data.shape, kept)
    config = {"output_shape": recorded(shape, kept)}
    return Emission("Rearrange", config, ((op.data, view),), (shape,), kept)


def _gather(op: Op) -> Emission | Value:
    source, indices = (*op.inputs, None, None)[:2]
    if source is None or indices is None:
        raise InvalidInput("it takes data and indices")
    axis = axis_of(op.attribute("axis", 0), len(source.shape))
    shape = gathered(source.shape, indices.shape, axis)
    if isinstance(source, Constant) and isinstance(indices, Value):
        view = recorded(indices.shape, False)
        config = {"output_shape": recorded(shape, False), "params": _size(source.shape)}
        return Emission("Declared", config, ((indices, view),), (shape,), False, op.node.inputs[0])
    return _rearrange_to(op, shape)


def _expand(op: Op) -> Emission | Value:
    target = op.numbers(1)
    if target is None:
        raise InvalidInput("its shape is missing")
    shape = broadcast((op.data.shape, _for_one_image(op, target)))
    return op.data if shape == op.data.shape else _rearrange_to(op, shape)


def _tile(op: Op) -> Emission | Value:
    repeats = op.numbers(1) or ()
    if len(repeats) != len(op.data.shape):
        raise InvalidInput(f"repeats is {repeats}, expected one per dimension of {op.data.shape}")
    return _rearrange_to(op, tuple(size * times for size, times in zip(op.data.shape, repeats, strict=True)))


def _pad(op: Op) -> Emission | Value:
    data = op.data
    rank = len(data.shape)
    pads, axes = op.numbers(1, "pads"), op.numbers(3) or tuple(range(rank))
    if pads is None or len(pads) != 2 * len(axes):
        raise InvalidInput(f"pads is {pads}, expected two per dimension of {data.shape}")
    margins = [(0, 0)] * rank
    for at, axis in enumerate(axes):
        margins[axis_of(axis, rank)] = (pads[at], pads[at + len(axes)])
    shape = tuple(size + sum(pair) for size, pair in zip(data.shape, margins, strict=True))
    if shape == data.shape:
        return data
    first = data.channels_first
    config: dict[str, Any] = {"output_shape": recorded(shape, first)}
    view = recorded(data.shape, first)
    spatial = margins[2:] if first else margins[1:-1]
    others = [margins[0], margins[1] if first else margins[-1]]
    if 3 <= rank <= 5 and others == [(0, 0)] * 2 and min(map(min, spatial)) >= 0 and shape[0] == 1:
        config = {"padding": tuple(spatial) if rank > 3 else spatial[0]}
        return Emission(f"ZeroPadding{rank - 2}D", config, ((data, view),), (shape,), first)
    return Emission("Rearrange", config, ((data, view),), (shape,), first)


def _reduce(function: str) -> Callable[[Op], Emission]:
    def emitted(op: Op) -> Emission:
        data = op.data
        rank = len(data.shape)
        axes = op.numbers(1, "axes") if function not in ("argmax", "argmin") else (op.attribute("axis", 0),)
        positions = {axis_of(axis, rank) for axis in axes} if axes else set(range(rank))
        kept = bool(op.attribute("keepdims", 1))
        shape = tuple(
            1 if at in positions else size for at, size in enumerate(data.shape) if kept or at not in positions
        )
        spatial = set(range(2, rank)) if data.channels_first else set(range(1, rank - 1))
        view = recorded(data.shape, data.channels_first)
        first = data.channels_first and kept
        if function in _GLOBAL and positions == spatial and 3 <= rank <= 5:
            kind = f"Global{_GLOBAL[function]}Pooling{rank - 2}D"
            return Emission(kind, {"keepdims": kept}, ((data, view),), (shape,), first)
        inner = tuple(sorted(position(at, rank, data.channels_first) for at in positions if at or data.shape[0] != 1))
        if data.shape[0] != 1 or not inner or 0 in positions:
            whole: dict[str, Any] = {"output_shape": recorded(shape, first), "flops": _size(data.shape)}
            return Emission("Declared", whole, ((data, view),), (shape,), first)
        config: dict[str, Any] = {"function": function, "axes": inner, "keepdims": kept}
        return Emission("Reduce", config, ((data, view),), (shape,), first)

    return emitted


_GLOBAL: Final = {"mean": "Average", "max": "Max"}
_REDUCTIONS: Final = ("Mean", "Max", "Min", "Sum", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")

MOVING: Final[Mapping[str, Callable[[Op], Emission | Value]]] = {
    **dict.fromkeys(("Identity", "Dropout", "Cast", "CastLike"), _through),
    **{f"Reduce{name}": _reduce(name.lower()) for name in _REDUCTIONS},
    "ArgMax": _reduce("argmax"),
    "ArgMin": _reduce("argmin"),
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
}
