"""A live Keras model → what Keras itself says of it, for comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgeperf.records import Network


@contextmanager
def shapes_only() -> Iterator[None]:
    """Within it, Keras builds models whose weights have shapes but no memory."""
    import keras

    keras.backend.clear_session(free_memory=False)
    with keras.StatelessScope(initialize_variables=False):
        yield


def flat_layers(model: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name as edgeperf gives it, layer) of every layer, nested models in their place, without their inputs."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from flat_layers(layer, f"{prefix}{layer.name}/")
        elif not (prefix and type(layer).__name__ == "InputLayer"):
            yield prefix + layer.name, layer


def shapes_and_params(model: Any) -> dict[str, tuple[tuple[int, ...], int]]:
    """Name → (output shape of the first call, parameters), as Keras infers them."""
    return {name: (_output_shape(layer), layer.count_params()) for name, layer in flat_layers(model)}


def _output_shape(layer: Any) -> tuple[int, ...]:
    output = layer._inbound_nodes[0].output_tensors[0]
    return tuple(output.shape[1:])


def inferred(network: Network) -> dict[str, tuple[tuple[int, ...], int]]:
    """The same of a `Network`, first calls only."""
    return {
        layer.name: (layer.output_shape, layer.params) for layer in network.layers if layer.shares_weights_with is None
    }


def kernel_macs(model: Any) -> int:
    """Multiply-accumulates counted from the weights that Keras allocates and the outputs that it infers.

    Every element of a convolution's output is a sum over its kernel, but for the last axis of the kernel array, which
    runs over outputs. Covers models whose layers are called once.
    """
    return sum(_layer_macs(layer) for _, layer in flat_layers(model))


def _layer_macs(layer: Any) -> int:
    name = type(layer).__name__
    weights = [tuple(weight.shape) for weight in layer.weights]
    if "Conv" not in name and name != "Dense":
        return 0
    output = _output_shape(layer)
    if name.startswith("Separable"):
        depthwise, pointwise = weights[:2]
        pixels = math.prod(output[:-1])
        return pixels * (math.prod(depthwise) + math.prod(pointwise))
    if name.startswith("Depthwise"):
        return math.prod(output) * math.prod(weights[0][:-2])
    if name.endswith("Transpose"):
        source = layer._inbound_nodes[0].input_tensors[0].shape[1:-1]
        return math.prod(source) * math.prod(weights[0])
    return math.prod(output) * math.prod(weights[0][:-1])
