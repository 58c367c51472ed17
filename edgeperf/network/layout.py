"""A network of (channels, height, width) images → the same with (height, width, channels), as records state shapes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from edgeperf.records import Network, Shape


def channels_last(network: Network, ranks: Collection[int]) -> Network:
    """`network` with the first size of every shape of the given ranks moved to the end.

    Args:
        network: as it was inferred, in its own layout.
        ranks: how many dimensions its images have, beside the batch.
    """

    def moved(shape: Shape) -> Shape:
        return (*shape[1:], shape[0]) if len(shape) in ranks else shape

    layers = tuple(
        replace(
            layer,
            input_shapes=tuple(map(moved, layer.input_shapes)),
            output_shape=moved(layer.output_shape),
            other_output_shapes=tuple(map(moved, layer.other_output_shapes)),
        )
        for layer in network.layers
    )
    return replace(network, layers=layers)
