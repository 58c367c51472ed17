"""GoogLeNet, Inception v3 and Inception-ResNet v2: width and input size → network.

Reference: Szegedy et al. 2015 (arXiv:1409.4842), table 1, with batch normalisation and 3 x 3 in place of 5 x 5 as in
TensorFlow slim; Szegedy et al. 2016 (arXiv:1512.00567 and arXiv:1602.07261), layers as in Keras Applications, where the
scaled sum of Inception-ResNet is one layer and here two, a rescaling and a sum.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Genes, input_sizes, width_gene
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, channels, classifier, image_input, round_channels

Step = tuple[int, int | tuple[int, int]]
"""Filters and kernel of one convolution of a branch."""

_WIDTH = width_gene(0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)


def plain_conv(layers: Layers, x: Tensor, step: Step, *, name: str, padding: str = "same", strides: int = 1) -> Tensor:
    """Convolution, batch normalisation without a scale, activation."""
    filters, kernel = step
    x = layers.Conv2D(filters, kernel, strides=strides, padding=padding, use_bias=False, name=f"{name}_conv")(x)
    x = layers.BatchNormalization(scale=False, name=f"{name}_bn")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def _branch(layers: Layers, x: Tensor, steps: tuple[Step, ...], *, name: str, halve: bool = False) -> Tensor:
    for number, step in enumerate(steps, start=1):
        last = halve and number == len(steps)
        padding, strides = ("valid", 2) if last else ("same", 1)
        x = plain_conv(layers, x, step, padding=padding, strides=strides, name=f"{name}_{number}")
    return x


@block
def mixed(
    layers: Layers, x: Tensor, *, name: str, branches: tuple[tuple[Step, ...], ...], pool: str, pooled: int
) -> Tensor:
    """Branches of convolutions and a 3 x 3 pooling with `pooled` filters after it, joined."""
    ends = [_branch(layers, x, steps, name=f"{name}_{number}") for number, steps in enumerate(branches)]
    kind = layers.AveragePooling2D if pool == "average" else layers.MaxPooling2D
    end = kind(3, strides=1, padding="same", name=f"{name}_pool")(x)
    return layers.Concatenate(name=name)([*ends, plain_conv(layers, end, (pooled, 1), name=f"{name}_pooled")])


@block
def reduction(layers: Layers, x: Tensor, *, name: str, branches: tuple[tuple[Step, ...], ...]) -> Tensor:
    """Branches whose last convolution has stride 2, and a maximum of stride 2, joined."""
    ends = [_branch(layers, x, steps, halve=True, name=f"{name}_{number}") for number, steps in enumerate(branches)]
    return layers.Concatenate(name=name)([*ends, layers.MaxPooling2D(3, strides=2, name=f"{name}_pool")(x)])


@block
def _forked(layers: Layers, x: Tensor, *, name: str, width: float) -> Tensor:
    """The last blocks of Inception v3, whose branches end in a 1 x 3 beside a 3 x 1."""
    few, many, pooled = (round_channels(filters * width) for filters in (320, 384, 192))
    alone = plain_conv(layers, x, (few, 1), name=f"{name}_0")
    short = plain_conv(layers, x, (many, 1), name=f"{name}_1")
    long = _branch(layers, x, ((round_channels(448 * width), 1), (many, 3)), name=f"{name}_2")
    forks = []
    for number, stem in enumerate((short, long), start=1):
        tips = [
            plain_conv(layers, stem, (many, kernel), name=f"{name}_{number}_tip{kernel[0]}")
            for kernel in ((1, 3), (3, 1))
        ]
        forks.append(layers.Concatenate(name=f"{name}_{number}_join")(tips))
    pool = layers.AveragePooling2D(3, strides=1, padding="same", name=f"{name}_pool")(x)
    return layers.Concatenate(name=name)([alone, *forks, plain_conv(layers, pool, (pooled, 1), name=f"{name}_pooled")])


@block
def _stem(layers: Layers, x: Tensor, *, name: str, width: float) -> Tensor:
    def wide(filters: int) -> int:
        return round_channels(filters * width)

    x = plain_conv(layers, x, (wide(32), 3), strides=2, padding="valid", name=f"{name}_1")
    x = plain_conv(layers, x, (wide(32), 3), padding="valid", name=f"{name}_2")
    x = plain_conv(layers, x, (wide(64), 3), name=f"{name}_3")
    x = layers.MaxPooling2D(3, strides=2, name=f"{name}_pool1")(x)
    x = plain_conv(layers, x, (wide(80), 1), padding="valid", name=f"{name}_4")
    x = plain_conv(layers, x, (wide(192), 3), padding="valid", name=f"{name}_5")
    return layers.MaxPooling2D(3, strides=2, name=f"{name}_pool2")(x)


def _scaled(branches: tuple[tuple[Step, ...], ...], width: float) -> tuple[tuple[Step, ...], ...]:
    return tuple(tuple((round_channels(filters * width), kernel) for filters, kernel in steps) for steps in branches)


_ROW, _COLUMN = (1, 7), (7, 1)


def _factorised(inner: int) -> tuple[tuple[Step, ...], ...]:
    """Branches of the 17 x 17 blocks, with 1 x 7 and 7 x 1 convolutions of `inner` filters."""
    long = ((inner, 1), (inner, _COLUMN), (inner, _ROW), (inner, _COLUMN), (192, _ROW))
    return ((192, 1),), ((inner, 1), (inner, _ROW), (192, _COLUMN)), long


_AT_35 = (((64, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)))


def _build_v3(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = _stem(layers, x, width=width, name="stem")
    for number, pooled in enumerate((32, 64, 64)):
        x = mixed(
            layers,
            x,
            branches=_scaled(_AT_35, width),
            pool="average",
            pooled=round_channels(pooled * width),
            name=f"mixed{number}",
        )
    x = reduction(layers, x, branches=_scaled((((384, 3),), ((64, 1), (96, 3), (96, 3))), width), name="mixed3")
    for number, inner in enumerate((128, 160, 160, 192), start=4):
        x = mixed(
            layers,
            x,
            branches=_scaled(_factorised(inner), width),
            pool="average",
            pooled=round_channels(192 * width),
            name=f"mixed{number}",
        )
    last = (((192, 1), (320, 3)), ((192, 1), (192, _ROW), (192, _COLUMN), (192, 3)))
    x = reduction(layers, x, branches=_scaled(last, width), name="mixed8")
    for number in (9, 10):
        x = _forked(layers, x, width=width, name=f"mixed{number}")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


INCEPTION_V3 = Family(
    name="inception-v3",
    title="Inception v3",
    genes=(_WIDTH, input_sizes(96, 352)),
    build=_build_v3,
    published={"Inception v3": {"width": 1.0, "input_size": 299}},
)


@block
def _residual(
    layers: Layers, x: Tensor, *, name: str, branches: tuple[tuple[Step, ...], ...], scale: float, activated: bool
) -> Tensor:
    ends = [_branch(layers, x, steps, name=f"{name}_{number}") for number, steps in enumerate(branches)]
    joined = layers.Concatenate(name=f"{name}_mixed")(ends)
    up = layers.Conv2D(channels(x), 1, padding="same", name=f"{name}_up")(joined)
    x = layers.Add(name=f"{name}_add")([x, layers.Rescaling(scale, name=f"{name}_scale")(up)])
    return layers.Activation("relu", name=f"{name}_relu")(x) if activated else x


@block
def _last_conv(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    return plain_conv(layers, x, (filters, 1), name=name)


# Branches, scale of the residual and repeats of the three sizes, each followed by the reduction to the next.
_RESIDUAL_35 = ((((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))), 0.17, 10)
_RESIDUAL_17 = ((((192, 1),), ((128, 1), (160, _ROW), (192, _COLUMN))), 0.1, 20)
_RESIDUAL_8 = ((((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))), 0.2, 10)
_TO_17 = (((384, 3),), ((256, 1), (256, 3), (384, 3)))
_TO_8 = (((256, 1), (384, 3)), ((256, 1), (288, 3)), ((256, 1), (288, 3), (320, 3)))


def _build_residual(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = _stem(layers, x, width=width, name="stem")
    first = (((96, 1),), *_AT_35[1:])
    x = mixed(
        layers, x, branches=_scaled(first, width), pool="average", pooled=round_channels(64 * width), name="mixed_5b"
    )
    for size, (stage, after) in enumerate(
        ((_RESIDUAL_35, _TO_17), (_RESIDUAL_17, _TO_8), (_RESIDUAL_8, None)), start=1
    ):
        branches, scale, repeats = stage
        for repeat in range(repeats):
            last = after is None and repeat == repeats - 1
            x = _residual(
                layers,
                x,
                branches=_scaled(branches, width),
                scale=1.0 if last else scale,
                activated=not last,
                name=f"block{size}_{repeat + 1}",
            )
        if after is not None:
            x = reduction(layers, x, branches=_scaled(after, width), name=f"reduction{size}")
    x = _last_conv(layers, x, filters=round_channels(1536 * width), name="conv_7b")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


INCEPTION_RESNET_V2 = Family(
    name="inception-resnet-v2",
    title="Inception-ResNet v2",
    genes=(_WIDTH, input_sizes(96, 352)),
    build=_build_residual,
    published={"Inception-ResNet v2": {"width": 1.0, "input_size": 299}},
)
