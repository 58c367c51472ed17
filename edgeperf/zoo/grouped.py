"""ResNeXt and dual path networks: cardinality, blocks per stage and input size → network.

Reference: Xie et al. 2017 (arXiv:1611.05431), table 1; Chen et al. 2017 (arXiv:1707.01629), table 1. The convolution
whose output a dual path block splits is two convolutions here, with the same weights and work in sum.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, channels, classifier, conv_bn, image_input
from edgeperf.zoo.resnet import stem

_DEPTHS = (
    Gene(name="depth2", values=(2, 3, 4)),
    Gene(name="depth3", values=(2, 3, 4, 6, 8)),
    Gene(name="depth4", values=(3, 6, 14, 20, 23, 28)),
    Gene(name="depth5", values=(2, 3)),
)


@block
def aggregated(layers: Layers, x: Tensor, *, name: str, filters: int, groups: int, stride: int) -> Tensor:
    """Bottleneck whose 3 x 3 convolution is grouped; twice the filters come out."""
    shortcut = x
    if stride != 1 or channels(x) != 2 * filters:
        shortcut = conv_bn(layers, x, 2 * filters, 1, strides=stride, activation=None, name=f"{name}_0")
    x = conv_bn(layers, x, filters, 1, name=f"{name}_1")
    x = conv_bn(layers, x, filters, 3, strides=stride, padding="same", groups=groups, name=f"{name}_2")
    x = conv_bn(layers, x, 2 * filters, 1, activation=None, name=f"{name}_3")
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


def _build_resnext(layers: Layers, genes: Genes) -> Any:
    groups, per_group = int(genes["groups"]), int(genes["group_width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=64, bias=False, name="stem")
    for number in (2, 3, 4, 5):
        for repeat in range(int(genes[f"depth{number}"])):
            x = aggregated(
                layers,
                x,
                filters=groups * per_group * 2 ** (number - 2),
                groups=groups,
                stride=2 if number > 2 and repeat == 0 else 1,
                name=f"conv{number}_block{repeat + 1}",
            )
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


def _depths(*depths: int) -> dict[str, int]:
    return {f"depth{number}": depth for number, depth in enumerate(depths, start=2)}


RESNEXT = Family(
    name="resnext",
    title="ResNeXt",
    genes=(
        Gene(name="groups", values=(8, 16, 32)),
        Gene(name="group_width", values=(2, 4, 8)),
        *_DEPTHS,
        input_sizes(96, 320),
    ),
    build=_build_resnext,
    published={
        "ResNeXt-50": {"groups": 32, "group_width": 4, **_depths(3, 4, 6, 3), "input_size": 224},
        "ResNeXt-101": {"groups": 32, "group_width": 4, **_depths(3, 4, 23, 3), "input_size": 224},
    },
)


def _preactivated(layers: Layers, x: Tensor, filters: int, size: int, *, name: str, **conv: Any) -> Tensor:
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    return layers.Conv2D(filters, size, use_bias=False, name=f"{name}_conv", **conv)(x)


def _two_convs(layers: Layers, x: Tensor, filters: tuple[int, int], *, name: str, stride: int = 1) -> list[Tensor]:
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    ends = ("residual", "dense")
    return [
        layers.Conv2D(count, 1, strides=stride, use_bias=False, name=f"{name}_{end}")(x)
        for count, end in zip(filters, ends, strict=True)
    ]


@block
def dual_path(
    layers: Layers,
    residual: Tensor,
    dense: Tensor | None = None,
    *,
    name: str,
    filters: int,
    inner: int,
    growth: int,
    groups: int,
    stride: int,
) -> tuple[Tensor, Tensor]:
    """A sum path of `filters` channels beside a path that `growth` channels join.

    The first block of a stage has new paths made for it by a convolution.
    """
    x = residual if dense is None else layers.Concatenate(name=f"{name}_in")([residual, dense])
    if channels(residual) != filters or stride != 1 or dense is None:
        residual, dense = _two_convs(layers, x, (filters, 2 * growth), stride=stride, name=f"{name}_w")
    x = _preactivated(layers, x, inner, 1, name=f"{name}_a")
    x = _preactivated(layers, x, inner, 3, strides=stride, padding="same", groups=groups, name=f"{name}_b")
    more_residual, more_dense = _two_convs(layers, x, (filters, growth), name=f"{name}_c")
    residual = layers.Add(name=f"{name}_add")([residual, more_residual])
    return residual, layers.Concatenate(name=f"{name}_join")([dense, more_dense])


@block
def _dual_top(layers: Layers, residual: Tensor, dense: Tensor, *, name: str) -> Tensor:
    x = layers.Concatenate(name=f"{name}_join")([residual, dense])
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    return classifier(layers, x, classes=CLASSES, name=f"{name}_classifier")


# Version → filters of the stem, inner filters at the first stage, groups, growth of each stage.
_DUAL_PATHS = {
    "92": (64, 96, 32, (16, 32, 24, 128)),
    "98": (96, 160, 40, (16, 32, 32, 128)),
    "107": (128, 200, 50, (20, 64, 64, 128)),
}


def _build_dpn(layers: Layers, genes: Genes) -> Any:
    first, inner, groups, growths = _DUAL_PATHS[str(genes["version"])]
    image = x = image_input(layers, genes)
    paths: tuple[Tensor, ...] = (stem(layers, x, filters=first, bias=False, name="stem"),)
    for number, growth in enumerate(growths, start=2):
        scale = 2 ** (number - 2)
        for repeat in range(int(genes[f"depth{number}"])):
            paths = dual_path(
                layers,
                *paths,
                filters=256 * scale,
                inner=inner * scale,
                growth=growth,
                groups=groups,
                stride=2 if number > 2 and repeat == 0 else 1,
                name=f"conv{number}_block{repeat + 1}",
            )
    x = _dual_top(layers, *paths, name="top")
    return layers.Model(image, x, name=genes["name"])


DPN = Family(
    name="dpn",
    title="DPN",
    genes=(Gene(name="version", values=tuple(_DUAL_PATHS)), *_DEPTHS, input_sizes(96, 320)),
    build=_build_dpn,
    published={
        "DPN-92": {"version": "92", **_depths(3, 4, 20, 3), "input_size": 224},
        "DPN-98": {"version": "98", **_depths(3, 6, 20, 3), "input_size": 224},
        "DPN-107": {"version": "107", **_depths(4, 8, 20, 3), "input_size": 224},
    },
)
