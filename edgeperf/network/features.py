"""A `Network` → the whole-network numbers that the surrogates read.

The rows of the feature table of Bouzidi et al. (Computing Frontiers 2021), with multiply-accumulates and sums over
filters beside them. Convolutions are those of every kind, a separable one counting once. A layer that is called twice
counts its weights once and its work twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from edgeperf.network.graph_quantities import QUANTITY_NAMES, graph_quantities
from edgeperf.network.kinds.convolution import CONVOLUTIONS
from edgeperf.network.kinds.spec import elements
from edgeperf.records import Features, Layer, Network, Shape

FEATURE_SCHEMA: Final = 1
"""1: first version. Surrogates refuse any other, so every change of names, order or meaning raises it."""


def _own(network: Network) -> Iterator[Layer]:
    """Layers as Keras lists them: once, however often they are called."""
    return (layer for layer in network.layers if layer.shares_weights_with is None)


def _count(kinds: frozenset[str]) -> Callable[[Network], float]:
    return lambda network: sum(layer.kind in kinds for layer in _own(network))


def _params(kinds: frozenset[str]) -> Callable[[Network], float]:
    return lambda network: sum(layer.params for layer in network.layers if layer.kind in kinds)


def _mean_filter_size(network: Network) -> float:
    """Mean height of the convolutions' filters, 0 where there are none."""
    heights = [layer.kernel_size[0] for layer in _own(network) if layer.kind in _CONV]
    return sum(heights) / len(heights) if heights else 0.0


def weighted_neurons(layer: Layer) -> int:
    """Neurons of a convolution times height x width x depth of its filters; those of a dense layer as they are.

    The depth is that of the filter array: the input's channels per group, and all of them for depthwise and separable
    convolutions, whose array holds one plane per channel.

    Reference: Bouzidi et al., "Performance Prediction for Convolutional Neural Networks on Edge GPUs", Computing
    Frontiers 2021. The column that they published deviates; see `edgeperf.datasets.architectures.published_columns`.
    """
    if layer.kind not in _CONV:
        return layer.units and elements(layer.output_shape)
    channels = layer.input_shapes[0][-1]
    depth = channels if layer.kind.startswith("Depthwise") else channels // layer.groups
    return elements(layer.output_shape) * elements(layer.kernel_size) * depth


def image_sizes(shape: Shape) -> tuple[int, int, int]:
    """Height, width and channels; a sequence is one row, a vector one pixel, of volumes the depth joins the height.

    >>> image_sizes((224, 224, 3)), image_sizes((197, 768)), image_sizes((16, 8, 8, 3))
    ((224, 224, 3), (1, 197, 768), (128, 8, 3))
    """
    *rows, width, channels = (1, 1, *shape)
    return elements(tuple(rows)), width, channels


_CONV: Final = frozenset(CONVOLUTIONS)
_NORM: Final = frozenset({"BatchNormalization"})
_DENSE: Final = frozenset({"Dense"})

FEATURES: Final[Mapping[str, Callable[[Network], float]]] = {
    "num_layers": lambda network: sum(1 for _ in _own(network)),
    "num_conv": _count(_CONV),
    "num_batch_norm": _count(_NORM),
    "num_dense": _count(_DENSE),
    "filters": lambda network: sum(layer.filters for layer in _own(network)),
    "units": lambda network: sum(layer.units for layer in _own(network)),
    "filter_size": _mean_filter_size,
    "input_height": lambda network: image_sizes(network.input_shape)[0],
    "input_width": lambda network: image_sizes(network.input_shape)[1],
    "input_channels": lambda network: image_sizes(network.input_shape)[2],
    "input_pixels": lambda network: elements(network.input_shape[:-1]),
    "params": lambda network: sum(layer.params for layer in network.layers),
    "params_conv": _params(_CONV),
    "params_batch_norm": _params(_NORM),
    "params_dense": _params(_DENSE),
    "macs": lambda network: sum(layer.macs for layer in network.layers),
    "flops": lambda network: sum(layer.flops for layer in network.layers),
    "activations": lambda network: sum(elements(layer.output_shape) for layer in network.layers),
    "weighted_neurons": lambda network: sum(weighted_neurons(layer) for layer in network.layers),
}
"""Name → function of the network: what a reader of the paper asks for."""

FEATURE_NAMES: Final = (*FEATURES, *QUANTITY_NAMES)
"""All features in the order in which surrogates read them; the additive ones follow."""


def features(network: Network) -> Features:
    """All features of `network`, in the order of `FEATURE_NAMES`."""
    values = {name: float(feature(network)) for name, feature in FEATURES.items()}
    values.update(zip(QUANTITY_NAMES, graph_quantities(network), strict=True))
    return Features(network=network.name, schema=FEATURE_SCHEMA, values=values)
