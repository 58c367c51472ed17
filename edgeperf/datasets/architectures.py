"""`architectures.jsonl.gz` of the Jetson measurements by Bouzidi et al. → a `Network` per measured model and size.

Each line is a template: the layers of one Keras 2 model without its input size. Lambda layers come with what they do
instead of byte-code; `_LAMBDAS` says which kind of the table that is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.features import FEATURES
from edgeperf.network.kinds.spec import elements
from edgeperf.records import Layer, Network

_LAMBDAS = {
    "slice_channels": "SliceChannels",
    "scaled_residual_add": "ScaledAdd",
    "expand_dims_hw": "ExpandSpatial",
    "channel_shuffle": "ChannelShuffle",
    "scale": "Scale",
}


class Template:
    """One measured model at any of the input sizes that it is valid for.

    Attributes:
        arch_id: the key that the measured tables refer to.
        model: the model's published name.
        input_sizes: heights (= widths) at which this graph was measured.
        check: the published counts and whether this graph has them; None where none are published.
    """

    def __init__(self, line: Mapping[str, Any]) -> None:
        self.arch_id: str = line["arch_id"]
        self.model: str = line["model"]
        self.input_sizes: tuple[int, ...] = tuple(line["input_sizes"])
        self.check: Mapping[str, Any] | None = line["check"]
        self._layers = line["layers"]
        self._inputs = [name for name, *_ in line["inputs"]]
        self._outputs = [name for name, *_ in line["outputs"]]

    def network(self, input_size: int) -> Network:
        """The graph for square RGB images of `input_size` pixels.

        Raises:
            InvalidInput: the graph does not exist at this size.
        """
        assembler = Assembler()
        tensors: dict[str, Tensor] = {}
        for name, kind, config, calls in self._layers:
            if kind == "InputLayer":
                config, calls = {"shape": (input_size, input_size, 3)}, [[]]
            elif kind == "Lambda":
                kind = _LAMBDAS[config["op"]]
            elif kind == "Flatten" and config.get("data_format") is None:
                config = {}
            for sources in calls:
                tensors[name] = assembler.configured(name, kind, config, [tensors[source] for source in sources])[0]
        return assembler.finish(self.model, self._inputs, [tensors[name] for name in self._outputs])


@lru_cache(maxsize=4)
def read_templates(path: Path) -> Mapping[str, Template]:
    """The templates of the file at `path` by their `arch_id`.

    Raises:
        InvalidInput: the file is not such a collection.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found = {template.arch_id: template for template in _templates(lines)}
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path} is no collection of architectures ({error}); expected gzipped JSON lines."
        ) from error
    if not found:
        raise InvalidInput(f"{path} is no collection of architectures: it is empty.")
    return found


def _templates(lines: Iterator[str] | Any) -> Iterator[Template]:
    for line in lines:
        yield Template(json.loads(line))


def published_columns(network: Network, *, synthetic: bool = False) -> dict[str, float]:
    """The feature columns of the published tables, as their authors counted them, by the tables' own names.

    Layer counts, parameters and the sum of activations are what `FEATURES` holds. Two columns are not:

    - ``flops`` comes from TensorFlow 1's graph profiler. It counts 2 per multiply-accumulate, bias additions, pooling
      windows, element-wise merges and softmax, not activations; and, size after size the same, the initialisers: 2
      per weight and about 5 per normalised channel. Within 1 % for 1,496 of 1,655 rows; up to 60 % off where one
      session held several graphs (MobileNet V2 at sizes other than 32) or the column contradicts its graph.
    - ``weighted_sum_neurons`` takes the channels of the layer *listed before* a convolution as its filters' depth,
      which is another branch's wherever branches join, and the filter's width squared as its area. Dense layers count
      their multiply-accumulates, in synthetic networks nothing. Exact but for Xception, whose separable convolutions
      follow no rule found, and three models whose columns contradict their graphs.
    """
    values = {column: float(FEATURES[feature](network)) for column, feature in _SAME_COLUMNS.items()}
    previous = (network.layers[0], *network.layers)
    values["flops"] = float(sum(map(_profiler_flops, network.layers)))
    values["weighted_sum_neurons"] = float(
        sum(_listed_neurons(*pair, synthetic) for pair in zip(network.layers, previous, strict=False))
    )
    return values


_SAME_COLUMNS = {
    "nb_layers": "num_layers",
    "sum_activations": "activations",
    "params_conv": "params_conv",
    "params_bn": "params_batch_norm",
    "params_fc": "params_dense",
    "nb_conv_layers": "num_conv",
    "nb_bn_layers": "num_batch_norm",
    "nb_fc_layers": "num_dense",
}


def _profiler_flops(layer: Layer) -> int:
    """What TensorFlow 1's profiler counts for one layer and the initialisation of its weights."""
    written, channels = elements(layer.output_shape), layer.output_shape[-1]
    softmax = 5 * written * (layer.activation == "softmax")
    if layer.macs:
        initialised = 2 * (layer.weights - layer.use_bias * channels)
        return 2 * layer.macs + initialised + written * layer.use_bias + softmax
    if layer.kind == "BatchNormalization":
        return 5 * channels
    if layer.kind in ("Add", "Multiply", "Scale") or ("Pooling" in layer.kind and layer.kind != "GlobalMaxPooling2D"):
        return layer.flops
    return written if layer.kind == "ScaledAdd" else softmax


def _listed_neurons(layer: Layer, previous: Layer, synthetic: bool) -> int:
    if layer.units:
        return 0 if synthetic else layer.macs
    if not layer.filters:
        return 0
    return elements(layer.output_shape) * layer.kernel_size[-1] ** 2 * previous.output_shape[-1]
