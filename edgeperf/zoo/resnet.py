"""ResNet v1 and v2, and SE-ResNet: block, blocks per stage, width and input size → network.

Reference: He et al. 2016 (arXiv:1512.03385), table 1, and (arXiv:1603.05027); Hu et al. 2018 (arXiv:1709.01507).
Bottlenecks have the layers of Keras Applications; basic blocks those of He et al., without biases, padded on all sides.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.layers import (
    CLASSES,
    Layers,
    Tensor,
    block,
    channels,
    classifier,
    conv_bn,
    image_input,
    round_channels,
    squeeze_excite,
)

_FILTERS = (64, 128, 256, 512)
_BLOCK = Gene(name="block", values=("basic", "bottleneck"))
_DEPTHS = (
    Gene(name="depth2", values=(2, 3, 4)),
    Gene(name="depth3", values=(2, 3, 4, 6, 8)),
    Gene(name="depth4", values=(2, 3, 4, 6, 9, 14, 23, 36)),
    Gene(name="depth5", values=(2, 3, 4)),
)
_WIDTH = width_gene(0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)


@block
def stem(layers: Layers, x: Tensor, *, name: str, filters: int, bias: bool, normalised: bool = True) -> Tensor:
    """A 7 x 7 convolution and a 3 x 3 maximum, both of stride 2."""
    x = layers.ZeroPadding2D(3, name=f"{name}_pad")(x)
    x = layers.Conv2D(filters, 7, strides=2, use_bias=bias, name=f"{name}_conv")(x)
    if normalised:
        x = layers.BatchNormalization(name=f"{name}_bn")(x)
        x = layers.Activation("relu", name=f"{name}_relu")(x)
    x = layers.ZeroPadding2D(1, name=f"{name}_pool_pad")(x)
    return layers.MaxPooling2D(3, strides=2, name=f"{name}_pool")(x)


def _biased(layers: Layers, x: Tensor, filters: int, size: int, *, name: str, relu: bool = True, **conv: Any) -> Tensor:
    """Convolution with a bias, as Keras Applications has it in ResNet v1, and batch normalisation."""
    x = layers.Conv2D(filters, size, name=f"{name}_conv", **conv)(x)
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x) if relu else x


@block
def bottleneck(layers: Layers, x: Tensor, *, name: str, filters: int, stride: int, squeezed: int = 0) -> Tensor:
    """1 x 1, 3 x 3, 1 x 1 to four times the filters; the shortcut is a convolution where shapes differ."""
    shortcut = x
    if stride != 1 or channels(x) != 4 * filters:
        shortcut = _biased(layers, x, 4 * filters, 1, strides=stride, relu=False, name=f"{name}_0")
    x = _biased(layers, x, filters, 1, strides=stride, name=f"{name}_1")
    x = _biased(layers, x, filters, 3, padding="same", name=f"{name}_2")
    x = _biased(layers, x, 4 * filters, 1, relu=False, name=f"{name}_3")
    if squeezed:
        x = squeeze_excite(layers, x, squeezed=squeezed, name=f"{name}_se")
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


@block
def basic(layers: Layers, x: Tensor, *, name: str, filters: int, stride: int, squeezed: int = 0) -> Tensor:
    """Two 3 x 3 convolutions; the shortcut is a 1 x 1 convolution where shapes differ."""
    shortcut = x
    if stride != 1 or channels(x) != filters:
        shortcut = conv_bn(layers, x, filters, 1, strides=stride, activation=None, name=f"{name}_0")
    x = layers.ZeroPadding2D(1, name=f"{name}_1_pad")(x)
    x = conv_bn(layers, x, filters, 3, strides=stride, name=f"{name}_1")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = conv_bn(layers, x, filters, 3, activation=None, name=f"{name}_2")
    if squeezed:
        x = squeeze_excite(layers, x, squeezed=squeezed, name=f"{name}_se")
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


def _build_v1(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    residual, growth = (bottleneck, 4) if genes["block"] == "bottleneck" else (basic, 1)
    gated = genes.get("gated", "no") == "yes"
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=round_channels(64 * width), bias=growth == 4, name="stem")
    for number, base in enumerate(_FILTERS, start=2):
        filters = round_channels(base * width)
        for repeat in range(int(genes[f"depth{number}"])):
            x = residual(
                layers,
                x,
                filters=filters,
                stride=2 if number > 2 and repeat == 0 else 1,
                squeezed=growth * filters // 16 if gated else 0,
                name=f"conv{number}_block{repeat + 1}",
            )
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


def _stages(kind: str, *depths: int, **more: str) -> dict[str, int | float | str]:
    """Genes of a published network at width 1 and 224 pixels."""
    named = {f"depth{number}": depth for number, depth in enumerate(depths, start=2)}
    return {"block": kind, **named, "width": 1.0, "input_size": 224, **more}


RESNET = Family(
    name="resnet",
    title="ResNet",
    genes=(_BLOCK, *_DEPTHS, _WIDTH, input_sizes(96, 320)),
    build=_build_v1,
    published={
        "ResNet-18": _stages("basic", 2, 2, 2, 2),
        "ResNet-34": _stages("basic", 3, 4, 6, 3),
        "ResNet-50": _stages("bottleneck", 3, 4, 6, 3),
        "ResNet-101": _stages("bottleneck", 3, 4, 23, 3),
        "ResNet-152": _stages("bottleneck", 3, 8, 36, 3),
        **{f"ResNet-50 {width}": {**_stages("bottleneck", 3, 4, 6, 3), "width": width} for width in (0.25, 0.5, 0.75)},
    },
)

SENET = Family(
    name="senet",
    title="SE-ResNet",
    genes=(_BLOCK, *_DEPTHS, _WIDTH, input_sizes(96, 320)),
    build=lambda layers, genes: _build_v1(layers, {**genes, "gated": "yes"}),
    published={
        "SE-ResNet-18": _stages("basic", 2, 2, 2, 2),
        "SE-ResNet-34": _stages("basic", 3, 4, 6, 3),
        "SE-ResNet-50": _stages("bottleneck", 3, 4, 6, 3),
        "SE-ResNet-101": _stages("bottleneck", 3, 4, 23, 3),
        "SE-ResNet-152": _stages("bottleneck", 3, 8, 36, 3),
    },
)


@block
def preactivated(layers: Layers, x: Tensor, *, name: str, filters: int, stride: int, project: bool) -> Tensor:
    """Bottleneck with normalisation and activation before its convolutions; the stride is in the 3 x 3."""
    before = layers.BatchNormalization(name=f"{name}_preact_bn")(x)
    before = layers.Activation("relu", name=f"{name}_preact_relu")(before)
    shortcut = x
    if project:
        shortcut = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(before)
    elif stride > 1:
        shortcut = layers.MaxPooling2D(1, strides=stride, name=f"{name}_0_pool")(x)
    x = conv_bn(layers, before, filters, 1, name=f"{name}_1")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = conv_bn(layers, x, filters, 3, strides=stride, name=f"{name}_2")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return layers.Add(name=f"{name}_out")([shortcut, x])


@block
def _post(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def _build_v2(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=round_channels(64 * width), bias=True, normalised=False, name="stem")
    for number, base in enumerate(_FILTERS, start=2):
        blocks = int(genes[f"depth{number}"])
        for repeat in range(blocks):
            x = preactivated(
                layers,
                x,
                filters=round_channels(base * width),
                stride=2 if number < 5 and repeat == blocks - 1 else 1,
                project=repeat == 0,
                name=f"conv{number}_block{repeat + 1}",
            )
    x = _post(layers, x, name="post")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


def _v2(*depths: int) -> dict[str, int | float | str]:
    return {name: value for name, value in _stages("bottleneck", *depths).items() if name != "block"}


RESNET_V2 = Family(
    name="resnet-v2",
    title="ResNet v2",
    genes=(*_DEPTHS, _WIDTH, input_sizes(96, 320)),
    build=_build_v2,
    published={"ResNet-50 v2": _v2(3, 4, 6, 3), "ResNet-101 v2": _v2(3, 4, 23, 3), "ResNet-152 v2": _v2(3, 8, 36, 3)},
)
