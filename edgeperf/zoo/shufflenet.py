"""ShuffleNet v1 and v2: width, groups and input size → network.

Reference: Zhang et al. 2018 (arXiv:1707.01083), table 1; Ma et al. 2018 (arXiv:1807.11164), table 5. Channels are
shuffled and split by standard layers only, so that a saved model loads in plain Keras.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, channels, classifier, conv_bn, image_input

_BLOCKS = (4, 8, 4)

_V1_WIDTH_OF_GROUPS = {1: 144, 2: 200, 3: 240, 4: 272, 8: 384}
_V2_FILTERS = {
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (244, 488, 976, 2048),
}


def _shuffled(layers: Layers, x: Tensor, groups: int, *, name: str) -> Tensor:
    """The channels dealt out in turn from `groups` equal heaps."""
    height, width, depth = x.shape[-3:]
    x = layers.Reshape((height, width, groups, depth // groups), name=f"{name}_heaps")(x)
    x = layers.Permute((1, 2, 4, 3), name=f"{name}_deal")(x)
    return layers.Reshape((height, width, depth), name=f"{name}_join")(x)


def _half(layers: Layers, x: Tensor, which: int, *, name: str) -> Tensor:
    """The first or second half of the channels."""
    height, width, depth = x.shape[-3:]
    margins = (0, depth - depth // 2) if which == 0 else (depth // 2, 0)
    x = layers.Reshape((height, width, depth, 1), name=f"{name}_open")(x)
    x = layers.Cropping3D(((0, 0), (0, 0), margins), name=f"{name}_crop")(x)
    kept = depth // 2 if which == 0 else depth - depth // 2
    return layers.Reshape((height, width, kept), name=f"{name}_close")(x)


@block
def stem(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    """A 3 x 3 convolution of 24 filters and a maximum, both of stride 2."""
    x = conv_bn(layers, x, 24, 3, strides=2, padding="same", name=name)
    return layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)


def _depthwise(layers: Layers, x: Tensor, stride: int, *, name: str) -> Tensor:
    x = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x)


@block
def grouped_unit(
    layers: Layers, x: Tensor, *, name: str, filters: int, groups: int, stride: int, grouped: bool
) -> Tensor:
    """Grouped 1 x 1, shuffle, depthwise 3 x 3, grouped 1 x 1, and the input added or, at stride 2, joined.

    `grouped` is false for the first unit of a network, whose input has too few channels to be grouped.
    """
    made = filters - channels(x) if stride == 2 else filters
    inner = round(filters / 4 / groups) * groups
    y = conv_bn(layers, x, inner, 1, groups=groups if grouped else 1, name=f"{name}_1")
    y = _shuffled(layers, y, groups, name=f"{name}_shuffle") if groups > 1 else y
    y = _depthwise(layers, y, stride, name=f"{name}_2")
    y = conv_bn(layers, y, made, 1, groups=groups, activation=None, name=f"{name}_3")
    if stride == 2:
        x = layers.AveragePooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)
        y = layers.Concatenate(name=f"{name}_join")([x, y])
    else:
        y = layers.Add(name=f"{name}_add")([x, y])
    return layers.Activation("relu", name=f"{name}_relu")(y)


def _build_v1(layers: Layers, genes: Genes) -> Any:
    groups, width = int(genes["groups"]), float(genes["width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, name="stem")
    unit = 4 * groups
    base = round(_V1_WIDTH_OF_GROUPS[groups] * width / unit) * unit
    for stage, blocks in enumerate(_BLOCKS):
        for repeat in range(blocks):
            x = grouped_unit(
                layers,
                x,
                filters=base * 2**stage,
                groups=groups,
                stride=2 if repeat == 0 else 1,
                grouped=stage > 0 or repeat > 0,
                name=f"stage{stage + 2}_{repeat + 1}",
            )
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


SHUFFLENET_V1 = Family(
    name="shufflenet-v1",
    title="ShuffleNet v1",
    genes=(
        Gene(name="groups", values=(1, 2, 3, 4, 8)),
        width_gene(0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
        input_sizes(96, 320),
    ),
    build=_build_v1,
    published={
        f"ShuffleNet v1 {width}": {"groups": 3, "width": width, "input_size": 224} for width in (0.5, 1.0, 1.5, 2.0)
    },
)


@block
def split_unit(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    """Half of the channels pass, half go through 1 x 1, depthwise 3 x 3, 1 x 1; then all are shuffled."""
    passed, y = (_half(layers, x, which, name=f"{name}_half{which}") for which in (0, 1))
    filters = channels(y)
    y = conv_bn(layers, y, filters, 1, name=f"{name}_1")
    y = _depthwise(layers, y, 1, name=f"{name}_2")
    y = conv_bn(layers, y, filters, 1, name=f"{name}_3")
    return _shuffled(layers, layers.Concatenate(name=f"{name}_join")([passed, y]), 2, name=f"{name}_shuffle")


@block
def halving_unit(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    """Two branches of stride 2, each with half of the filters; then all are shuffled."""
    half = filters // 2
    left = _depthwise(layers, x, 2, name=f"{name}_left1")
    left = conv_bn(layers, left, half, 1, name=f"{name}_left2")
    right = conv_bn(layers, x, half, 1, name=f"{name}_right1")
    right = _depthwise(layers, right, 2, name=f"{name}_right2")
    right = conv_bn(layers, right, half, 1, name=f"{name}_right3")
    return _shuffled(layers, layers.Concatenate(name=f"{name}_join")([left, right]), 2, name=f"{name}_shuffle")


@block
def _top(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    return conv_bn(layers, x, filters, 1, name=name)


def _v2_filters(width: float) -> tuple[int, ...]:
    """The published filters, or the even number nearest to the multiple of those at width 1."""
    if width in _V2_FILTERS:
        return _V2_FILTERS[width]
    *stages, top = _V2_FILTERS[1.0]
    return (*(round(filters * width / 4) * 4 for filters in stages), top)


def _build_v2(layers: Layers, genes: Genes) -> Any:
    *stages, top = _v2_filters(float(genes["width"]))
    image = x = image_input(layers, genes)
    x = stem(layers, x, name="stem")
    for number, (filters, blocks) in enumerate(zip(stages, _BLOCKS, strict=True), start=2):
        x = halving_unit(layers, x, filters=filters, name=f"stage{number}_1")
        for repeat in range(1, blocks):
            x = split_unit(layers, x, name=f"stage{number}_{repeat + 1}")
    x = _top(layers, x, filters=top, name="top")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


SHUFFLENET_V2 = Family(
    name="shufflenet-v2",
    title="ShuffleNet v2",
    genes=(width_gene(0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0), input_sizes(96, 320)),
    build=_build_v2,
    published={f"ShuffleNet v2 {width}": {"width": width, "input_size": 224} for width in (0.5, 1.0, 1.5, 2.0)},
)
