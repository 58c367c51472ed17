"""Xception-like networks: width, middle blocks and input size → network.

Reference: Chollet 2017 (arXiv:1610.02357), figure 5; layers as in Keras Applications.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, classifier, conv_bn, image_input, round_channels


@block
def _stem(layers: Layers, x: Tensor, *, name: str, width: float) -> Tensor:
    x = conv_bn(layers, x, round_channels(32 * width), 3, strides=2, name=f"{name}_1")
    return conv_bn(layers, x, round_channels(64 * width), 3, name=f"{name}_2")


def _separable(layers: Layers, x: Tensor, filters: int, *, name: str) -> Tensor:
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x)


@block
def halving(layers: Layers, x: Tensor, *, name: str, inside: int, filters: int, activated: bool = True) -> Tensor:
    """Two separable convolutions and a maximum of stride 2, beside a 1 x 1 convolution of stride 2."""
    shortcut = conv_bn(layers, x, filters, 1, strides=2, padding="same", activation=None, name=f"{name}_shortcut")
    if activated:
        x = layers.Activation("relu", name=f"{name}_relu1")(x)
    x = _separable(layers, x, inside, name=f"{name}_1")
    x = layers.Activation("relu", name=f"{name}_relu2")(x)
    x = _separable(layers, x, filters, name=f"{name}_2")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)
    return layers.Add(name=f"{name}_add")([x, shortcut])


@block
def middle(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    """Three separable convolutions beside the identity."""
    shortcut = x
    for number in (1, 2, 3):
        x = layers.Activation("relu", name=f"{name}_relu{number}")(x)
        x = _separable(layers, x, filters, name=f"{name}_{number}")
    return layers.Add(name=f"{name}_add")([x, shortcut])


@block
def _top(layers: Layers, x: Tensor, *, name: str, width: float) -> Tensor:
    for number, filters in enumerate((1536, 2048), start=1):
        x = _separable(layers, x, round_channels(filters * width), name=f"{name}_{number}")
        x = layers.Activation("relu", name=f"{name}_relu{number}")(x)
    return classifier(layers, x, classes=CLASSES, name=f"{name}_classifier")


def _build(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = _stem(layers, x, width=width, name="stem")
    for number, base in enumerate((128, 256, 728), start=2):
        filters = round_channels(base * width)
        x = halving(layers, x, inside=filters, filters=filters, activated=number > 2, name=f"block{number}")
    for repeat in range(int(genes["depth"])):
        x = middle(layers, x, filters=round_channels(728 * width), name=f"middle{repeat + 1}")
    x = halving(layers, x, inside=round_channels(728 * width), filters=round_channels(1024 * width), name="exit")
    x = _top(layers, x, width=width, name="top")
    return layers.Model(image, x, name=genes["name"])


XCEPTION = Family(
    name="xception",
    title="Xception",
    genes=(
        width_gene(0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0),
        Gene(name="depth", values=(2, 3, 4, 6, 8, 10)),
        input_sizes(96, 352),
    ),
    build=_build,
    published={"Xception": {"width": 1.0, "depth": 8, "input_size": 299}},
)
