"""Layers as frameworks run them: swish that an export took apart as one, separable convolutions as two."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeperf.records import Layer, Network


def readers_of(network: Network) -> dict[str, list[str]]:
    """Layer → who reads it, once per reading; ``""`` stands for the network's own output."""
    readers: dict[str, list[str]] = {}
    for layer in network.layers:
        for name in layer.inputs:
            readers.setdefault(name, []).append(layer.name)
    for name in network.outputs:
        readers.setdefault(name, []).append("")
    return readers


def swish_gates(network: Network) -> dict[str, tuple[str]]:
    """Multiplication → the sigmoid that only it reads, and whose input is its other factor."""
    gates = {each.name: each for each in network.layers if each.kind == "Activation" and each.activation == "sigmoid"}
    readers = readers_of(network)
    found = {}
    for layer in network.layers:
        if layer.kind == "Multiply" and len(layer.inputs) == 2:
            for gate, other in (layer.inputs, layer.inputs[::-1]):
                if gate in gates and gates[gate].inputs == (other,) and readers[gate] == [layer.name]:
                    found[layer.name] = (gate,)
    return found


def with_swish(network: Network, gates: dict[str, tuple[str]]) -> Network:
    """The network with a swish for each of these multiplications, and without their sigmoids."""
    gone = {gate for (gate,) in gates.values()}
    kept = [layer for layer in network.layers if layer.name not in gone]
    return replace(network, layers=tuple(_swish(each, gone) if each.name in gates else each for each in kept))


def _swish(product: Layer, gone: set[str]) -> Layer:
    (source,) = (name for name in product.inputs if name not in gone)
    return replace(
        product, kind="Activation", activation="swish", inputs=(source,), input_shapes=(product.output_shape,)
    )


def two_parts(layer: Layer) -> tuple[Layer, ...]:
    """A separable convolution as a depthwise one and one of single points; any other layer as it is."""
    if layer.kind not in ("SeparableConv1D", "SeparableConv2D"):
        return (layer,)
    rank, channels = layer.kind.removeprefix("Separable"), layer.input_shapes[0][-1] * layer.depth_multiplier
    between = (*layer.output_shape[:-1], channels)
    ones = (1,) * len(layer.kernel_size)
    window = math.prod(layer.kernel_size)
    # Counted from the sizes, since the layer states the sum of both.
    depthwise = replace(
        layer,
        kind=f"Depthwise{rank}",
        output_shape=between,
        weights=window * channels,
        macs=window * math.prod(between),
        groups=layer.input_shapes[0][-1],
        activation="linear",
    )
    pointwise = replace(
        layer,
        kind=rank,
        input_shapes=(between,),
        weights=layer.weights - depthwise.weights,
        macs=layer.macs - depthwise.macs,
        kernel_size=ones,
        strides=ones,
        dilation=ones,
        padding=((0, 0),) * len(ones),
        groups=1,
        depth_multiplier=1,
    )
    return depthwise, pointwise
