"""Networks → the operations that they run and how often, after stated fusion rules.

Frameworks do not run a network layer by layer: padding is an argument of the convolution that follows, layers that move
no data run nothing, and compilers fold normalisation and activation into the convolution before them. `Fusion` states
which of this happens; a layer that is folded away costs nothing of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat

from edgeperf.layerwise.operations import Operation, operation
from edgeperf.records import Layer, Network

_ACTIVATION_KINDS = frozenset({"Activation", "ReLU", "LeakyReLU", "ELU", "PReLU"})
_NORMALIZATIONS = frozenset({"BatchNormalization"})
_CONVOLUTIONS = frozenset({"Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D", "Dense"})
_PADDABLE = frozenset({"Conv2D", "DepthwiseConv2D", "MaxPooling2D", "AveragePooling2D"})

VIEWS = frozenset(
    {"InputLayer", "Reshape", "Flatten", "Identity", "ExpandSpatial", "ActivityRegularization", "RepeatVector"}
)
"""Kinds that rename memory at most and run no kernel."""

ACTIVE_IN_TRAINING = frozenset(
    {
        "Dropout",
        "AlphaDropout",
        "GaussianDropout",
        "GaussianNoise",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "FixedDropout",
    }
)
"""Kinds that are the identity at inference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """What a runtime folds into the operation before (padding: after).

    Attributes:
        padding: a zero-padding layer becomes an argument of the only window that reads it.
        split_activation: an activation argument of a weighted layer runs as an operation of its own.
        swish: a sigmoid that is multiplied with its own input and nothing else runs as one swish, as which it was
            written before an export took it apart.
        normalization: a normalisation that alone reads a convolution is folded into it.
        activation: an activation that alone reads a convolution (or its folded normalisation) is folded into it.
        training: layers that only act while training run, and the gradients of a tensor that several layers read are
            added up, once for every further reader.
    """

    padding: bool = True
    split_activation: bool = True
    swish: bool = True
    normalization: bool = False
    activation: bool = False
    training: bool = False


EAGER = Fusion()
"""Layer by layer, as PyTorch and eager Keras run: only padding is folded, and swish is one layer."""

EAGER_TRAINING = Fusion(training=True)
"""The same while training."""

COMPILED = Fusion(split_activation=False, normalization=True, activation=True)
"""Normalisation and activation folded into convolutions, as TensorRT, TVM and XLA do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation of one network.

    Attributes:
        layer: the layer that it stands for.
        folded: further layers that run inside it.
        operation: what runs.
    """

    layer: str
    folded: tuple[str, ...]
    operation: Operation


def steps(network: Network, *, batch_size: int = 1, fusion: Fusion = EAGER) -> tuple[Step, ...]:
    """The operations that the network runs, in order."""
    return tuple(_steps(network, batch_size, fusion))


def workloads(networks: Iterable[Network], *, batch_size: int = 1, fusion: Fusion = EAGER) -> Counter[Operation]:
    """Every operation of the networks with its number of occurrences."""
    counts: Counter[Operation] = Counter()
    for network in networks:
        counts.update(step.operation for step in steps(network, batch_size=batch_size, fusion=fusion))
    return counts


def _steps(network: Network, batch_size: int, fusion: Fusion) -> Iterator[Step]:
    sigmoids = _sigmoids(network) if fusion.swish else {}
    network = _with_swish(network, sigmoids)
    layers = {layer.name: layer for layer in network.layers}
    readers = _readers(network)
    host = _hosts(network, layers, readers, fusion)
    folded: dict[str, list[str]] = {}
    for name, target in host.items():
        folded.setdefault(target, []).append(name)
    for layer in network.layers:
        if fusion.training and layer.kind != "InputLayer":
            yield from _gradient_sums(layer, readers.get(layer.name, []), batch_size)
        if layer.name in host or not _runs(layer, fusion):
            continue
        inside = (*folded.get(layer.name, ()), *sigmoids.get(layer.name, ()))
        runs = _with_padding(layer, [layers[name] for name in folded.get(layer.name, ())])
        yield Step(layer=layer.name, folded=inside, operation=operation(runs, batch_size))
        if fusion.split_activation and _has_own_activation(layer):
            yield Step(layer=layer.name, folded=(), operation=_own_activation(layer, batch_size))


