"""torchvision's image classifiers as `Network` objects, so that measured networks can be taken apart.

Each definition follows torchvision's own module by module (order, padding, biases, auxiliary heads while training),
because a sum over operations is only as good as the list of operations. `layerwise_sums.py` reports how many of the
operations that come out are among those that were measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network

Tensor = Any
Build = Callable[[Any, Tensor, bool], Tensor | list[Tensor]]


def torchvision_network(name: str, input_size: int, *, training: bool) -> Network:
    """The network of that torchvision name; `training` adds auxiliary heads where it has them.

    Raises:
        KeyError: there is no definition of that name.
    """
    layers = LayerNamespace()
    image = layers.Input((input_size, input_size, 3))
    return layers.Model(image, NETWORKS[name](layers, image, training), name=name)


def conv(
    layers: Any,
    x: Tensor,
    filters: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    pad: int | tuple[int, int] = 0,
    **more: Any,
) -> Tensor:
    """A convolution with PyTorch's symmetric padding."""
    pads = (pad, pad) if isinstance(pad, int) else pad
    if any(pads):
        x = layers.ZeroPadding2D(pads)(x)
    return layers.Conv2D(filters, kernel, strides=stride, **more)(x)


def conv_bn(
    layers: Any,
    x: Tensor,
    filters: int,
    kernel: Any,
    stride: int = 1,
    pad: Any = 0,
    act: str | None = "relu",
    **more: Any,
) -> Tensor:
    """Convolution without bias, batch normalisation, activation."""
    x = layers.BatchNormalization()(conv(layers, x, filters, kernel, stride, pad, use_bias=False, **more))
    return layers.Activation(act)(x) if act else x


def max_pool(layers: Any, x: Tensor, kernel: int, stride: int, pad: int = 0, *, ceil: bool = False) -> Tensor:
    """PyTorch's max pooling; `ceil` lets the last window reach over the edge."""
    size = x.shape[0]
    span = size + 2 * pad - kernel
    extra = -span % stride if ceil else 0
    if pad or extra:
        x = layers.ZeroPadding2D(((pad, pad + extra), (pad, pad + extra)))(x)
    return layers.MaxPooling2D(kernel, strides=stride)(x)


def _head(layers: Any, x: Tensor, *, dropout: bool = False, classes: int = 1000) -> Tensor:
    x = layers.Flatten()(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Dense(classes)(layers.Dropout(0.5)(x) if dropout else x)


def _alexnet(layers: Any, x: Tensor, _training: bool) -> Tensor:
    for filters, kernel, stride, pad, pool in (
        (64, 11, 4, 2, True),
        (192, 5, 1, 2, True),
        (384, 3, 1, 1, False),
        (256, 3, 1, 1, False),
        (256, 3, 1, 1, True),
    ):
        x = layers.Activation("relu")(conv(layers, x, filters, kernel, stride, pad))
        x = max_pool(layers, x, 3, 2) if pool else x
    x = layers.Flatten()(layers.AdaptiveAveragePooling2D((6, 6))(x))
    for _ in range(2):
        x = layers.Activation("relu")(layers.Dense(4096)(layers.Dropout(0.5)(x)))
    return layers.Dense(1000)(x)


def _vgg(layers: Any, x: Tensor, _training: bool, *, plan: tuple[int, ...], norm: bool) -> Tensor:
    for width, depth in zip((64, 128, 256, 512, 512), plan, strict=True):
        for _ in range(depth):
            x = conv(layers, x, width, 3, 1, 1)
            x = layers.Activation("relu")(layers.BatchNormalization()(x) if norm else x)
        x = max_pool(layers, x, 2, 2)
    x = layers.Flatten()(layers.AdaptiveAveragePooling2D((7, 7))(x))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Activation("relu")(layers.Dense(4096)(x)))
    return layers.Dense(1000)(x)


