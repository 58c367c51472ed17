"""GoogLeNet (Inception v1): width and input size → network.

Reference: Szegedy et al. 2015 (arXiv:1409.4842), table 1; with batch normalisation, and 3 x 3 in place of 5 x 5, as in
TensorFlow slim and torchvision. The auxiliary classifiers of the training are left out.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Genes, input_sizes, width_gene
from edgeperf.zoo.inception import Step, mixed, plain_conv
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, classifier, image_input, round_channels

# Filters: 1 x 1, before 3 x 3, 3 x 3, before the second 3 x 3, second 3 x 3, after pooling. None: a maximum.
_MODULES = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    None,
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    None,
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


@block
def _stem(layers: Layers, x: Tensor, *, name: str, width: float) -> Tensor:
    x = plain_conv(layers, x, (round_channels(64 * width), 7), strides=2, name=f"{name}_1")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool1")(x)
    x = plain_conv(layers, x, (round_channels(64 * width), 1), name=f"{name}_2")
    x = plain_conv(layers, x, (round_channels(192 * width), 3), name=f"{name}_3")
    return layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool2")(x)


@block
def _halve(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    return layers.MaxPooling2D(3, strides=2, padding="same", name=name)(x)


def _branches(row: tuple[int, ...], width: float) -> tuple[tuple[Step, ...], ...]:
    alone, before, wide, before_second, second, _ = (round_channels(filters * width) for filters in row)
    return ((alone, 1),), ((before, 1), (wide, 3)), ((before_second, 1), (second, 3))


def _build(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = _stem(layers, x, width=width, name="stem")
    for number, row in enumerate(_MODULES, start=1):
        if row is None:
            x = _halve(layers, x, name=f"pool{number}")
            continue
        pooled = round_channels(row[-1] * width)
        x = mixed(layers, x, branches=_branches(row, width), pool="maximum", pooled=pooled, name=f"mixed{number}")
    x = classifier(layers, x, classes=CLASSES, dropout=0.2, name="classifier")
    return layers.Model(image, x, name=genes["name"])


GOOGLENET = Family(
    name="googlenet",
    title="GoogLeNet",
    genes=(width_gene(0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.25), input_sizes(96, 320)),
    build=_build,
    published={"GoogLeNet": {"width": 1.0, "input_size": 224}},
)
