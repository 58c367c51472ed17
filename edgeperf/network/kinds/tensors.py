"""Operations on whole tensors that functional graphs hold beside layers: reductions, slices, stacks, tiles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.elementwise import broadcast
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, elements
from edgeperf.records import Shape

ELLIPSIS = "..."
NEW_AXIS = "newaxis"


def _reduced(call: Call) -> Shapes:
    axes = call.config["axes"]
    positions = set(range(len(call.input))) if axes is None else set(call.axes("axes"))
    if call.flag("keepdims"):
        return (tuple(1 if axis in positions else size for axis, size in enumerate(call.input)),)
    return (tuple(size for axis, size in enumerate(call.input) if axis not in positions),)


def _sliced(call: Call) -> Shapes:
    """NumPy's basic indexing; `index` leaves out the batch."""
    index = call.config["index"]
    taken = sum(1 for item in index if item not in (ELLIPSIS, NEW_AXIS))
    if taken > len(call.input) or index.count(ELLIPSIS) > 1:
        raise InvalidInput(f"an index of {taken} dimensions does not fit an input of shape {call.input}")
    if ELLIPSIS not in index:
        index = (*index, ELLIPSIS)
    left, sizes = list(call.input), []
    for item in index:
        if item == ELLIPSIS:
            rest = len(left) - (taken - sum(1 for done in index[: index.index(ELLIPSIS)] if done != NEW_AXIS))
            sizes += left[:rest]
            left = left[rest:]
        elif item == NEW_AXIS:
            sizes.append(1)
        else:
            sizes += _kept(left.pop(0), item)
    return (tuple(sizes),)


def _kept(size: int, item: Any) -> list[int]:
    """What remains of one dimension: nothing for a single position, the length of a (start, stop, step) range."""
    if isinstance(item, tuple):
        bounds = [None if bound is None else as_integer(bound, "a bound", least=-(2**63)) for bound in item]
        if bounds[2] == 0:
            raise InvalidInput("a slice has a step of 0")
        return [len(range(*slice(*bounds).indices(size)))]
    if not -size <= as_integer(item, "an index", least=-size) < size:
        raise InvalidInput(f"index {item} lies outside a dimension of {size}")
    return []


def _split(call: Call) -> Shapes:
    (axis,) = call.axes("axis")
    size, parts = call.input[axis], call.config["parts"]
    if isinstance(parts, tuple):
        bounds = (0, *(as_integer(bound, "a bound") for bound in parts), size)
        sizes = [min(stop, size) - min(start, size) for start, stop in pairwise(bounds)]
    else:
        count = as_integer(parts, "parts", least=1)
        if size % count or count > 4096:
            raise InvalidInput(f"{size} elements do not divide into {count} parts")
        sizes = [size // count] * count
    return tuple((*call.input[:axis], part, *call.input[axis + 1 :]) for part in sizes)


def _stacked(call: Call) -> Shapes:
    shape, rank = broadcast(call.inputs), len(call.input)
    axis = as_integer(call.config["axis"], "axis", least=-rank - 1)
    position = axis + rank + 1 if axis < 0 else axis - 1
    if not 0 <= position <= rank:
        raise InvalidInput(f"axis {axis} does not exist in a stack of shape {shape} tensors")
    return ((*shape[:position], len(call.inputs), *shape[position:]),)


def _tiled(call: Call) -> Shapes:
    repeats = call.config["repeats"]
    factors = tuple(as_integer(each, "repeats", least=1) for each in repeats)
    padded = (1,) * (len(factors) - len(call.input)) + call.input
    factors = (1,) * (len(padded) - len(factors)) + factors
    return (tuple(size * factor for size, factor in zip(padded, factors, strict=True)),)


def _padded(call: Call) -> Shapes:
    margins = call.config["margins"]
    if len(margins) != len(call.input):
        raise InvalidInput(f"margins for {len(margins)} dimensions do not fit an input of shape {call.input}")
    return (tuple(_grown(size, pair) for size, pair in zip(call.input, margins, strict=True)),)


def _grown(size: int, margin: tuple[int, int]) -> int:
    before, after = margin
    return size + as_integer(before, "a margin", least=-size) + as_integer(after, "a margin", least=-size)


def _broadcast(call: Call) -> Shapes:
    return (broadcast((call.input, _sizes(call.config["shape"]))),)


def _sizes(shape: Any) -> Shape:
    return tuple(as_integer(size, "shape", least=1) for size in shape)


def _depth_to_space(call: Call) -> Shapes:
    block = call.integer("block_size", least=1)
    height, width = call.spatial(2)
    if call.channels % block**2:
        raise InvalidInput(f"{call.channels} channels do not divide into blocks of {block} x {block}")
    return (call.image((height * block, width * block), call.channels // block**2),)


def _space_to_depth(call: Call) -> Shapes:
    block = call.integer("block_size", least=1)
    height, width = call.spatial(2)
    if height % block or width % block:
        raise InvalidInput(f"an image of {height} x {width} does not divide into blocks of {block}")
    return (call.image((height // block, width // block), call.channels * block**2),)


TENSORS: dict[str, Kind] = {
    "Reduce": Kind(
        parameters={"function": "mean", "axes": None, "keepdims": False},
        shape=_reduced,
        flops=lambda call: elements(call.input),
        counts="1 per input element",
    ),
    # Gathers, expansions, transpositions of foreign graphs: elements move, weights may join them, nothing is computed.
    "Rearrange": Kind(
        parameters={"output_shape": REQUIRED, "weights": 0},
        shape=lambda call: (_sizes(call.config["output_shape"]),),
        params=lambda call: int(call.config["weights"]),
    ),
    "Slice": Kind(parameters={"index": REQUIRED}, shape=_sliced),
    "Split": Kind(parameters={"parts": REQUIRED, "axis": -1}, shape=_split),
    "Stack": Kind(parameters={"axis": 1}, shape=_stacked),
    "Tile": Kind(parameters={"repeats": REQUIRED}, shape=_tiled),
    "Pad": Kind(parameters={"margins": REQUIRED}, shape=_padded),
    "BroadcastTo": Kind(parameters={"shape": REQUIRED}, shape=_broadcast),
    "Constant": Kind(parameters={"shape": REQUIRED}, shape=lambda call: (_sizes(call.config["shape"]),)),
    "DepthToSpace": Kind(parameters={"block_size": REQUIRED, "data_format": None}, shape=_depth_to_space),
    "SpaceToDepth": Kind(parameters={"block_size": REQUIRED, "data_format": None}, shape=_space_to_depth),
    "Where": Kind(
        shape=lambda call: (broadcast(call.inputs),),
        flops=lambda call: elements(call.output),
        counts="1 per output element",
    ),
}
