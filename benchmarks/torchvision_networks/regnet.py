"""RegNet, whose widths follow a rule of five numbers.

Reference: Radosavovic et al. 2020 (arXiv:2003.13678), section 3.3; Y has gates, X has none.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv_bn, divisible, head, squeeze


def _regnet(
    layers: Any, x: Tensor, _training: bool, *, stages: tuple[tuple[int, int, int], ...], gates: bool
) -> Tensor:
    """`stages`: (width, depth, channels per group)."""
    x = conv_bn(layers, x, 32, 3, 2, 1)
    for width, depth, group in stages:
        for index in range(depth):
            x = _block(layers, x, width, 1 if index else 2, width // group, gates)
    return head(layers, x)


def _block(layers: Any, x: Tensor, width: int, stride: int, groups: int, gates: bool) -> Tensor:
    channels = x.shape[-1]
    short = conv_bn(layers, x, width, 1, stride, 0, None) if stride > 1 or channels != width else x
    y = conv_bn(layers, x, width, 1)
    y = conv_bn(layers, y, width, 3, stride, 1, groups=groups)
    y = squeeze(layers, y, round(channels / 4), "relu") if gates else y
    y = conv_bn(layers, y, width, 1, act=None)
    return layers.Activation("relu")(layers.Add()([short, y]))


def _designed(depth: int, initial: int, slope: float, step: float, group: int, *, gates: bool) -> Build:
    """Widths grow by `slope` per block from `initial`, each rounded to a power of `step` times `initial`.

    Blocks of one width are a stage. A stage narrower than `group` is one group; the others are widened or narrowed to
    whole groups, which is all that compatibility asks for where the bottleneck is as wide as the block.
    """
    powers = (round(math.log(1 + slope * block / initial, step)) for block in range(depth))
    depths = Counter(8 * round(initial * step**power / 8) for power in powers)
    stages = tuple((divisible(width, min(group, width)), count, min(group, width)) for width, count in depths.items())
    return partial(_regnet, stages=stages, gates=gates)


REGNETS: dict[str, Build] = {
    "regnet_x_400mf": _designed(22, 24, 24.48, 2.54, 16, gates=False),
    "regnet_x_800mf": _designed(16, 56, 35.73, 2.28, 16, gates=False),
    "regnet_x_1_6gf": _designed(18, 80, 34.01, 2.25, 24, gates=False),
    "regnet_x_3_2gf": _designed(25, 88, 26.31, 2.25, 48, gates=False),
    "regnet_x_8gf": _designed(23, 80, 49.56, 2.88, 120, gates=False),
    "regnet_x_16gf": _designed(22, 216, 55.59, 2.1, 128, gates=False),
    "regnet_x_32gf": _designed(23, 320, 69.86, 2.0, 168, gates=False),
    "regnet_y_400mf": _designed(16, 48, 27.89, 2.09, 8, gates=True),
    "regnet_y_800mf": _designed(14, 56, 38.84, 2.4, 16, gates=True),
    "regnet_y_1_6gf": _designed(27, 48, 20.71, 2.65, 24, gates=True),
    "regnet_y_3_2gf": _designed(21, 80, 42.63, 2.66, 24, gates=True),
    "regnet_y_8gf": _designed(17, 192, 76.82, 2.19, 56, gates=True),
    "regnet_y_16gf": _designed(18, 200, 106.23, 2.48, 112, gates=True),
    "regnet_y_32gf": _designed(20, 232, 115.89, 2.53, 232, gates=True),
    "regnet_y_128gf": _designed(27, 456, 160.83, 2.52, 264, gates=True),
}
