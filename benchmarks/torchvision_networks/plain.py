"""Networks without branches: AlexNet and VGG."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv, max_pool


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


PLAIN: dict[str, Build] = {
    "alexnet": _alexnet,
    "vgg11": partial(_vgg, plan=(1, 1, 2, 2, 2), norm=False),
    "vgg11_bn": partial(_vgg, plan=(1, 1, 2, 2, 2), norm=True),
    "vgg13": partial(_vgg, plan=(2, 2, 2, 2, 2), norm=False),
    "vgg13_bn": partial(_vgg, plan=(2, 2, 2, 2, 2), norm=True),
    "vgg16": partial(_vgg, plan=(2, 2, 3, 3, 3), norm=False),
    "vgg16_bn": partial(_vgg, plan=(2, 2, 3, 3, 3), norm=True),
    "vgg19": partial(_vgg, plan=(2, 2, 4, 4, 4), norm=False),
    "vgg19_bn": partial(_vgg, plan=(2, 2, 4, 4, 4), norm=True),
}