def _resnet(
    layers: Any,
    x: Tensor,
    _training: bool,
    *,
    depths: tuple[int, ...],
    bottleneck: bool,
    groups: int = 1,
    width: int = 64,
) -> Tensor:
    x = max_pool(layers, conv_bn(layers, x, 64, 7, 2, 3), 3, 2, 1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage and not index else 1
            planes = 64 * 2**stage
            block = _bottleneck if bottleneck else _basic
            x = block(layers, x, planes, stride, groups, width)
    return _head(layers, x)


def _basic(layers: Any, x: Tensor, planes: int, stride: int, *_unused: int) -> Tensor:
    y = conv_bn(layers, x, planes, 3, stride, 1)
    y = conv_bn(layers, y, planes, 3, 1, 1, None)
    short = conv_bn(layers, x, planes, 1, stride, 0, None) if stride > 1 or x.shape[-1] != planes else x
    return layers.Activation("relu")(layers.Add()([y, short]))


def _bottleneck(layers: Any, x: Tensor, planes: int, stride: int, groups: int, width: int) -> Tensor:
    inner = planes * width // 64 * groups
    y = conv_bn(layers, x, inner, 1)
    y = conv_bn(layers, y, inner, 3, stride, 1, groups=groups)
    y = conv_bn(layers, y, 4 * planes, 1, act=None)
    short = conv_bn(layers, x, 4 * planes, 1, stride, 0, None) if stride > 1 or x.shape[-1] != 4 * planes else x
    return layers.Activation("relu")(layers.Add()([y, short]))


def _densenet(layers: Any, x: Tensor, _training: bool, *, growth: int, blocks: tuple[int, ...], stem: int) -> Tensor:
    x = max_pool(layers, conv_bn(layers, x, stem, 7, 2, 3), 3, 2, 1)
    for block, depth in enumerate(blocks):
        parts = [x]
        for _ in range(depth):
            y = layers.Concatenate()(parts) if len(parts) > 1 else parts[0]
            y = layers.Conv2D(4 * growth, 1, use_bias=False)(layers.Activation("relu")(layers.BatchNormalization()(y)))
            parts.append(
                conv(layers, layers.Activation("relu")(layers.BatchNormalization()(y)), growth, 3, 1, 1, use_bias=False)
            )
        x = layers.BatchNormalization()(layers.Concatenate()(parts))
        x = layers.Activation("relu")(x)
        if block < len(blocks) - 1:
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(x))
    return _head(layers, x)