def _sigmoids(network: Network) -> dict[str, tuple[str]]:
    """Multiplication → the sigmoid that only it reads, and whose input is its other factor."""
    gates = {each.name: each for each in network.layers if each.kind == "Activation" and each.activation == "sigmoid"}
    readers = _readers(network)
    found = {}
    for layer in network.layers:
        if layer.kind == "Multiply" and len(layer.inputs) == 2:
            for gate, other in (layer.inputs, layer.inputs[::-1]):
                if gate in gates and gates[gate].inputs == (other,) and readers[gate] == [layer.name]:
                    found[layer.name] = (gate,)
    return found


def _with_swish(network: Network, sigmoids: dict[str, tuple[str]]) -> Network:
    gone = {gate: layer for layer, (gate,) in sigmoids.items()}
    kept = [layer for layer in network.layers if layer.name not in gone]
    return replace(network, layers=tuple(_swish(each, gone) if each.name in sigmoids else each for each in kept))


def _swish(product: Layer, gone: dict[str, str]) -> Layer:
    (source,) = (name for name in product.inputs if name not in gone)
    return replace(
        product, kind="Activation", activation="swish", inputs=(source,), input_shapes=(product.output_shape,)
    )


def _readers(network: Network) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = {}
    for layer in network.layers:
        for name in layer.inputs:
            readers.setdefault(name, []).append(layer.name)
    for name in network.outputs:
        readers.setdefault(name, []).append("")
    return readers


def _hosts(network: Network, layers: dict[str, Layer], readers: dict[str, list[str]], fusion: Fusion) -> dict[str, str]:
    """Layer → the layer inside which it runs."""
    host: dict[str, str] = {}
    for layer in network.layers:
        alone = readers.get(layer.name, [])
        if fusion.padding and layer.kind == "ZeroPadding2D" and len(alone) == 1 and alone[0]:
            if layers[alone[0]].kind in _PADDABLE:
                host[layer.name] = alone[0]
            continue
        if len(layer.inputs) != 1 or len(readers[layer.inputs[0]]) != 1:
            continue
        before = host.get(layer.inputs[0], layer.inputs[0])
        if layers[before].kind not in _CONVOLUTIONS:
            continue
        if (fusion.normalization and layer.kind in _NORMALIZATIONS) or (
            fusion.activation and layer.kind in _ACTIVATION_KINDS
        ):
            host[layer.name] = before
    return host


def _runs(layer: Layer, fusion: Fusion) -> bool:
    return layer.kind not in VIEWS and (fusion.training or layer.kind not in ACTIVE_IN_TRAINING)


def _with_padding(layer: Layer, folded: list[Layer]) -> Layer:
    """The layer as it runs when a zero padding before it is its own argument."""
    for pad in folded:
        if pad.kind == "ZeroPadding2D" and pad.name in layer.inputs:
            inner, outer = pad.input_shapes[0], pad.output_shape
            added = tuple((0, outer[axis] - inner[axis] + sum(layer.padding[axis])) for axis in range(2))
            return replace(layer, input_shapes=(inner,), padding=added)
    return layer


def _has_own_activation(layer: Layer) -> bool:
    return layer.kind in _CONVOLUTIONS and layer.activation != "linear"


def _gradient_sums(layer: Layer, readers: list[str], batch_size: int) -> Iterator[Step]:
    """One addition for every reader of a tensor but the first; outputs of the network are given their gradient."""
    count = sum(map(bool, readers)) - 1 - len(layer.other_output_shapes)
    if count < 1:
        return iter(())
    added = Layer(
        name=layer.name,
        kind="Add",
        inputs=(layer.name, layer.name),
        input_shapes=(layer.output_shape, layer.output_shape),
        output_shape=layer.output_shape,
        flops=math.prod(layer.output_shape),
    )
    return repeat(Step(layer=layer.name, folded=(), operation=operation(added, batch_size)), count)


def _own_activation(layer: Layer, batch_size: int) -> Operation:
    acts = Layer(
        name=layer.name,
        kind="Activation",
        inputs=(layer.name,),
        input_shapes=(layer.output_shape,),
        output_shape=layer.output_shape,
        flops=math.prod(layer.output_shape),
        activation=layer.activation,
    )
    return operation(acts, batch_size)
