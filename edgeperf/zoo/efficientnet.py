"""EfficientNet: width, depth and input size → network.

Reference: Tan and Le 2019 (arXiv:1905.11946), table 1; layers as in Keras Applications, with rescaling left out
and "same" padding for the explicit one that pads alike.
"""

from __future__ import annotations

import math
from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.inverted import pointwise
from edgeperf.zoo.layers import (
    CLASSES,
    Layers,
    Tensor,
    activate,
    block,
    channels,
    classifier,
    conv_bn,
    image_input,
    round_channels,
)

# Kernel, expansion, filters, stride of the first block, blocks.
_STAGES = (
    (3, 1, 16, 1, 1),
    (3, 6, 24, 2, 2),
    (5, 6, 40, 2, 2),
    (3, 6, 80, 2, 3),
    (5, 6, 112, 1, 3),
    (5, 6, 192, 2, 4),
    (3, 6, 320, 1, 1),
)


@block
def _stem(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    return conv_bn(layers, x, filters, 3, strides=2, padding="same", activation="swish", name=name)


@block
def _gate(layers: Layers, x: Tensor, *, name: str, squeezed: int) -> Tensor:
    weights = layers.GlobalAveragePooling2D(name=f"{name}_squeeze")(x)
    weights = layers.Reshape((1, 1, channels(x)), name=f"{name}_reshape")(weights)
    weights = layers.Conv2D(squeezed, 1, padding="same", activation="swish", name=f"{name}_reduce")(weights)
    weights = layers.Conv2D(channels(x), 1, padding="same", activation="sigmoid", name=f"{name}_expand")(weights)
    return layers.Multiply(name=f"{name}_excite")([x, weights])


@block
def mbconv(
    layers: Layers, x: Tensor, *, name: str, filters: int, kernel_size: int, stride: int, expansion: int
) -> Tensor:
    """Inverted residual with a gate of a quarter of its input channels, and dropout before the sum."""
    shortcut, inside = x, channels(x) * expansion
    squeezed = max(1, channels(x) // 4)
    if expansion != 1:
        x = pointwise(layers, x, filters=inside, activation="swish", name=f"{name}_expand")
    x = layers.DepthwiseConv2D(kernel_size, strides=stride, padding="same", use_bias=False, name=f"{name}_dwconv")(x)
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = activate(layers, x, "swish", name=f"{name}_swish")
    x = _gate(layers, x, squeezed=squeezed, name=f"{name}_se")
    x = pointwise(layers, x, filters=filters, activation=None, name=f"{name}_project")
    if stride == 1 and channels(shortcut) == filters:
        x = layers.Dropout(0.2, noise_shape=(None, 1, 1, 1), name=f"{name}_drop")(x)
        x = layers.Add(name=f"{name}_add")([x, shortcut])
    return x


def _build(layers: Layers, genes: Genes) -> Any:
    width, depth = float(genes["width"]), float(genes["depth"])
    image = x = image_input(layers, genes)
    x = _stem(layers, x, filters=round_channels(32 * width), name="stem")
    for number, (kernel, expansion, filters, first_stride, blocks) in enumerate(_STAGES, start=1):
        for repeat in range(math.ceil(depth * blocks)):
            x = mbconv(
                layers,
                x,
                filters=round_channels(filters * width),
                kernel_size=kernel,
                stride=first_stride if repeat == 0 else 1,
                expansion=expansion,
                name=f"stage{number}_{repeat + 1}",
            )
    x = pointwise(layers, x, filters=round_channels(1280 * width), activation="swish", name="top")
    x = classifier(layers, x, classes=CLASSES, dropout=0.2, name="classifier")
    return layers.Model(image, x, name=genes["name"])


_SCALES = (
    (1.0, 1.0, 224),
    (1.0, 1.1, 240),
    (1.1, 1.2, 260),
    (1.2, 1.4, 300),
    (1.4, 1.8, 380),
    (1.6, 2.2, 456),
    (1.8, 2.6, 528),
    (2.0, 3.1, 600),
)

EFFICIENTNET = Family(
    name="efficientnet",
    title="EfficientNet",
    genes=(
        width_gene(0.5, 0.65, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4),
        Gene(name="depth", values=(0.5, 0.75, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8)),
        input_sizes(96, 384),
    ),
    build=_build,
    published={
        f"EfficientNet-B{number}": {"width": width, "depth": depth, "input_size": size}
        for number, (width, depth, size) in enumerate(_SCALES)
    },
)
