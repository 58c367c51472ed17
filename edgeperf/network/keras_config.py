"""The configuration of a Keras model, Keras 2.2 to 3, as plain JSON data → `Network`.

Functional and Sequential models, nested, shared, with any number of inputs and outputs. Nested models are flattened:
their layers are named ``model/layer``. Only names, numbers and edges are read; nothing in a configuration is executed,
so Lambda layers and custom classes have to be declared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from edgeperf.errors import InvalidInput, UnsupportedLayer
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.kinds import KINDS, canonical
from edgeperf.records import Network, Shape

MAX_NESTING: Final = 32
"""Models within models; real ones stay below ten."""

_GRAPHS: Final = frozenset({"Functional", "Model", "Sequential"})
Ref = tuple[str, int, int]
"""Layer name, number of the call, number of the output."""


def network_from_config(
    model: Mapping[str, Any],
    *,
    name: str | None = None,
    input_size: Shape | None = None,
    file: str = "The model",
    assembler: Assembler | None = None,
) -> Network:
    """The network that a model's configuration describes.

    Args:
        model: what `keras.Model.to_json` holds: class name and configuration.
        name: name of the network; the model's own where None.
        input_size: (height, width) that replaces the image inputs' own.
        file: how messages call the model.
        assembler: takes the calls of layers; a plain one where None.

    Raises:
        UnsupportedLayer: layers of kinds that the table lacks.
        InvalidInput: the configuration is malformed or does not fit together.
    """
    try:
        offenders = tuple(_offenders(model, "", 0))
        if offenders:
            raise UnsupportedLayer(file, offenders, "Pass declared={name: ...} to state what they do.")
        return _Reader(input_size, assembler or Assembler()).network(model, name)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{file} holds a malformed model configuration ({type(error).__name__}: {error}). "
            "Save the model again with Keras."
        ) from error


def _layers_of(model: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    config = model["config"]
    layers = config if isinstance(config, list) else config.get("layers")
    if not isinstance(layers, list):
        raise InvalidInput(
            f"The model is of class {model['class_name']!r} and holds no layers: subclassed models are code, not data. "
            "Export it to ONNX, or rebuild it with keras.Model(inputs, outputs)."
        )
    return layers


def _offenders(model: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_NESTING:
        raise InvalidInput(f"Models are nested more than {MAX_NESTING} deep; flatten the model.")
    for layer in _layers_of(model):
        kind, name = layer["class_name"], prefix + _name(layer)
        if kind in _GRAPHS:
            yield from _offenders(layer, f"{name}/", depth + 1)
        elif canonical(kind) not in KINDS:
            yield name, kind


def _name(layer: Mapping[str, Any]) -> str:
    name = layer.get("name") or layer["config"].get("name")
    if not isinstance(name, str):
        raise InvalidInput(f"A layer of class {layer['class_name']!r} has no name.")
    return name


class _Call(NamedTuple):
    layer: Mapping[str, Any]
    output: tuple[str, int]
    inputs: tuple[Ref, ...]


class _Reader:
    """Walks one model, and the models in it, in an order in which every call has its inputs."""

    def __init__(self, input_size: Shape | None, assembler: Assembler) -> None:
        self._assembler = assembler
        self._input_size = input_size

    def network(self, model: Mapping[str, Any], name: str | None) -> Network:
        inputs: list[str] = []
        outputs = self._run(model, None, "", inputs)
        config = model["config"]
        own = config.get("name") if isinstance(config, dict) else None
        return self._assembler.finish(name or own or "model", inputs, outputs)

    def _run(
        self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str, inputs: list[str]
    ) -> tuple[Tensor, ...]:
        """Outputs of one model on the `given` tensors, or on inputs of its own whose names join `inputs`."""
        if model["class_name"] == "Sequential":
            return self._sequence(model, given, prefix, inputs)
        return self._graph(model, given, prefix, inputs)

    def _sequence(
        self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str, inputs: list[str]
    ) -> tuple[Tensor, ...]:
        layers = _layers_of(model)
        tensors: tuple[Tensor, ...] = tuple(given or ())
        if not tensors and layers and layers[0]["class_name"] != "InputLayer":
            tensors = self._implied_input(model, layers[0], prefix, inputs)
        for layer in layers:
            if layer["class_name"] != "InputLayer":
                tensors = self._apply(layer, tensors, prefix)
            elif given is None:
                tensors = self._input(prefix + _name(layer), layer["config"], inputs)
        return tensors

    def _implied_input(
        self, model: Mapping[str, Any], first: Mapping[str, Any], prefix: str, inputs: list[str]
    ) -> tuple[Tensor, ...]:
        """The input of a Sequential model whose first layer, or the model itself, states its shape."""
        config = first["config"]
        while "batch_input_shape" not in config and isinstance(config.get("layers"), list):
            config = config["layers"][0]["config"]
        own = model["config"] if isinstance(model["config"], dict) else {}
        shape = config.get("batch_input_shape") or own.get("build_input_shape")
        if shape is None:
            raise InvalidInput("The Sequential model has no input shape. Build it before saving: model.build(shape).")
        return self._input(f"{prefix}{_name(first)}_input", {"batch_shape": shape}, inputs)

    def _graph(
        self, model: Mapping[str, Any], given: Sequence[Tensor] | None, prefix: str, inputs: list[str]
    ) -> tuple[Tensor, ...]:
        layers = _layers_of(model)
        by_name = {_name(layer): layer for layer in layers}
        if len(by_name) < len(layers):
            raise InvalidInput(f"The model {_name(model)!r} holds two layers of one name; names must differ.")
        ready: dict[tuple[str, int], tuple[Tensor, ...]] = {}
        starts = tuple(_refs(model["config"]["input_layers"]))
        if given is not None:
            if len(given) != len(starts):
                raise InvalidInput(f"The model {_name(model)!r} takes {len(starts)} inputs, but is given {len(given)}.")
            ready.update({(name, 0): (tensor,) for (name, _, _), tensor in zip(starts, given, strict=True)})
        else:
            for name, _, _ in starts:
                ready[name, 0] = self._input(prefix + name, by_name[name]["config"], inputs)
        for call in _ordered([call for layer in layers for call in _calls(layer)], ready):
            ready[call.output] = self._apply(call.layer, [_output(ready, ref) for ref in call.inputs], prefix)
        return tuple(_output(ready, ref) for ref in _refs(model["config"]["output_layers"]))

    def _apply(self, layer: Mapping[str, Any], tensors: Sequence[Tensor], prefix: str) -> tuple[Tensor, ...]:
        kind, name = layer["class_name"], prefix + _name(layer)
        if kind in _GRAPHS:
            return self._run(layer, tensors, f"{name}/", [])
        return self._assembler.configured(name, canonical(kind), layer["config"], tensors)

    def _input(self, name: str, config: Mapping[str, Any], inputs: list[str]) -> tuple[Tensor, ...]:
        batched = config.get("batch_shape") or config.get("batch_input_shape")
        shape = tuple(config["shape"] if batched is None else batched[1:])
        if self._input_size is not None and len(shape) == len(self._input_size) + 1:
            shape = (*self._input_size, shape[-1])
        if any(size is None for size in shape):
            raise InvalidInput(f"The input {name!r} has open sizes: {shape}. Pass input_size to close them.")
        inputs.append(name)
        return self._assembler.configured(name, "InputLayer", {"shape": shape}, ())


def _ordered(calls: Sequence[_Call], ready: Mapping[tuple[str, int], Any]) -> Iterator[_Call]:
    """The calls such that each comes after those whose outputs it takes; listed order wherever that is one."""
    known = set(ready)
    missing: dict[int, int] = {}
    waiting: dict[tuple[str, int], list[int]] = {}
    due: deque[int] = deque()
    for number, call in enumerate(calls):
        absent = {(name, node) for name, node, _ in call.inputs} - known
        if not absent:
            due.append(number)
        else:
            missing[number] = len(absent)
            for source in absent:
                waiting.setdefault(source, []).append(number)
        while due:
            done = calls[due.popleft()]
            known.add(done.output)
            yield done
            for blocked in waiting.pop(done.output, ()):
                missing[blocked] -= 1
                if not missing[blocked]:
                    del missing[blocked]
                    due.append(blocked)
    if missing:
        stuck = ", ".join(sorted({calls[number].output[0] for number in missing})[:10])
        raise InvalidInput(f"These layers wait for inputs that never come, or for each other: {stuck}.")


def _output(ready: Mapping[tuple[str, int], tuple[Tensor, ...]], ref: Ref) -> Tensor:
    name, node, index = ref
    outputs = ready.get((name, node), ())
    if not 0 <= index < len(outputs):
        raise InvalidInput(f"Output {index} of call {node} of the layer {name!r} is used, but does not exist.")
    return outputs[index]


def _calls(layer: Mapping[str, Any]) -> Iterator[_Call]:
    """One per inbound node; input layers have none."""
    if layer["class_name"] == "InputLayer":
        return
    name = _name(layer)
    for number, node in enumerate(layer["inbound_nodes"]):
        yield _Call(layer, (name, number), tuple(_node_refs(node)))


def _node_refs(node: Any) -> Iterator[Ref]:
    """Inputs of one call: Keras 3 writes args and kwargs, Keras 2 a list of [name, node, tensor, kwargs]."""
    if isinstance(node, dict):
        yield from _keras_tensors(node["args"])
        yield from _keras_tensors(node.get("kwargs", {}))
    else:
        yield from _refs(node)


def _keras_tensors(value: Any) -> Iterator[Ref]:
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            yield _ref(value["config"]["keras_history"])
        else:
            for item in value.values():
                yield from _keras_tensors(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keras_tensors(item)


def _refs(value: Any) -> Iterator[Ref]:
    """References in lists and dictionaries of them; one reference may stand alone."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        if len(value) >= 3 and isinstance(value[0], str) and isinstance(value[1], int):
            yield _ref(value)
        else:
            for item in value:
                yield from _refs(item)


def _ref(value: Sequence[Any]) -> Ref:
    name, node, index = value[:3]
    if not (isinstance(name, str) and isinstance(node, int) and isinstance(index, int)):
        raise InvalidInput(f"{value[:3]!r} is no reference to a layer's output.")
    return name, node, index
