"""One definition of a network → a `Network`, a Keras model, or its additive quantities alone.

A family is written once, against a namespace that looks like `keras.layers`:

* `edgeperf.network.builder.LayerNamespace` turns the definition into a `Network`, without Keras;
* `KerasLayers` turns it into a `keras.Model`;
* `edgeperf.zoo.counting.CountingLayers` adds up the features of its blocks, each of which it looks at once.

The third reading rests on `block`: a function that is decorated so is a pure function of its input shapes and its
configuration, and what it costs does not depend on what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Protocol

CLASSES = 1000
"""Classes of ImageNet, which all families end in."""

Tensor = Any
"""What a namespace passes from layer to layer; its `shape` ends in (height, width, channels) or (units,)."""


class Layers(Protocol):
    """A namespace of layer constructors, with `Model(inputs, outputs, name=...)` beside them."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The constructor of the layer kind `name`."""


class KerasLayers:
    """`keras.layers` and `keras.Model` in one namespace; Keras is imported on first use."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        import keras

        constructor: Callable[..., Any] = keras.Model if name == "Model" else getattr(keras.layers, name)
        return constructor


def block(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, which a namespace that only counts may answer from memory.

    The function takes a namespace, its input tensors by position and its configuration by keyword; `name` is the
    prefix of its layers' names and has no other influence.
    """

    @wraps(function)
    def call(layers: Layers, *tensors: Tensor, name: str, **config: Any) -> Tensor:
        if hasattr(type(layers), "count_block"):
            return layers.count_block(function, tensors, config)
        return function(layers, *tensors, name=name, **config)

    return call


def image_input(layers: Layers, genes: Mapping[str, Any]) -> Tensor:
    """The square RGB image that a member takes."""
    size = genes["input_size"]
    return layers.Input((size, size, 3), name="image")


def channels(tensor: Tensor) -> int:
    """Size of the last axis."""
    return int(tensor.shape[-1])


def round_channels(value: float, divisor: int = 8) -> int:
    """Nearest multiple of `divisor` that is at least `divisor` and at least 90 % of `value`.

    Reference: `make_divisible` of Sandler et al., MobileNetV2, in tensorflow/models slim/nets/mobilenet.

    >>> round_channels(32 * 0.35), round_channels(16 * 1.4)
    (16, 24)
    """
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def pad_before_stride(tensor: Tensor, kernel_size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Zero padding that makes a stride-2 "valid" convolution cover what "same" covers, as Keras Applications pads."""
    height, width = tensor.shape[-3], tensor.shape[-2]
    reach = kernel_size // 2
    return (reach - 1 + height % 2, reach), (reach - 1 + width % 2, reach)


def conv_bn(
    layers: Layers,
    x: Tensor,
    filters: int,
    kernel_size: int,
    *,
    name: str,
    activation: str | None = "relu",
    **conv: Any,
) -> Tensor:
    """Convolution without bias, batch normalisation and, unless None, an activation."""
    x = layers.Conv2D(filters, kernel_size, use_bias=False, name=f"{name}_conv", **conv)(x)
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    return x if activation is None else activate(layers, x, activation, name=f"{name}_{activation}")


def activate(layers: Layers, x: Tensor, activation: str, *, name: str) -> Tensor:
    """The activation as a layer of its own; ``"relu6"`` is a `ReLU` with a bound, as Keras Applications has it."""
    if activation == "relu6":
        return layers.ReLU(6.0, name=name)(x)
    return layers.Activation(activation, name=name)(x)


@block
def classifier(layers: Layers, x: Tensor, *, name: str, classes: int, dropout: float = 0.0) -> Tensor:
    """Class probabilities from an image tensor: global average, dropout where there is one, a dense layer."""
    x = layers.GlobalAveragePooling2D(name=f"{name}_pool")(x)
    if dropout > 0:
        x = layers.Dropout(dropout, name=f"{name}_dropout")(x)
    return layers.Dense(classes, activation="softmax", name=f"{name}_dense")(x)


@block
def squeeze_excite(
    layers: Layers, x: Tensor, *, name: str, squeezed: int, activation: str = "relu", gate: str = "sigmoid"
) -> Tensor:
    """`x` with its channels weighted by a gate that sees their global averages.

    Reference: Hu et al., Squeeze-and-Excitation Networks, CVPR 2018, section 3; 1 x 1 convolutions for dense layers.
    """
    weights = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}_squeeze")(x)
    weights = layers.Conv2D(squeezed, 1, activation=activation, name=f"{name}_reduce")(weights)
    weights = layers.Conv2D(channels(x), 1, activation=gate, name=f"{name}_expand")(weights)
    return layers.Multiply(name=f"{name}_excite")([x, weights])
