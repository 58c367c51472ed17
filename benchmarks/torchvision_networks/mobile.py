"""Small networks for small devices: SqueezeNet, ShuffleNet v2 and MobileNet v2."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv, conv_bn, head, max_pool


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
    return head(layers, conv_bn(layers, x, 1280, 1, act="relu6"), dropout=True)


MOBILE: dict[str, Build] = {
    "mobilenet_v2": _mobilenet_v2,
    "shufflenet_v2_x0_5": partial(_shufflenet, widths=(48, 96, 192, 1024)),
    "shufflenet_v2_x1_0": partial(_shufflenet, widths=(116, 232, 464, 1024)),
    "squeezenet1_0": partial(_squeezenet, stem=(96, 7), fires=(16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "squeezenet1_1": partial(_squeezenet, stem=(64, 3), fires=(16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
}
