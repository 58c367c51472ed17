"""One inbound node of a layer, as Keras 2 or Keras 3 writes it → the arguments of its call, references marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import Shapes
from edgeperf.records import Shape


class Ref(NamedTuple):
    """An output of a call: layer name, number of the call, number of the output."""

    layer: str
    call: int
    output: int


class Range(NamedTuple):
    """A slice that a call is given."""

    start: Any
    stop: Any
    step: Any


Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
_NO_NAMES: Mapping[str, Any] = {}


def arguments(node: Any) -> Arguments:
    """Positional and named arguments of one call; tensors are `Ref`s, lists tuples, slices `Range`s."""
    if isinstance(node, dict):
        named = node.get("kwargs")
        return tuple([_value(item) for item in node["args"]]), _named(named) if named else _NO_NAMES
    return _keras2_arguments(node)


def _named(named: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(item) for key, item in named.items() if item is not None}


def _value(item: Any) -> Any:
    """One argument of Keras 3."""
    if isinstance(item, dict):
        kind, config = item.get("class_name"), item.get("config")
        if kind == "__keras_tensor__":
            return reference(item["config"]["keras_history"])
        if kind == "__slice__" and isinstance(config, dict):
            return Range(config.get("start"), config.get("stop"), config.get("step"))
        if kind == "__ellipsis__":
            return "..."
        return {key: _value(each) for key, each in item.items()}
    if isinstance(item, list):
        return tuple([_value(each) for each in item])
    return item


def _keras2_arguments(node: Any) -> Arguments:
    """Keras 2: one [layer, call, output, named arguments] per input; the last may be left out."""
    if node and isinstance(node[0], str):
        node = [node]
    first = node[0]
    named = first[3] if len(first) > 3 and isinstance(first[3], dict) else {}
    inputs = tuple([each[2] if each[0] == "_CONSTANT_VALUE" else reference(each) for each in node])
    values = {key: _keras2_value(item) for key, item in named.items() if item is not None}
    return (inputs if len(inputs) == 1 else (inputs,)), values


def _keras2_value(item: Any) -> Any:
    if isinstance(item, list):
        if len(item) in (3, 4) and isinstance(item[0], str) and all(type(each) is int for each in item[1:3]):
            return reference(item)
        return tuple([_keras2_value(each) for each in item])
    if isinstance(item, dict) and item.keys() == {"start", "stop", "step"}:
        return Range(item["start"], item["stop"], item["step"])
    return item


def reference(value: Sequence[Any]) -> Ref:
    """``[layer, call, output, ...]`` as a `Ref`.

    Raises:
        InvalidInput: it is none.
    """
    name, call, output = value[:3]
    if type(name) is not str or type(call) is not int or type(output) is not int:
        raise InvalidInput(f"{value[:3]!r} is no reference to a layer's output.")
    return Ref(name, call, output)


def references(value: Any) -> list[Ref]:
    """The `Ref`s in nested arguments, in order."""
    found: list[Ref] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Ref]) -> None:
    kind = type(value)
    if kind is Ref:
        found.append(value)
    elif kind is tuple:
        for item in value:
            _collect(item, found)
    elif kind is dict:
        for item in value.values():
            _collect(item, found)


def listed(value: Any) -> Iterator[Ref]:
    """References in a model's ``input_layers`` or ``output_layers``: one, a list of them, or any nesting."""
    if isinstance(value, dict):
        for item in value.values():
            yield from listed(item)
    elif isinstance(value, list):
        if len(value) >= 3 and isinstance(value[0], str) and isinstance(value[1], int):
            yield reference(value)
        else:
            for item in value:
                yield from listed(item)


class Node(NamedTuple):
    """One operation: what its constructor and its call were given, and the shapes of its tensors."""

    name: str
    config: Mapping[str, Any]
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    shapes: Shapes

    def value(self, *names: str, default: Any = None) -> Any:
        """The first of the parameters `names` that is stated, or else the first positional value that is no tensor."""
        for name in names:
            for source in (self.config, self.named):
                if source.get(name) is not None:
                    return plain(source[name])
        positional = [item for item in self.args if not references(item)]
        return plain(positional[0]) if positional else default

    @property
    def shape(self) -> Shape:
        """Shape of the first tensor."""
        if not self.shapes:
            raise InvalidInput("it is called without a tensor")
        return self.shapes[0]


def plain(value: Any) -> Any:
    """A literal with its lists as tuples."""
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        return plain(value["items"])
    return value
