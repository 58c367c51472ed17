"""Networks whose blocks keep what they were given: ResNet, ResNeXt, Wide ResNet, DenseNet and ConvNeXt."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv, conv_bn, head, max_pool


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
    return head(layers, x)


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
    return head(layers, x)


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
            y = layers.Dense(width)(layers.Activation("gelu")(layers.Dense(4 * width)(y)))
            y = layers.Multiply(constant=(1, 1, width))(y)  # the layer scale: one weight per channel
            rate = drop * done / (total - 1)
            x = layers.Add()([layers.FixedDropout(rate)(y) if rate else y, x])
            done += 1
    x = layers.LayerNormalization()(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Dense(1000)(layers.Flatten()(x))


RESIDUAL: dict[str, Build] = {
    "convnext_base": partial(_convnext, widths=(128, 256, 512, 1024), depths=(3, 3, 27, 3), drop=0.5),
    "convnext_large": partial(_convnext, widths=(192, 384, 768, 1536), depths=(3, 3, 27, 3), drop=0.5),
    "convnext_small": partial(_convnext, widths=(96, 192, 384, 768), depths=(3, 3, 27, 3), drop=0.4),
    "convnext_tiny": partial(_convnext, widths=(96, 192, 384, 768), depths=(3, 3, 9, 3), drop=0.1),
    "densenet121": partial(_densenet, growth=32, blocks=(6, 12, 24, 16), stem=64),
    "densenet161": partial(_densenet, growth=48, blocks=(6, 12, 36, 24), stem=96),
    "densenet169": partial(_densenet, growth=32, blocks=(6, 12, 32, 32), stem=64),
    "densenet201": partial(_densenet, growth=32, blocks=(6, 12, 48, 32), stem=64),
    "resnet18": partial(_resnet, depths=(2, 2, 2, 2), bottleneck=False),
    "resnet34": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=False),
    "resnet50": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True),
    "resnet101": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True),
    "resnet152": partial(_resnet, depths=(3, 8, 36, 3), bottleneck=True),
    "resnext50_32x4d": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True, groups=32, width=4),
    "resnext101_32x8d": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True, groups=32, width=8),
    "resnext101_64x4d": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True, groups=64, width=4),
    "wide_resnet50_2": partial(_resnet, depths=(3, 4, 6, 3), bottleneck=True, width=128),
    "wide_resnet101_2": partial(_resnet, depths=(3, 4, 23, 3), bottleneck=True, width=128),
}
