"""Small networks for small devices: SqueezeNet, ShuffleNet v2, MobileNet v2 and v3, and MNASNet."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.torchvision_networks.parts import Build, Tensor, conv, conv_bn, divisible, head, max_pool, squeeze


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


def _mobilenet_v2(
    layers: Any, x: Tensor, _training: bool, *, stem: int, stages: tuple[tuple[int, ...], ...], act: str
) -> Tensor:
    """MNASNet too; `stages`: (expansion, kernel, stride, filters, depth)."""
    x = conv_bn(layers, x, stem, 3, 2, 1, act)
    for expand, kernel, stride, filters, depth in stages:
        for index in range(depth):
            x = _inverted(layers, x, expand * x.shape[-1], kernel, 1 if index else stride, filters, act)
    return head(layers, conv_bn(layers, x, 1280, 1, act=act), dropout=True)


def _mobilenet_v3(
    layers: Any, x: Tensor, _training: bool, *, blocks: tuple[tuple[int, int, int, int, bool, str], ...], last: int
) -> Tensor:
    """`blocks`: (kernel, expanded channels, stride, filters, gate, activation)."""
    x = conv_bn(layers, x, 16, 3, 2, 1, "hard_swish")
    for kernel, wide, stride, filters, gate, act in blocks:
        x = _inverted(layers, x, wide, kernel, stride, filters, act, divisible(wide // 4) if gate else 0)
    x = conv_bn(layers, x, 6 * x.shape[-1], 1, act="hard_swish")
    x = layers.Flatten()(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = layers.Activation("hard_swish")(layers.Dense(last)(x))
    return layers.Dense(1000)(layers.Dropout(0.2)(x))


def _inverted(
    layers: Any, x: Tensor, wide: int, kernel: int, stride: int, filters: int, act: str, squeezed: int = 0
) -> Tensor:
    """Inverted residual, wide inside and narrow outside; with a gate where `squeezed` is not 0."""
    channels = x.shape[-1]
    y = conv_bn(layers, x, wide, 1, act=act) if wide != channels else x
    y = conv_bn(layers, y, wide, kernel, stride, kernel // 2, act, groups=wide)
    y = squeeze(layers, y, squeezed, "relu", "hard_sigmoid") if squeezed else y
    y = conv_bn(layers, y, filters, 1, act=None)
    return layers.Add()([x, y]) if stride == 1 and channels == filters else y


_V2 = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 3, 2, 32, 3),
    (6, 3, 2, 64, 4),
    (6, 3, 1, 96, 3),
    (6, 3, 2, 160, 3),
    (6, 3, 1, 320, 1),
)
_MNASNET = (
    (1, 3, 1, 16, 1),
    (3, 3, 2, 24, 3),
    (3, 5, 2, 40, 3),
    (6, 5, 2, 80, 3),
    (6, 3, 1, 96, 2),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
_V3_SMALL = (
    (3, 16, 2, 16, True, "relu"),
    (3, 72, 2, 24, False, "relu"),
    (3, 88, 1, 24, False, "relu"),
    (5, 96, 2, 40, True, "hard_swish"),
    (5, 240, 1, 40, True, "hard_swish"),
    (5, 240, 1, 40, True, "hard_swish"),
    (5, 120, 1, 48, True, "hard_swish"),
    (5, 144, 1, 48, True, "hard_swish"),
    (5, 288, 2, 96, True, "hard_swish"),
    (5, 576, 1, 96, True, "hard_swish"),
    (5, 576, 1, 96, True, "hard_swish"),
)
_V3_LARGE = (
    (3, 16, 1, 16, False, "relu"),
    (3, 64, 2, 24, False, "relu"),
    (3, 72, 1, 24, False, "relu"),
    (5, 72, 2, 40, True, "relu"),
    (5, 120, 1, 40, True, "relu"),
    (5, 120, 1, 40, True, "relu"),
    (3, 240, 2, 80, False, "hard_swish"),
    (3, 200, 1, 80, False, "hard_swish"),
    (3, 184, 1, 80, False, "hard_swish"),
    (3, 184, 1, 80, False, "hard_swish"),
    (3, 480, 1, 112, True, "hard_swish"),
    (3, 672, 1, 112, True, "hard_swish"),
    (5, 672, 2, 160, True, "hard_swish"),
    (5, 960, 1, 160, True, "hard_swish"),
    (5, 960, 1, 160, True, "hard_swish"),
)


def _mnasnet(width: float) -> Build:
    stages = tuple((e, k, s, divisible(f * width), n) for e, k, s, f, n in _MNASNET)
    return partial(_mobilenet_v2, stem=divisible(32 * width), stages=stages, act="relu")


MOBILE: dict[str, Build] = {
    "mnasnet0_5": _mnasnet(0.5),
    "mnasnet0_75": _mnasnet(0.75),
    "mnasnet1_0": _mnasnet(1.0),
    "mnasnet1_3": _mnasnet(1.3),
    "mobilenet_v2": partial(_mobilenet_v2, stem=32, stages=_V2, act="relu6"),
    "mobilenet_v3_large": partial(_mobilenet_v3, blocks=_V3_LARGE, last=1280),
    "mobilenet_v3_small": partial(_mobilenet_v3, blocks=_V3_SMALL, last=1024),
    "shufflenet_v2_x0_5": partial(_shufflenet, widths=(48, 96, 192, 1024)),
    "shufflenet_v2_x1_0": partial(_shufflenet, widths=(116, 232, 464, 1024)),
    "shufflenet_v2_x1_5": partial(_shufflenet, widths=(176, 352, 704, 1024)),
    "shufflenet_v2_x2_0": partial(_shufflenet, widths=(244, 488, 976, 2048)),
    "squeezenet1_0": partial(_squeezenet, stem=(96, 7), fires=(16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "squeezenet1_1": partial(_squeezenet, stem=(64, 3), fires=(16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
}
