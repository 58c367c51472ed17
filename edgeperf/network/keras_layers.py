"""A layer's entry in a Keras configuration → its kind, or the verdict that there is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from edgeperf.errors import InvalidInput
from edgeperf.network.keras_ops import is_known
from edgeperf.network.kinds import ALIASES, KERAS_LAYERS, KINDS
from edgeperf.network.kinds.operations import CUSTOM_CLASSES
from edgeperf.network.kinds.wrapping import WRAPPERS

MAX_NESTING: Final = 32
"""Models within models; real ones stay below ten."""

GRAPHS: Final = frozenset({"Functional", "Model", "Sequential"})
OPERATION: Final = "an operation"
_TENSORFLOW_FUNCTIONS: Final = frozenset({"TFOpLambda", "SlicingOpLambda"})
_KERAS_MODULES: Final = ("keras", "tf_keras", "tensorflow", "tf.keras")

_POLICY: Final = re.compile(r"(mixed_)?b?float\d{1,2}|(int[48]|float8)_from_\w{1,20}")
"""Policies in which a layer computes; those of layers that count or look up are integers."""

Declarations = Mapping[str, Mapping[str, Any]]


def layers_of(model: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The layers of a model's entry.

    Raises:
        InvalidInput: it has none, as subclassed models.
    """
    config = model["config"]
    layers = config if isinstance(config, list) else config.get("layers")
    if not isinstance(layers, list):
        raise InvalidInput(
            f"The model is of class {model['class_name']!r} and holds no layers: subclassed models are code, not data. "
            "Export it to ONNX, or rebuild it with keras.Model(inputs, outputs)."
        )
    return layers


def name_of(layer: Mapping[str, Any]) -> str:
    """A layer's own name.

    Raises:
        InvalidInput: it has none.
    """
    name = layer.get("name") or layer["config"].get("name")
    if not isinstance(name, str):
        raise InvalidInput(f"A layer of class {layer['class_name']!r} has no name.")
    return name


def kind_of(layer: Mapping[str, Any]) -> str | None:
    """The kind of a layer that is no model; `OPERATION` for operations, None for what nobody knows."""
    class_name, module = layer["class_name"], layer.get("module", "keras")
    if class_name in KERAS_LAYERS and module == "keras.layers":
        return class_name if class_name not in WRAPPERS or _is_plain(layer["config"]["layer"]) else None
    if isinstance(module, str) and module.startswith(("keras.src.ops", "keras.ops")):
        return OPERATION if is_known(class_name) else None
    if class_name in _TENSORFLOW_FUNCTIONS:
        return OPERATION if is_known(layer["config"]["function"]) else None
    bare = class_name.rpartition(">")[2]
    if bare in CUSTOM_CLASSES:
        return CUSTOM_CLASSES[bare]
    if bare != class_name or not isinstance(module, str) or not module.startswith(_KERAS_MODULES):
        return None
    kind = ALIASES.get(bare, bare)
    if kind in WRAPPERS and not _is_plain(layer["config"]["layer"]):
        return None
    return kind if kind in KERAS_LAYERS else None


def _is_plain(layer: Mapping[str, Any]) -> bool:
    """Whether a layer within a wrapper is one of the table, and no wrapper or model itself."""
    kind = None if layer["class_name"] in WRAPPERS else kind_of(layer)
    return kind is not None and kind != OPERATION


def operation_name(layer: Mapping[str, Any]) -> str:
    """Class or function of a layer whose kind is `OPERATION`."""
    name = layer["config"]["function"] if layer["class_name"] in _TENSORFLOW_FUNCTIONS else layer["class_name"]
    return str(name)


def declaration(name: str, class_name: str, declared: Declarations) -> tuple[str, Mapping[str, Any]] | None:
    """Kind and configuration that the user declares for a layer, by its name or else its class.

    Raises:
        InvalidInput: the declaration names no kind of the table, or parameters that the kind lacks.
    """
    given = declared.get(name, declared.get(class_name))
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name!r} is declared as {given!r}, expected a dictionary.")
    kind = given.get("kind", "Declared")
    if kind not in KINDS:
        raise InvalidInput(f"{name!r} is declared as {kind!r}, expected one of {', '.join(sorted(KINDS))}.")
    unknown = sorted(given.keys() - KINDS[kind].parameters.keys() - {"kind"})
    if unknown:
        raise InvalidInput(f"{name!r} is declared with {unknown}; {kind} takes {', '.join(KINDS[kind].parameters)}.")
    return kind, given


class Survey(NamedTuple):
    """What one look over all layers tells.

    Attributes:
        offenders: (name, class) of layers of no known kind.
        channels_first: whether a layer works on (channels, height, width).
        kinds: identity of every layer's entry → its kind; declared ones may lack one.
        precision: the policy of most layers; ``"float32"`` where none is stated.
    """

    offenders: tuple[tuple[str, str], ...]
    channels_first: bool
    kinds: Mapping[int, str | None]
    precision: str


def survey(model: Mapping[str, Any], declared: Declarations) -> Survey:
    """Looks over all layers of a model and of the models in it.

    Raises:
        InvalidInput: models are nested too deeply.
    """
    offenders: list[tuple[str, str]] = []
    kinds: dict[int, str | None] = {}
    policies: Counter[str] = Counter()
    channels_first = False
    for name, layer in _flat(model, "", 0):
        config = layer["config"]
        channels_first = channels_first or (type(config) is dict and config.get("data_format") == "channels_first")
        kind = kinds[id(layer)] = kind_of(layer)
        if kind is None and declaration(name, layer["class_name"], declared) is None:
            offenders.append((name, str(layer["class_name"])))
        if type(config) is dict and kind != "InputLayer":
            policies.update(_policy(config.get("dtype")))
    precision = policies.most_common(1)[0][0] if policies else "float32"
    return Survey(tuple(offenders), channels_first, kinds, precision)


def _policy(dtype: Any) -> tuple[str, ...]:
    """The name of a layer's policy, stated as such or as the configuration of one; none where it is no number's."""
    if isinstance(dtype, dict) and isinstance(dtype.get("config"), dict):
        dtype = dtype["config"].get("name")
    return (dtype,) if isinstance(dtype, str) and _POLICY.fullmatch(dtype) else ()


def _flat(model: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if depth > MAX_NESTING:
        raise InvalidInput(f"Models are nested more than {MAX_NESTING} deep; flatten the model.")
    for layer in layers_of(model):
        name = prefix + name_of(layer)
        if layer["class_name"] in GRAPHS:
            yield from _flat(layer, f"{name}/", depth + 1)
        else:
            yield name, layer
