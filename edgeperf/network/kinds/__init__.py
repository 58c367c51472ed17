"""Kind of layer → its shape, weights and work: the one table, and the convention that it counts by.

One multiply-accumulate (MAC) is two floating-point operations (FLOPs). MACs are those of convolutions, dense layers and
attention products, padding included, at batch size 1. FLOPs add what MACs leave out: a bias is 1 per output element; a
fused activation is 1 per output element, 3 for softmax, 0 for linear; every other operation counts as its kind's row
states. Moving data (reshaping, padding, cropping, joining) counts 0. Dropout, noise and augmentation vanish.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.attention import ATTENTIONS
from edgeperf.network.kinds.convolution import CONVOLUTIONS
from edgeperf.network.kinds.dense import DENSE
from edgeperf.network.kinds.elementwise import ELEMENTWISE
from edgeperf.network.kinds.normalization import NORMALIZATIONS
from edgeperf.network.kinds.operations import OPERATIONS
from edgeperf.network.kinds.pooling import POOLINGS
from edgeperf.network.kinds.preprocessing import PREPROCESSING
from edgeperf.network.kinds.products import PRODUCTS
from edgeperf.network.kinds.reshaping import RESHAPINGS
from edgeperf.network.kinds.spec import REQUIRED, Kind, Shapes, Traits
from edgeperf.network.kinds.tensors import TENSORS
from edgeperf.network.kinds.wrapping import WRAPPERS

__all__ = ["ALIASES", "KERAS_LAYERS", "KINDS", "Kind", "Traits", "canonical", "configure", "traits"]

_LAYERS: Final[Mapping[str, Kind]] = {
    **DENSE,
    **CONVOLUTIONS,
    **POOLINGS,
    **NORMALIZATIONS,
    **ELEMENTWISE,
    **RESHAPINGS,
    **PREPROCESSING,
    **PRODUCTS,
    **ATTENTIONS,
    **WRAPPERS,
}

KINDS: Final[Mapping[str, Kind]] = {**_LAYERS, **TENSORS, **OPERATIONS}

KERAS_LAYERS: Final = frozenset(_LAYERS) - {
    "Divide",
    "Power",
    "Compare",
    "Einsum",
    "MatMul",
    "LocalResponseNormalization",
}
"""The kinds that are classes of `keras.layers`; the others stand for operations and custom layers."""

ALIASES: Final[Mapping[str, str]] = {
    **{f"Convolution{rank}D": f"Conv{rank}D" for rank in (1, 2, 3)},
    **{f"Convolution{rank}DTranspose": f"Conv{rank}DTranspose" for rank in (1, 2, 3)},
    **{f"SeparableConvolution{rank}D": f"SeparableConv{rank}D" for rank in (1, 2)},
    **{f"AvgPool{rank}D": f"AveragePooling{rank}D" for rank in (1, 2, 3)},
    **{f"MaxPool{rank}D": f"MaxPooling{rank}D" for rank in (1, 2, 3)},
    **{f"GlobalAvgPool{rank}D": f"GlobalAveragePooling{rank}D" for rank in (1, 2, 3)},
    **{f"GlobalMaxPool{rank}D": f"GlobalMaxPooling{rank}D" for rank in (1, 2, 3)},
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization",
}
"""Other names of the same layer, of Keras itself and of older versions of it."""


def canonical(kind: str) -> str:
    """The table's name of `kind`, which may be an alias or carry a package as in ``"Custom>Conv2D"``."""
    bare = kind.rpartition(">")[2]
    return ALIASES.get(bare, bare)


_MAX_VALUES: Final = 4096
"""Values, or characters, of one parameter; configurations stay in memory, so a file must not make them large."""


def configure(kind: str, config: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What the table needs of a layer's configuration, with defaults, in a form that can be a dictionary's key."""
    row = KINDS[kind]
    if row.renamed:
        config = {row.renamed.get(key, key): value for key, value in config.items()}
    if kind in WRAPPERS:
        config = {**config, "layer": _wrapped(config["layer"])}
    get = config.get
    return tuple([(key, _frozen(get(key, default))) for key, default in row.parameters.items()])


def _wrapped(layer: Mapping[str, Any]) -> tuple[Kind, tuple[tuple[str, Any], ...]]:
    """The layer within a wrapper as its row of the table and its configuration."""
    kind = canonical(layer["class_name"])
    return KINDS[kind], configure(kind, layer["config"])


def _frozen(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is int or kind is bool or kind is float:
        return value
    if kind is list or kind is tuple:
        if len(value) > _MAX_VALUES:
            raise InvalidInput(f"a parameter has {len(value)} values, expected {_MAX_VALUES} at most")
        return tuple([_frozen(item) for item in value])
    if kind is dict:
        return _frozen(_object_name(value))
    if kind is str and len(value) > _MAX_VALUES:
        raise InvalidInput(f"a parameter has {len(value)} characters, expected {_MAX_VALUES} at most")
    return value


def _object_name(value: Mapping[str, Any]) -> Any:
    """A serialised object (an activation, an initialiser) by its name alone."""
    inner = value.get("config")
    return inner if isinstance(inner, str) else value.get("class_name")


@lru_cache(maxsize=65536)
def traits(kind: str, config: tuple[tuple[str, Any], ...], inputs: Shapes) -> Traits:
    """All numbers of a layer of `kind`, configured by `configure`, that takes `inputs`.

    Raises:
        InvalidInput: the configuration or the shapes do not fit.
    """
    for key, value in config:
        if value is REQUIRED:
            raise InvalidInput(f"its configuration lacks {key!r}")
    return KINDS[kind].traits(dict(config), inputs)
