"""A model → its recipe: the layers to construct and how to connect them, for TensorFlow 2.7's Keras up to Keras 3.

A board's TensorFlow cannot read what a newer Keras saved. A recipe says no more than which constructor takes which
arguments, so that `edgeperf.profilers.board_inference` rebuilds the network with whatever Keras the board has. Weights
are left out: they are random in every measurement.

    {"format": 1, "name": NAME, "inputs": [ID, ...], "outputs": [[ID, output number], ...],
     "calls": [{"id": ID, "name": LAYER, "kind": CLASS, "kwargs": {...}, "inputs": [[ID, output number], ...]}, ...]}

Calls stand in topological order; a second call of a layer repeats its name under another id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from edgeperf.errors import UnsupportedLayer
from edgeperf.network import read_network
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.builder import LayerNamespace
from edgeperf.network.kinds import KINDS
from edgeperf.network.kinds.operations import OPERATIONS
from edgeperf.records import Network
from edgeperf.zoo import Family, Genes

FORMAT = 1
Recipe = dict[str, Any]

_KERAS_NAMES = {"FixedDropout": "Dropout", "Scale": "Rescaling"}
_KERAS_ARGUMENTS = {"Scale": {"value": "scale"}}
_NOT_CONSTRUCTIBLE = frozenset(OPERATIONS) - {"Scale"}


class _Recorder(Assembler):
    """Keeps the calls of layers beside the network that they make."""

    def __init__(self) -> None:
        super().__init__()
        self._recorded: list[dict[str, Any]] = []
        self.recipe: Recipe = {}

    def call(
        self, name: str, kind: str, config: tuple[tuple[str, Any], ...], inputs: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        outputs = super().call(name, kind, config, inputs)
        renamed, defaults = _KERAS_ARGUMENTS.get(kind, {}), KINDS[kind].parameters
        self._recorded.append(
            {
                "id": outputs[0].layer,
                "name": name.replace("/", "."),  # Keras 3 allows no slash in a layer's name
                "kind": _KERAS_NAMES.get(kind, kind),
                # Defaults are Keras' own; leaving them out leaves out what only other formats can state.
                "kwargs": {renamed.get(key, key): value for key, value in config if value != defaults[key]},
                "inputs": [[tensor.layer, tensor.index] for tensor in inputs],
            }
        )
        return outputs

    def finish(self, name: str, inputs: Iterable[str], outputs: Iterable[Tensor]) -> Network:
        starts, ends = tuple(inputs), tuple(outputs)
        self.recipe = {
            "format": FORMAT,
            "name": name,
            "inputs": list(starts),
            "outputs": [[tensor.layer, tensor.index] for tensor in ends],
            "calls": self._recorded,
        }
        return super().finish(name, starts, ends)


def from_model(source: Any, input_size: int | None = None) -> tuple[Network, Recipe]:
    """The network and the recipe of a model file, JSON text or live model, as `edgeperf.read_network` takes them.

    Raises:
        InvalidInput: the source cannot be read.
        UnsupportedLayer: it holds layers that Keras has no constructor for.
    """
    recorder = _Recorder()
    network = read_network(source, input_size, assembler=recorder)
    _require_constructible(network)
    return network, recorder.recipe


def from_genes(family: Family, genes: Genes, name: str) -> tuple[Network, Recipe]:
    """The network and the recipe of a member of a zoo family."""
    return from_definition(lambda layers: family.build(layers, {**genes, "name": name}))


def from_definition(define: Callable[[LayerNamespace], Network]) -> tuple[Network, Recipe]:
    """The network and the recipe of what `define` builds from a namespace of layers."""
    recorder = _Recorder()
    network = define(LayerNamespace(recorder))
    return network, recorder.recipe


def to_config(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the configuration of a functional Keras 2 model, which `edgeperf.read_network` takes.

    It says no more than the recipe: a few kilobytes, where Keras itself writes hundreds.
    """
    layers: dict[str, dict[str, Any]] = {}
    node_of: dict[str, tuple[str, int]] = {}
    for call in recipe["calls"]:
        layer = layers.setdefault(
            call["name"],
            {"class_name": call["kind"], "name": call["name"], "config": _config(call), "inbound_nodes": []},
        )
        node_of[call["id"]] = (call["name"], len(layer["inbound_nodes"]))
        if call["inputs"]:
            layer["inbound_nodes"].append([[*node_of[source], output, {}] for source, output in call["inputs"]])
    return {
        "class_name": "Functional",
        "config": {
            "name": recipe["name"],
            "layers": list(layers.values()),
            "input_layers": [[*node_of[name], 0] for name in recipe["inputs"]],
            "output_layers": [[*node_of[name], output] for name, output in recipe["outputs"]],
        },
    }


def _config(call: Mapping[str, Any]) -> dict[str, Any]:
    if call["kind"] == "InputLayer":
        return {"name": call["name"], "batch_input_shape": [None, *call["kwargs"]["shape"]]}
    return {"name": call["name"], **call["kwargs"]}


def _require_constructible(network: Network) -> None:
    offenders = [(layer.name, layer.kind) for layer in network.layers if layer.kind in _NOT_CONSTRUCTIBLE]
    if offenders:
        raise UnsupportedLayer(
            network.name, offenders, "A device rebuilds networks from Keras layers alone; export the model to ONNX."
        )
