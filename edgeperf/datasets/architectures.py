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
from edgeperf.records import Network

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
            return {template.arch_id: template for template in _templates(lines)}
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path} is no collection of architectures ({error}); expected gzipped JSON lines."
        ) from error


def _templates(lines: Iterator[str] | Any) -> Iterator[Template]:
    for line in lines:
        yield Template(json.loads(line))