def _squeezenet(layers: Any, x: Tensor, _training: bool, *, stem: tuple[int, int], fires: tuple[int, ...]) -> Tensor:
    """`fires` holds squeeze widths; 0 is a pooling."""
    x = layers.Activation("relu")(conv(layers, x, stem[0], stem[1], 2))
    x = max_pool(layers, x, 3, 2, ceil=True)
    for squeezed in fires:
        if not squeezed:
            x = max_pool(layers, x, 3, 2, ceil=True)
            continue
        y = layers.Activation("relu")(conv(layers, x, squeezed, 1))
        sides = [layers.Activation("relu")(conv(layers, y, 4 * squeezed, kernel, 1, kernel // 2)) for kernel in (1, 3)]
        x = layers.Concatenate()(sides)
    x = layers.Activation("relu")(conv(layers, layers.Dropout(0.5)(x), 1000, 1))
    return layers.GlobalAveragePooling2D()(x)


def _shufflenet(layers: Any, x: Tensor, _training: bool, *, widths: tuple[int, ...]) -> Tensor:
    x = max_pool(layers, conv_bn(layers, x, 24, 3, 2, 1), 3, 2, 1)
    for width, depth in zip(widths, (4, 8, 4), strict=False):
        for index in range(depth):
            x = _shuffle_unit(layers, x, width // 2, 1 if index else 2)
    x = conv_bn(layers, x, widths[-1], 1)
    return layers.Dense(1000)(layers.GlobalAveragePooling2D()(x))


def _shuffle_unit(layers: Any, x: Tensor, half: int, stride: int) -> Tensor:
    left, right = x, x
    if stride == 1:
        left, right = layers.SliceChannels(0, half)(x), layers.SliceChannels(half, None)(x)
    else:
        left = conv_bn(layers, x, x.shape[-1], 3, 2, 1, None, groups=x.shape[-1])
        left = conv_bn(layers, left, half, 1)
    right = conv_bn(layers, right, half, 1)
    right = conv_bn(layers, right, half, 3, stride, 1, None, groups=half)
    right = conv_bn(layers, right, half, 1)
    return layers.ChannelShuffle(2)(layers.Concatenate()([left, right]))


def _googlenet(layers: Any, x: Tensor, training: bool) -> Tensor | list[Tensor]:
    x = max_pool(layers, conv_bn(layers, x, 64, 7, 2, 3), 3, 2, ceil=True)
    x = conv_bn(layers, conv_bn(layers, x, 64, 1), 192, 3, 1, 1)
    x = max_pool(layers, x, 3, 2, ceil=True)
    heads = []
    for index, row in enumerate(_GOOGLENET):
        if index in (2, 7):
            x = max_pool(layers, x, 3 if index == 2 else 2, 2, ceil=True)
        a, b0, b1, c0, c1, d = row
        sides = [
            conv_bn(layers, x, a, 1),
            conv_bn(layers, conv_bn(layers, x, b0, 1), b1, 3, 1, 1),
            conv_bn(layers, conv_bn(layers, x, c0, 1), c1, 3, 1, 1),
            conv_bn(layers, max_pool(layers, x, 3, 1, 1, ceil=True), d, 1),
        ]
        x = layers.Concatenate()(sides)
        if training and index in (2, 5):
            heads.append(_googlenet_head(layers, x))
    return [_head(layers, x, dropout=True), *heads]


def _googlenet_head(layers: Any, x: Tensor) -> Tensor:
    y = conv_bn(layers, layers.AdaptiveAveragePooling2D((4, 4))(x), 128, 1)
    y = layers.Activation("relu")(layers.Dense(1024)(layers.Flatten()(y)))
    return layers.Dense(1000)(layers.Dropout(0.7)(y))


_GOOGLENET = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


def _chain(layers: Any, x: Tensor, *parts: tuple[Any, ...]) -> Tensor:
    """Convolutions with normalisation in a row; each part is (filters, kernel, stride, pad)."""
    for part in parts:
        x = conv_bn(layers, x, *part)
    return x


def _inception_v3(layers: Any, x: Tensor, training: bool) -> Tensor | list[Tensor]:
    x = _chain(layers, x, (32, 3, 2), (32, 3), (64, 3, 1, 1))
    x = _chain(layers, max_pool(layers, x, 3, 2), (80, 1), (192, 3))
    x = max_pool(layers, x, 3, 2)
    for pooled in (32, 64, 64):
        sides = (
            [
                (64, 1),
            ],
            [(48, 1), (64, 5, 1, 2)],
            [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)],
        )
        x = layers.Concatenate()(
            [*(_chain(layers, x, *side) for side in sides), conv_bn(layers, _mean3(layers, x), pooled, 1)]
        )
    sides = [(384, 3, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 2)]
    x = layers.Concatenate()([*(_chain(layers, x, *side) for side in sides), max_pool(layers, x, 3, 2)])
    wide, tall = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    for c in (128, 160, 160, 192):
        sides = (
            [(192, 1)],
            [(c, 1), (c, *wide), (192, *tall)],
            [(c, 1), (c, *tall), (c, *wide), (c, *tall), (192, *wide)],
        )
        x = layers.Concatenate()(
            [*(_chain(layers, x, *side) for side in sides), conv_bn(layers, _mean3(layers, x), 192, 1)]
        )
    heads = []
    if training:
        y = _chain(layers, layers.AveragePooling2D(5, strides=3)(x), (128, 1), (768, 5))
        heads = [layers.Dense(1000)(layers.GlobalAveragePooling2D()(y))]
    sides = [(192, 1), (320, 3, 2)], [(192, 1), (192, *wide), (192, *tall), (192, 3, 2)]
    x = layers.Concatenate()([*(_chain(layers, x, *side) for side in sides), max_pool(layers, x, 3, 2)])
    for _ in range(2):
        x = _inception_e(layers, x)
    return [_head(layers, x, dropout=True), *heads]


def _inception_e(layers: Any, x: Tensor) -> Tensor:
    b, c = conv_bn(layers, x, 384, 1), _chain(layers, x, (448, 1), (384, 3, 1, 1))
    split = [
        layers.Concatenate()([conv_bn(layers, y, 384, (1, 3), 1, (0, 1)), conv_bn(layers, y, 384, (3, 1), 1, (1, 0))])
        for y in (b, c)
    ]
    return layers.Concatenate()([conv_bn(layers, x, 320, 1), *split, conv_bn(layers, _mean3(layers, x), 192, 1)])


def _mean3(layers: Any, x: Tensor) -> Tensor:
    return layers.AveragePooling2D(3, strides=1)(layers.ZeroPadding2D(1)(x))


def _divisible(value: float) -> int:
    rounded = max(8, int(value + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * value else rounded


def _squeeze(layers: Any, x: Tensor, squeezed: int, act: str = "swish", gate: str = "sigmoid") -> Tensor:
    y = layers.Activation(act)(conv(layers, layers.GlobalAveragePooling2D(keepdims=True)(x), squeezed, 1))
    return layers.Multiply()([x, layers.Activation(gate)(conv(layers, y, x.shape[-1], 1))])


def _efficientnet(
    layers: Any, x: Tensor, _training: bool, *, stages: tuple[tuple[int, ...], ...], stem: int, last: int, drop: float
) -> Tensor:
    """`stages`: (expansion, kernel, stride, filters, depth, fused)."""
    x = conv_bn(layers, x, stem, 3, 2, 1, "swish")
    total, done = sum(stage[4] for stage in stages), 0
    for expand, kernel, stride, filters, depth, fused in stages:
        for index in range(depth):
            x = _mbconv(layers, x, expand, kernel, 1 if index else stride, filters, bool(fused), drop * done / total)
            done += 1
    x = conv_bn(layers, x, last, 1, act="swish")
    return _head(layers, x, dropout=True)


def _mbconv(
    layers: Any, x: Tensor, expand: int, kernel: int, stride: int, filters: int, fused: bool, drop: float
) -> Tensor:
    channels = x.shape[-1]
    wide = _divisible(channels * expand)
    if fused:
        y = conv_bn(layers, x, wide if wide != channels else filters, kernel, stride, kernel // 2, "swish")
        y = conv_bn(layers, y, filters, 1, act=None) if wide != channels else y
    else:
        y = conv_bn(layers, x, wide, 1, act="swish") if wide != channels else x
        y = conv_bn(layers, y, wide, kernel, stride, kernel // 2, "swish", groups=wide)
        y = conv_bn(layers, _squeeze(layers, y, max(1, channels // 4)), filters, 1, act=None)
    if stride > 1 or channels != filters:
        return y
    return layers.Add()([layers.FixedDropout(drop)(y) if drop else y, x])


_B0 = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)


def _efficientnet_b(width: float, depth: float) -> Build:
    stages = tuple((e, k, s, _divisible(f * width), math.ceil(n * depth), 0) for e, k, s, f, n in _B0)
    return partial(_efficientnet, stages=stages, stem=_divisible(32 * width), last=4 * stages[-1][3], drop=0.2)


_V2_S = (
    (1, 3, 1, 24, 2, 1),
    (4, 3, 2, 48, 4, 1),
    (4, 3, 2, 64, 4, 1),
    (4, 3, 2, 128, 6, 0),
    (6, 3, 1, 160, 9, 0),
    (6, 3, 2, 256, 15, 0),
)
_V2_M = (
    (1, 3, 1, 24, 3, 1),
    (4, 3, 2, 48, 5, 1),
    (4, 3, 2, 80, 5, 1),
    (4, 3, 2, 160, 7, 0),
    (6, 3, 1, 176, 14, 0),
    (6, 3, 2, 304, 18, 0),
    (6, 3, 1, 512, 5, 0),
)


def _convnext(
    layers: Any, x: Tensor, _training: bool, *, widths: tuple[int, ...], depths: tuple[int, ...], drop: float
) -> Tensor:
    x = layers.LayerNormalization()(conv(layers, x, widths[0], 4, 4))
    total, done = sum(depths), 0
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            x = conv(layers, layers.LayerNormalization()(x), width, 2, 2)
        for _ in range(depth):
            y = layers.LayerNormalization()(conv(layers, x, width, 7, 1, 3, groups=width))
            y = layers.Scale(1e-6)(layers.Dense(width)(layers.Activation("gelu")(layers.Dense(4 * width)(y))))
            rate = drop * done / (total - 1)
            x = layers.Add()([layers.FixedDropout(rate)(y) if rate else y, x])
            done += 1
    x = layers.LayerNormalization()(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Dense(1000)(layers.Flatten()(x))


def _mobilenet_v2(layers: Any, x: Tensor, _training: bool) -> Tensor:
    x = conv_bn(layers, x, 32, 3, 2, 1, "relu6")
    for expand, filters, depth, first in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for index in range(depth):
            stride, channels = 1 if index else first, x.shape[-1]
            y = conv_bn(layers, x, channels * expand, 1, act="relu6") if expand > 1 else x
            y = conv_bn(layers, y, channels * expand, 3, stride, 1, "relu6", groups=channels * expand)
            y = conv_bn(layers, y, filters, 1, act=None)
            x = layers.Add()([x, y]) if stride == 1 and channels == filters else y
    return _head(layers, conv_bn(layers, x, 1280, 1, act="relu6"), dropout=True)


NETWORKS: dict[str, Build] = {
    "alexnet": _alexnet,
    "convnext_base": partial(_convnext, widths=(128, 256, 512, 1024), depths=(3, 3, 27, 3), drop=0.5),
    "convnext_small": partial(_convnext, widths=(96, 192, 384, 768), depths=(3, 3, 27, 3), drop=0.4),
    "convnext_tiny": partial(_convnext, widths=(96, 192, 384, 768), depths=(3, 3, 9, 3), drop=0.1),
    "densenet121": partial(_densenet, growth=32, blocks=(6, 12, 24, 16), stem=64),
    "densenet161": partial(_densenet, growth=48, blocks=(6, 12, 36, 24), stem=96),
    "densenet169": partial(_densenet, growth=32, blocks=(6, 12, 32, 32), stem=64),
    "densenet201": partial(_densenet, growth=32, blocks=(6, 12, 48, 32), stem=64),
    "efficientnet_b0": _efficientnet_b(1.0, 1.0),
    "efficientnet_b1": _efficientnet_b(1.0, 1.1),
    "efficientnet_b2": _efficientnet_b(1.1, 1.2),
    "efficientnet_b3": _efficientnet_b(1.2, 1.4),
    "efficientnet_b4": _efficientnet_b(1.4, 1.8),
    "efficientnet_v2_m": partial(_efficientnet, stages=_V2_M, stem=24, last=1280, drop=0.2),
    "efficientnet_v2_s": partial(_efficientnet, stages=_V2_S, stem=24, last=1280, drop=0.2),
    "googlenet": _googlenet,
    "inception_v3": _inception_v3,
    "mobilenet_v2": _mobilenet_v2,
    "resnet18": partial(_resnet, depths=(2, 2, 2, 2), bottleneck=False),
    "resnet34": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=False),
    "resnet50": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True),
    "resnet101": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True),
    "resnet152": partial(_resnet, depths=(3, 8, 36, 3), bottleneck=True),
    "resnext50_32x4d": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True, groups=32, width=4),
    "resnext101_32x8d": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True, groups=32, width=8),
    "shufflenet_v2_x1_0": partial(_shufflenet, widths=(116, 232, 464, 1024)),
    "shufflenet_v2_x0_5": partial(_shufflenet, widths=(48, 96, 192, 1024)),
    "squeezenet1_0": partial(_squeezenet, stem=(96, 7), fires=(16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "squeezenet1_1": partial(_squeezenet, stem=(64, 3), fires=(16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
    "vgg11": partial(_vgg, plan=(1, 1, 2, 2, 2), norm=False),
    "vgg16": partial(_vgg, plan=(2, 2, 3, 3, 3), norm=False),
    "vgg19_bn": partial(_vgg, plan=(2, 2, 4, 4, 4), norm=True),
    "wide_resnet50_2": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True, width=128),
}
"""torchvision name → definition. No transformers: what they run in functional calls was not measured."""
