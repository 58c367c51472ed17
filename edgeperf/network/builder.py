"""Python code that would build a Keras model → a `Network`, without Keras.

`LayerNamespace` offers what `keras.layers` and `keras.Model` offer, by the same names and arguments, so that one family
definition serves both::

    def build(L, width):
        image = L.Input((224, 224, 3))
        x = L.Conv2D(width, 3, strides=2, padding="same", use_bias=False, name="stem")(image)
        x = L.GlobalAveragePooling2D()(x)
        return L.Model(image, L.Dense(1000, activation="softmax")(x), name="small")

    network = build(LayerNamespace(), width=32)

Calls are collected in the order in which they are made. A namespace serves one network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.assemble import Assembler, Tensor
from edgeperf.network.kinds import KINDS, canonical, configure
from edgeperf.records import Network

_WORDS = re.compile(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")


class LayerNamespace:
    """Stands in for `keras.layers` and `keras.Model`; every layer class of the kind table is an attribute."""

    def __init__(self, assembler: Assembler | None = None) -> None:
        self._assembler = assembler or Assembler()
        self._numbers: dict[str, int] = {}

    def __getattr__(self, kind: str) -> Any:
        name = canonical(kind)
        if name not in KINDS:
            raise AttributeError(f"edgeperf knows no layer {kind!r}; it knows {', '.join(sorted(KINDS))}")
        factory = partial(_LayerCall, self, name)
        self.__dict__[kind] = factory
        return factory

    def Input(self, shape: Sequence[int], name: str | None = None) -> Tensor:  # noqa: N802 - as in Keras
        """A tensor of `shape`, without batch, that the network takes."""
        config = (("shape", tuple(shape)),)
        return self._assembler.call(name or self._unused("input_layer"), "InputLayer", config, ())[0]

    def Model(  # noqa: N802 - as in Keras
        self, inputs: Tensor | Sequence[Tensor], outputs: Tensor | Sequence[Tensor], name: str = "model"
    ) -> Network:
        """The network of all layers called so far."""
        starts = [inputs] if isinstance(inputs, Tensor) else inputs
        ends = [outputs] if isinstance(outputs, Tensor) else outputs
        return self._assembler.finish(name, [tensor.layer for tensor in starts], ends)

    def _unused(self, stem: str) -> str:
        number = self._numbers.get(stem, 0)
        self._numbers[stem] = number + 1
        return f"{stem}_{number}" if number else stem


class _LayerCall:
    """A layer that waits for its inputs; each call is one use of the same weights."""

    __slots__ = ("_config", "_home", "_kind", "_name")

    def __init__(
        self, home: LayerNamespace, kind: str, *values: Any, name: str | None = None, **parameters: Any
    ) -> None:
        self._home = home
        self._kind = kind
        self._name = name or home._unused(_snake(kind))
        self._config = _bound(kind, values, tuple(parameters.items()))

    def __call__(self, inputs: Tensor | Sequence[Tensor]) -> Any:
        tensors = (inputs,) if isinstance(inputs, Tensor) else inputs
        outputs = self._home._assembler.call(self._name, self._kind, self._config, tensors)
        return outputs[0] if len(outputs) == 1 else outputs


@lru_cache(maxsize=1024)
def _snake(kind: str) -> str:
    """A layer's default name, as Keras forms it: ``"global_average_pooling2d"``."""
    return _WORDS.sub("_", kind).lower()


_HARMLESS = frozenset({"dtype", "trainable", "seed", "noise_shape", "activity_regularizer"})
_HARMLESS_ENDINGS = ("_initializer", "_regularizer", "_constraint")


@lru_cache(maxsize=65536)
def _bound(kind: str, values: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """The arguments of one layer, bound to its parameters as Keras would.

    Raises:
        InvalidInput: an argument that the layer does not take, or one that it needs is missing.
    """
    parameters = KINDS[kind].parameters
    config = dict(zip(parameters, values, strict=False))
    if len(config) < len(values):
        raise InvalidInput(f"{kind} takes {len(parameters)} positional arguments, got {len(values)}.")
    for key, value in named:
        if key in parameters and key not in config:
            config[key] = value
        elif key not in _HARMLESS and not key.endswith(_HARMLESS_ENDINGS):
            raise InvalidInput(f"{kind} does not take {key!r}; it takes {', '.join(parameters)}.")
    return configure(kind, config)
