"""A family's definition and genes → its feature vector, block by block from memory.

What whole-network features count is a sum over layers, except what the image alone decides and means over layers. So a
block's share depends on its function, its configuration and its input shapes only, and a search that looks at 100,000
variants meets a few thousand different blocks. Each is built and read once, as a network of its own; a candidate is
then the list of its blocks, and a generation is one gather and one sum.

Limits: a family must keep all of its layers in functions decorated with `edgeperf.zoo.layers.block` and share no
weights between blocks. A test compares every family with `edgeperf.network.features`, number by number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgeperf.network import FEATURE_NAMES, features
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network, Shape
from edgeperf.zoo.family import Family, Genes
from edgeperf.zoo.layers import Tensor

Rows = npt.NDArray[np.float64]

_OF_IMAGE = ("input_height", "input_width", "input_channels", "input_pixels")
_MEANS = {"filter_size": "num_conv"}
"""Feature that is a mean → the feature that counts what it is a mean of."""

_INDEX = {name: index for index, name in enumerate(FEATURE_NAMES)}


class ShapeOnly:
    """A tensor of which nothing but the shape is known."""

    __slots__ = ("shape",)

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


class CountingLayers:
    """The namespace that answers blocks from memory; `Model` gives the numbers of the network's blocks.

    One instance serves any number of networks, one after the other.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[int, Any]] = {}
        self._vectors = np.empty((256, len(FEATURE_NAMES)))
        self._current: list[int] = []

    def __getattr__(self, kind: str) -> Any:
        raise AttributeError(f"A layer of kind {kind} stands outside a block; decorate the function that calls it.")

    def Input(self, shape: Sequence[int], name: str) -> ShapeOnly:  # noqa: N802 - as in Keras
        """The image; starts a new network."""
        key = ("image", tuple(shape))
        number, image = self._known.get(key) or self._learn(key, _image_network(tuple(shape), name), ())
        self._current = [number]
        return cast(ShapeOnly, image)

    def Model(self, inputs: ShapeOnly, outputs: ShapeOnly, name: str) -> list[int]:  # noqa: ARG002, N802 - as in Keras
        """Numbers of the blocks that were called since `Input`, the image's first."""
        return self._current

    def count_block(self, function: Callable[..., Tensor], tensors: Sequence[Tensor], config: Mapping[str, Any]) -> Any:
        """The block's output; its number joins the network's."""
        shapes = tuple([tensor.shape for tensor in tensors])
        key = (function, shapes, tuple(config.items()))
        known = self._known.get(key) or self._learn(key, _block_network(function, shapes, config), shapes)
        self._current.append(known[0])
        return known[1]

    @property
    def vectors(self) -> Rows:
        """Sums that each block adds, one row per block number."""
        return self._vectors[: len(self._known)]

    def _learn(self, key: Any, network: Network, inputs: Sequence[Shape]) -> tuple[int, Any]:
        number = len(self._known)
        if number == len(self._vectors):
            self._vectors = np.concatenate((self._vectors, np.empty_like(self._vectors)))
        self._vectors[number] = _sums(network)
        for shape in inputs:
            self._vectors[number] -= _image_sums(shape)
        shape_of = {layer.name: layer.output_shape for layer in network.layers}
        outputs = tuple(ShapeOnly(shape_of[name]) for name in network.outputs)
        self._known[key] = (number, outputs[0] if len(outputs) == 1 else outputs)
        return self._known[key]


def feature_rows(counting: CountingLayers, family: Family, members: Sequence[Genes]) -> Rows:
    """Features of each member: shape (members, features), columns in the order of `FEATURE_NAMES`."""
    from scipy.sparse import csr_array

    blocks = [family.build(counting, {**genes, "name": ""}) for genes in members]
    ends = np.cumsum([0, *map(len, blocks)])
    calls = csr_array((np.ones(ends[-1]), np.concatenate(blocks), ends), shape=(len(members), len(counting.vectors)))
    rows: Rows = calls @ counting.vectors
    image = counting.vectors[[numbers[0] for numbers in blocks]]
    for name in _OF_IMAGE:
        rows[:, _INDEX[name]] = image[:, _INDEX[name]]
    for name, weight in _MEANS.items():
        rows[:, _INDEX[name]] /= np.maximum(rows[:, _INDEX[weight]], 1)
    return rows


def _sums(network: Network) -> Rows:
    """The features with means turned back into sums."""
    values = features(network).values
    row = np.array([values[name] for name in FEATURE_NAMES])
    for name, weight in _MEANS.items():
        row[_INDEX[name]] *= row[_INDEX[weight]]
    return row


@lru_cache(maxsize=4096)
def _image_sums(shape: Shape) -> Rows:
    """What the input layer of a block's own network adds, and the block does not."""
    return _sums(_image_network(shape, "input"))


def _image_network(shape: Shape, name: str) -> Network:
    layers = LayerNamespace()
    image = layers.Input(shape, name=name)
    return layers.Model(image, image, name="image")


def _block_network(function: Callable[..., Tensor], shapes: Sequence[Shape], config: Mapping[str, Any]) -> Network:
    layers = LayerNamespace()
    inputs = [layers.Input(shape, name=f"input{number}") for number, shape in enumerate(shapes)]
    return layers.Model(inputs, function(layers, *inputs, name="block", **config), name="block")
