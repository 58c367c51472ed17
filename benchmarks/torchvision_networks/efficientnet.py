"""EfficientNet, one network at several widths and depths, and EfficientNet v2."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv_bn, divisible, head, squeeze


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
    return head(layers, x, dropout=True)


def _mbconv(
    layers: Any, x: Tensor, expand: int, kernel: int, stride: int, filters: int, fused: bool, drop: float
) -> Tensor:
    channels = x.shape[-1]
    wide = divisible(channels * expand)
    if fused:
        y = conv_bn(layers, x, wide if wide != channels else filters, kernel, stride, kernel // 2, "swish")
        y = conv_bn(layers, y, filters, 1, act=None) if wide != channels else y
    else:
        y = conv_bn(layers, x, wide, 1, act="swish") if wide != channels else x
        y = conv_bn(layers, y, wide, kernel, stride, kernel // 2, "swish", groups=wide)
        y = conv_bn(layers, squeeze(layers, y, max(1, channels // 4), "swish"), filters, 1, act=None)
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
_V2_L = (
    (1, 3, 1, 32, 4, 1),
    (4, 3, 2, 64, 7, 1),
    (4, 3, 2, 96, 7, 1),
    (4, 3, 2, 192, 10, 0),
    (6, 3, 1, 224, 19, 0),
    (6, 3, 2, 384, 25, 0),
    (6, 3, 1, 640, 7, 0),
)


def _v1(width: float, depth: float) -> Build:
    stages = tuple((e, k, s, divisible(f * width), math.ceil(n * depth), 0) for e, k, s, f, n in _B0)
    return partial(_efficientnet, stages=stages, stem=divisible(32 * width), last=4 * stages[-1][3], drop=0.2)


def _v2(stages: tuple[tuple[int, ...], ...]) -> Build:
    return partial(_efficientnet, stages=stages, stem=stages[0][3], last=1280, drop=0.2)


EFFICIENTNETS: dict[str, Build] = {
    "efficientnet_b0": _v1(1.0, 1.0),
    "efficientnet_b1": _v1(1.0, 1.1),
    "efficientnet_b2": _v1(1.1, 1.2),
    "efficientnet_b3": _v1(1.2, 1.4),
    "efficientnet_b4": _v1(1.4, 1.8),
    "efficientnet_b5": _v1(1.6, 2.2),
    "efficientnet_b6": _v1(1.8, 2.6),
    "efficientnet_b7": _v1(2.0, 3.1),
    "efficientnet_v2_s": _v2(_V2_S),
    "efficientnet_v2_m": _v2(_V2_M),
    "efficientnet_v2_l": _v2(_V2_L),
}
