"""Layers that move data: reshaping, padding, cropping, up-sampling."""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, elements
from edgeperf.records import Shape


def reshaped(source: Shape, target: object) -> Shape:
    """`target` with its -1, if any, worked out; holds as many elements as `source`.

    >>> reshaped((7, 7, 64), (-1, 64))
    (49, 64)
    """
    if not isinstance(target, (tuple, list)):
        raise InvalidInput(f"target_shape is {target!r}, expected a list of sizes")
    sizes = tuple(as_integer(size, "target_shape", least=-1) for size in target)
    known = elements(tuple(size for size in sizes if size != -1))
    if sizes.count(-1) == 1 and known:
        sizes = tuple(elements(source) // known if size == -1 else size for size in sizes)
    if elements(sizes) != elements(source):
        raise InvalidInput(f"an input of shape {source} cannot become {tuple(target)}")
    return sizes


def _permuted(call: Call) -> Shapes:
    dims = call.integers("dims", len(call.input))
    if sorted(dims) != list(range(1, len(dims) + 1)):
        raise InvalidInput(f"dims is {dims}, expected an order of 1 to {len(dims)}")
    return (tuple(call.input[axis - 1] for axis in dims),)


def _margins(call: Call, key: str, rank: int) -> tuple[tuple[int, int], ...]:
    """Elements before and after, per spatial dimension, from one number, one per dimension, or pairs."""
    value = call.config[key]
    if rank == 1 and isinstance(value, (tuple, list)) and len(value) == 2:
        value = (value,)
    if not isinstance(value, (tuple, list)):
        value = (value,) * rank
    if len(value) != rank:
        raise InvalidInput(f"{key} has {len(value)} values, expected {rank}")
    return tuple(_pair(item, key) for item in value)


def _pair(value: object, key: str) -> tuple[int, int]:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise InvalidInput(f"{key} holds {value!r}, expected (before, after)")
        return as_integer(value[0], key), as_integer(value[1], key)
    both = as_integer(value, key)
    return both, both


def _margin(rank: int, key: str, sign: int, default: object) -> Kind:
    def shape(call: Call) -> Shapes:
        spatial = call.spatial(rank)
        margins = _margins(call, key, rank)
        sizes = tuple(size + sign * sum(pair) for size, pair in zip(spatial, margins, strict=True))
        return (call.image(sizes, call.channels),)

    return Kind(parameters={key: default, "data_format": None}, shape=shape)


def _upsampling(rank: int) -> Kind:
    def shape(call: Call) -> Shapes:
        factors = call.integers("size", rank)
        sizes = tuple(size * factor for size, factor in zip(call.spatial(rank), factors, strict=True))
        return (call.image(sizes, call.channels),)

    parameters = {"size": 2} if rank == 1 else {"size": 2, "data_format": None, "interpolation": "nearest"}
    return Kind(parameters=parameters, shape=shape, flops=interpolation_flops, counts=INTERPOLATION_COUNTS)


INTERPOLATION_COUNTS = "per output element: 0 nearest, 7 bilinear, 31 bicubic and others"


def interpolation_flops(call: Call) -> int:
    """A weighted mean over the neighbours: 4 products and 3 sums bilinear, 16 and 15 bicubic, none nearest."""
    per_element = {"nearest": 0, "bilinear": 7}.get(str(call.config.get("interpolation", "nearest")), 31)
    return per_element * elements(call.output)


RESHAPINGS: dict[str, Kind] = {
    "Flatten": Kind(parameters={"data_format": None}, shape=lambda call: ((elements(call.input),),)),
    "Reshape": Kind(
        parameters={"target_shape": REQUIRED}, shape=lambda call: (reshaped(call.input, call.config["target_shape"]),)
    ),
    "Permute": Kind(parameters={"dims": REQUIRED}, shape=_permuted),
    "RepeatVector": Kind(parameters={"n": REQUIRED}, shape=lambda call: ((call.integer("n", least=1), *call.input),)),
    "ZeroPadding1D": _margin(1, "padding", 1, 1),
    "ZeroPadding2D": _margin(2, "padding", 1, (1, 1)),
    "ZeroPadding3D": _margin(3, "padding", 1, ((1, 1), (1, 1), (1, 1))),
    "Cropping1D": _margin(1, "cropping", -1, (1, 1)),
    "Cropping2D": _margin(2, "cropping", -1, ((0, 0), (0, 0))),
    "Cropping3D": _margin(3, "cropping", -1, ((1, 1), (1, 1), (1, 1))),
    **{f"UpSampling{rank}D": _upsampling(rank) for rank in (1, 2, 3)},
}
