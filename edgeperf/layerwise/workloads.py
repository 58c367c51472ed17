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
from edgeperf.layerwise.rewrites import readers_of, swish_gates, two_parts, with_swish
from edgeperf.network.kinds import KINDS
from edgeperf.records import Layer, Network

_ACTIVATION_KINDS = frozenset({"Activation", "ReLU", "LeakyReLU", "ELU", "PReLU"})
_NORMALIZATIONS = frozenset({"BatchNormalization"})
_CONVOLUTIONS = frozenset(
    {
        *("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"),
        *("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Dense"),
    }
)
_PADDABLE = frozenset({"Conv2D", "DepthwiseConv2D", "SeparableConv2D", "MaxPooling2D", "AveragePooling2D"})
_OVER_ALL_CHANNELS = frozenset({"softmax", "log_softmax"})
"""Activations that need every output of a convolution before they give one, and so cannot run inside it."""

VIEWS = frozenset(
    {"InputLayer", "Reshape", "Flatten", "Identity", "ExpandSpatial", "ActivityRegularization", "RepeatVector"}
)
"""Kinds that rename memory at most and run no kernel."""

ACTIVE_IN_TRAINING = frozenset(name for name, kind in KINDS.items() if kind.vanishes)
"""Kinds that are the identity at inference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """What a runtime folds into the operation before (padding: after).

    Attributes:
        padding: a zero-padding layer becomes an argument of the only window that reads it.
        split_activation: an activation argument of a weighted layer runs as an operation of its own; softmax always.
        swish: a sigmoid that is multiplied with its own input and nothing else runs as one swish, as which it was
            written before an export took it apart.
        normalization: a normalisation that alone reads a convolution is folded into it.
        activation: an activation that alone reads a convolution (or its folded normalisation) is folded into it; one
            per convolution, and no softmax.
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
        reads: layers whose outputs it reads; none for what a layer runs after its first operation.
        operation: what runs.
    """

    layer: str
    folded: tuple[str, ...]
    reads: tuple[str, ...]
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
    gates = swish_gates(network) if fusion.swish else {}
    network = with_swish(network, gates)
    layers = {layer.name: layer for layer in network.layers}
    readers = readers_of(network)
    host = _hosts(network, layers, readers, fusion)
    folded: dict[str, list[str]] = {}
    for name, target in host.items():
        folded.setdefault(target, []).extend((name, *gates.get(name, ())))
    for layer in network.layers:
        if fusion.training and layer.kind != "InputLayer":
            yield from _gradient_sums(layer, readers.get(layer.name, []), batch_size)
        if layer.name in host or not _runs(layer, fusion):
            continue
        inside = (*folded.get(layer.name, ()), *gates.get(layer.name, ()))
        padded, reads = _with_padding(layer, [layers[name] for name in inside if name in layers])
        first, *further = two_parts(padded)
        yield Step(layer=layer.name, folded=inside, reads=reads, operation=operation(first, batch_size))
        for part in further:
            yield Step(layer=layer.name, folded=(), reads=(), operation=operation(part, batch_size))
        if _runs_own_activation(layer, fusion):
            acts = _own_activation(layer, batch_size)
            yield Step(layer=layer.name, folded=(), reads=(), operation=acts)


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
        before = layers[layer.inputs[0]]
        target = layers[host.get(before.name, before.name)]
        if target.kind not in _CONVOLUTIONS or target.activation != "linear" or before.kind in _ACTIVATION_KINDS:
            continue
        normalizes = fusion.normalization and layer.kind in _NORMALIZATIONS
        if normalizes or (fusion.activation and _folds_as_activation(layer)):
            host[layer.name] = target.name
    return host


def _folds_as_activation(layer: Layer) -> bool:
    return layer.kind in _ACTIVATION_KINDS and layer.activation not in _OVER_ALL_CHANNELS


def _runs(layer: Layer, fusion: Fusion) -> bool:
    if layer.kind in VIEWS or (layer.kind == "Activation" and layer.activation == "linear"):
        return False
    return fusion.training or layer.kind not in ACTIVE_IN_TRAINING


def _with_padding(layer: Layer, folded: list[Layer]) -> tuple[Layer, tuple[str, ...]]:
    """The layer as it runs when a zero padding before it is its own argument, and what it reads then."""
    for pad in folded:
        if pad.kind == "ZeroPadding2D" and pad.name in layer.inputs:
            inner, outer = pad.input_shapes[0], pad.output_shape
            added = tuple((0, outer[axis] - inner[axis] + sum(layer.padding[axis])) for axis in range(2))
            return replace(layer, input_shapes=(inner,), padding=added), pad.inputs
    return layer, layer.inputs


def _runs_own_activation(layer: Layer, fusion: Fusion) -> bool:
    if layer.kind not in _CONVOLUTIONS or layer.activation == "linear":
        return False
    return fusion.split_activation or layer.activation in _OVER_ALL_CHANNELS


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
    return repeat(Step(layer=layer.name, folded=(), reads=(), operation=operation(added, batch_size)), count)


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
