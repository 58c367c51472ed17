"""The configuration of a Keras model, Keras 2.2 to 3, as plain JSON data → `Network`.

Functional and Sequential models, nested, shared, with any number of inputs and outputs. Nested models are flattened:
their layers are named ``model/layer``. Only names, numbers and edges are read; nothing in a configuration is executed,
so Lambda layers and custom classes have to be declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from edgeperf.errors import InvalidInput, UnsupportedLayer
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.files import CLOSED_IN_THE_MODEL, CLOSED_ON_READING
from edgeperf.network.graph import PendingCall, ordered
from edgeperf.network.keras_layers import (
    GRAPHS,
    OPERATION,
    Declarations,
    Survey,
    declaration,
    layers_of,
    name_of,
    operation_name,
    survey,
)
from edgeperf.network.keras_nodes import Arguments, Node, Ref, arguments, listed, references
from edgeperf.network.keras_ops import translate
from edgeperf.network.kinds.attention import CALL_PARAMETERS
from edgeperf.network.layout import channels_last
from edgeperf.records import Network, Shape

MAX_RUNS: Final = 10_000
"""Calls of models within models."""

ADVICE: Final = (
    "State what they do with --declared FILE, or in Python with declared={name or class: "
    "{'output_shape': (H, W, C), 'params': N, 'macs': N, "
    "'flops': N}}, or {'kind': K, ...} where a known kind does the same."
)


def network_from_config(
    model: Mapping[str, Any],
    *,
    name: str | None = None,
    input_size: Shape | None = None,
    declared: Declarations | None = None,
    file: str = "The model",
    assembler: Assembler | None = None,
) -> Network:
    """The network that a model's configuration describes.

    Args:
        model: what `keras.Model.to_json` holds: class name and configuration.
        name: name of the network; the model's own where None.
        input_size: (height, width) that replaces the image inputs' own.
        declared: layer name or class → kind and parameters of layers that the table lacks.
        file: how messages call the model.
        assembler: takes the calls of layers; a plain one where None.

    Raises:
        UnsupportedLayer: layers of kinds that the table lacks and nobody declared.
        InvalidInput: the configuration is malformed or does not fit together.
    """
    declared = declared or {}
    try:
        found = survey(model, declared)
        if found.offenders:
            raise UnsupportedLayer(file, found.offenders, ADVICE)
        reader = _Reader(found, input_size, declared, assembler or Assembler())
        network = reader.network(model, name)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{file} holds a malformed model configuration ({type(error).__name__}: {str(error)[:200]}). "
            "Save the model again with Keras."
        ) from error
    network = replace(network, precision=found.precision, batch_size=reader.batch_size)
    return channels_last(network, reader.image_ranks) if found.channels_first else network


class _Reader:
    """Walks one model, and the models in it, in an order in which every call has its inputs."""

    def __init__(self, survey: Survey, input_size: Shape | None, declared: Declarations, assembler: Assembler) -> None:
        self._assembler = assembler
        self._input_size = input_size
        self._declared = declared
        self._channels_first = survey.channels_first
        self._kinds = survey.kinds
        self._inputs: list[str] = []
        self._runs = 0
        self.image_ranks: set[int] = set()
        self.batch_size = 1

    def network(self, model: Mapping[str, Any], name: str | None) -> Network:
        outputs = self._run(model, None, "")
        config = model["config"]
        own = config.get("name") if isinstance(config, dict) else None
        return self._assembler.finish(name or (own if isinstance(own, str) else "model"), self._inputs, outputs)

    def _run(self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str) -> Sequence[Tensor]:
        """Outputs of one model on the `given` tensors, or on inputs of its own."""
        run = self._sequence if model["class_name"] == "Sequential" else self._graph
        return run(model, given, prefix)

    def _sequence(self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str) -> Sequence[Tensor]:
        layers = layers_of(model)
        tensors: Sequence[Tensor] = given or ()
        if given is None and layers and layers[0]["class_name"] != "InputLayer":
            tensors = self._implied_input(model, layers[0], prefix)
        for layer in layers:
            if layer["class_name"] != "InputLayer":
                tensors = self._apply(layer, prefix + name_of(layer), tensors, None)
            elif given is None:
                tensors = self._input(prefix + name_of(layer), layer["config"])
        return tensors

    def _implied_input(self, model: Mapping[str, Any], first: Mapping[str, Any], prefix: str) -> Sequence[Tensor]:
        """The input of a Sequential model whose first layer, or the model itself, states its shape."""
        config, own = first["config"], model["config"]
        built = own.get("build_input_shape") if isinstance(own, dict) else None
        # The batch that a model happened to be built with binds nobody.
        shape = [None, *built[1:]] if built else None
        while "batch_input_shape" not in config and first["class_name"] in GRAPHS:
            first = layers_of(first)[0]
            config = first["config"]
        shape = config.get("batch_input_shape") or config.get("batch_shape") or shape
        if shape is None:
            raise InvalidInput("The Sequential model has no input shape. Build it before saving: model.build(shape).")
        return self._input(f"{prefix}{name_of(first)}_input", {"batch_shape": shape})

    def _graph(self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str) -> Sequence[Tensor]:
        layers, config = layers_of(model), model["config"]
        by_name = {name_of(layer): layer for layer in layers}
        if len(by_name) < len(layers):
            raise InvalidInput(f"The model {name_of(model)!r} holds two layers of one name; names must differ.")
        ready: dict[tuple[str, int], Sequence[Tensor]] = {}
        starts = list(dict.fromkeys(listed(config["input_layers"])))
        if given is None:
            for start in starts:
                ready[start[:2]] = self._input(prefix + start.layer, by_name[start.layer]["config"])
        elif len(given) == len(starts):
            ready.update({start[:2]: (tensor,) for start, tensor in zip(starts, given, strict=True)})
        else:
            raise InvalidInput(f"The model {name_of(model)!r} takes {len(starts)} inputs, but is given {len(given)}.")
        calls = [call for name, layer in by_name.items() for call in _calls(name, layer)]
        for call in ordered(calls, ready):
            tensors = [_output(ready, ref) for ref in call.inputs]
            ready[call.output] = self._apply(call.layer, prefix + call.output[0], tensors, call.arguments)
        return [_output(ready, ref) for ref in listed(config["output_layers"])]

    def _apply(
        self, layer: Mapping[str, Any], name: str, tensors: Sequence[Tensor], given: Arguments | None
    ) -> Sequence[Tensor]:
        """Outputs of one call of a layer, an operation or a model."""
        if layer["class_name"] in GRAPHS:
            self._runs += 1
            if self._runs > MAX_RUNS:
                raise InvalidInput(
                    f"Models are called more than {MAX_RUNS} times within each other; flatten the model."
                )
            return self._run(layer, tensors, f"{name}/")
        stated = declaration(name, layer["class_name"], self._declared) if self._declared else None
        kind, config = stated or (self._kinds[id(layer)], layer["config"])
        if kind == OPERATION:
            args, named = given or ((), {})
            shapes = tuple(tensor.shape for tensor in tensors)
            kind, config = _translated(name, Node(operation_name(layer), config, args, named, shapes))
        elif kind in CALL_PARAMETERS and given is not None:
            config, tensors = _named_inputs(CALL_PARAMETERS[kind], config, tensors, given)
        if self._channels_first and tensors and config.get("data_format") == "channels_first":
            self.image_ranks.add(len(tensors[0].shape))
        return self._assembler.configured(name, str(kind), config, tensors)

    def _input(self, name: str, config: Mapping[str, Any]) -> Sequence[Tensor]:
        batched = config.get("batch_shape") or config.get("batch_input_shape")
        shape = tuple(config["shape"] if batched is None else batched[1:])
        if batched is not None and type(batched[0]) is int and self.batch_size == 1:
            self.batch_size = max(1, batched[0])
        if self._input_size is not None and len(shape) == len(self._input_size) + 1:
            shape = (shape[0], *self._input_size) if self._channels_first else (*self._input_size, shape[-1])
        if any(size is None for size in shape):
            channels = shape[0] if self._channels_first else shape[-1]
            advice = CLOSED_ON_READING if len(shape) == 3 and channels is not None else CLOSED_IN_THE_MODEL
            raise InvalidInput(f"The input {name!r} has open sizes: {shape}. {advice}.")
        self._inputs.append(name)
        return self._assembler.configured(name, "InputLayer", {"shape": shape}, ())


def _translated(name: str, node: Node) -> tuple[str, Mapping[str, Any]]:
    try:
        return translate(node)
    except InvalidInput as error:
        raise InvalidInput(f"The operation {name!r} ({node.name}) cannot be used: {error}.") from None


def _named_inputs(
    names: tuple[str, ...], config: Mapping[str, Any], tensors: Sequence[Tensor], given: Arguments
) -> tuple[Mapping[str, Any], Sequence[Tensor]]:
    """Tells inputs that a layer takes by name apart; what has no name there, such as a mask, goes last."""
    args, named = given
    flat = [*dict(zip(names, args, strict=False)).items(), *named.items()]
    labels = [label for label, value in flat for _ in references(value)]
    if len(labels) != len(tensors):
        raise InvalidInput(f"A call takes {len(tensors)} tensors under {len(labels)} names.")
    pairs = sorted(zip(labels, tensors, strict=True), key=lambda pair: pair[0] not in names)
    return {**config, "given": tuple(label for label, _ in pairs)}, [tensor for _, tensor in pairs]


def _output(ready: Mapping[tuple[str, int], Sequence[Tensor]], ref: Ref) -> Tensor:
    outputs = ready.get(ref[:2], ())
    if not 0 <= ref.output < len(outputs):
        raise InvalidInput(
            f"Output {ref.output} of call {ref.call} of the layer {ref.layer!r} is used, but does not exist."
        )
    return outputs[ref.output]


def _calls(name: str, layer: Mapping[str, Any]) -> Iterator[PendingCall]:
    """One per inbound node; input layers have none."""
    if layer["class_name"] == "InputLayer":
        return
    for number, node in enumerate(layer["inbound_nodes"]):
        given = arguments(node)
        yield PendingCall(layer, (name, number), references(given), given)
