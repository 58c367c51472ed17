"""Networks whose blocks look through windows of several sizes: GoogLeNet and Inception v3."""

from __future__ import annotations

from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv_bn, head, max_pool

Part = tuple[Any, ...]
"""A convolution with normalisation: filters, kernel, stride, padding."""


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
    return [head(layers, x, dropout=True), *heads]


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


def _inception_v3(layers: Any, x: Tensor, training: bool) -> Tensor | list[Tensor]:
    x = _chain(layers, x, (32, 3, 2), (32, 3), (64, 3, 1, 1))
    x = _chain(layers, max_pool(layers, x, 3, 2), (80, 1), (192, 3))
    x = max_pool(layers, x, 3, 2)
    for pooled in (32, 64, 64):
        sides = _sides(layers, x, [(64, 1)], [(48, 1), (64, 5, 1, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)])
        x = layers.Concatenate()([*sides, conv_bn(layers, _mean3(layers, x), pooled, 1)])
    sides = _sides(layers, x, [(384, 3, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 2)])
    x = layers.Concatenate()([*sides, max_pool(layers, x, 3, 2)])
    wide, tall = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    for c in (128, 160, 160, 192):
        sides = _sides(
            layers,
            x,
            [(192, 1)],
            [(c, 1), (c, *wide), (192, *tall)],
            [(c, 1), (c, *tall), (c, *wide), (c, *tall), (192, *wide)],
        )
        x = layers.Concatenate()([*sides, conv_bn(layers, _mean3(layers, x), 192, 1)])
    heads = []
    if training:
        y = _chain(layers, layers.AveragePooling2D(5, strides=3)(x), (128, 1), (768, 5))
        heads = [layers.Dense(1000)(layers.GlobalAveragePooling2D()(y))]
    sides = _sides(layers, x, [(192, 1), (320, 3, 2)], [(192, 1), (192, *wide), (192, *tall), (192, 3, 2)])
    x = layers.Concatenate()([*sides, max_pool(layers, x, 3, 2)])
    for _ in range(2):
        x = _inception_e(layers, x)
    return [head(layers, x, dropout=True), *heads]


def _inception_e(layers: Any, x: Tensor) -> Tensor:
    b, c = conv_bn(layers, x, 384, 1), _chain(layers, x, (448, 1), (384, 3, 1, 1))
    split = [
        layers.Concatenate()([conv_bn(layers, y, 384, (1, 3), 1, (0, 1)), conv_bn(layers, y, 384, (3, 1), 1, (1, 0))])
        for y in (b, c)
    ]
    return layers.Concatenate()([conv_bn(layers, x, 320, 1), *split, conv_bn(layers, _mean3(layers, x), 192, 1)])


def _chain(layers: Any, x: Tensor, *parts: Part) -> Tensor:
    """Convolutions in a row."""
    for part in parts:
        x = conv_bn(layers, x, *part)
    return x


def _sides(layers: Any, x: Tensor, *chains: list[Part]) -> list[Tensor]:
    """Convolutions in a row beside others that read the same."""
    return [_chain(layers, x, *chain) for chain in chains]


def _mean3(layers: Any, x: Tensor) -> Tensor:
    return layers.AveragePooling2D(3, strides=1)(layers.ZeroPadding2D(1)(x))


INCEPTIONS: dict[str, Build] = {"googlenet": _googlenet, "inception_v3": _inception_v3}
