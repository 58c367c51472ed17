"""Random plain CNNs: seed, number of convolutions and input size → network.

Chains of convolutions with random widths and kernels, batch normalisation after half of them and pooling at times,
like the synthetic networks of Bouzidi et al. 2022, figure 10; ranges are those of the measured ones that are published.
The same genes give the same network in every release: draws come from Python's own generator, in a fixed order.
"""

from __future__ import annotations

import random
from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes
from edgeperf.zoo.layers import Layers, Tensor, block, image_input

_WIDTHS = (
    16, 24, 32, 40, 48, 56, 64, 68, 72, 80, 96, 100, 112, 120, 128, 144, 150, 160, 192, 200, 224, 240, 256, 288, 300,
    320, 331, 350, 384, 400, 450, 480, 500, 512,
)  # fmt: skip
_KERNELS = (1, 2, 3, 5)
_CLASSES = (10, 100, 200, 1000)
_ENDS = ("average", "maximum", "flatten")
_POOLED = 0.2
_SMALLEST_IMAGE = 6
"""No pooling makes an image smaller than this."""

_LARGEST_FLATTENED = 14


@block
def _convolution(layers: Layers, x: Tensor, *, name: str, filters: int, kernel_size: int, normalised: bool) -> Tensor:
    x = layers.Conv2D(filters, kernel_size, padding="same", activation="relu", name=f"{name}_conv")(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x) if normalised else x


@block
def _pooling(layers: Layers, x: Tensor, *, name: str, size: int, stride: int) -> Tensor:
    return layers.MaxPooling2D(size, strides=stride, name=f"{name}_pool")(x)


@block
def _classifier(layers: Layers, x: Tensor, *, name: str, end: str, classes: int) -> Tensor:
    if end == "flatten":
        x = layers.Flatten(name=f"{name}_flatten")(x)
    elif end == "average":
        x = layers.GlobalAveragePooling2D(name=f"{name}_pool")(x)
    else:
        x = layers.GlobalMaxPooling2D(name=f"{name}_pool")(x)
    x = layers.Dense(classes, name=f"{name}_dense")(x)
    return layers.Activation("softmax", name=f"{name}_softmax")(x)


def _build(layers: Layers, genes: Genes) -> Any:
    draw = random.Random(f"{genes['seed']}/{genes['depth']}")  # noqa: S311 - architectures, no secrets
    image = x = image_input(layers, genes)
    for number in range(1, int(genes["depth"]) + 1):
        filters, kernel_size, normalised = draw.choice(_WIDTHS), draw.choice(_KERNELS), draw.random() < 0.5
        x = _convolution(
            layers, x, filters=filters, kernel_size=kernel_size, normalised=normalised, name=f"layer{number}"
        )
        pooled, size, stride = draw.random() < _POOLED, draw.choice((2, 3)), draw.choice((1, 2, 3, 4, 5))
        if pooled and (x.shape[-2] - size) // stride + 1 >= _SMALLEST_IMAGE:
            x = _pooling(layers, x, size=size, stride=stride, name=f"layer{number}")
    end, classes = draw.choice(_ENDS), draw.choice(_CLASSES)
    if end == "flatten" and x.shape[-2] > _LARGEST_FLATTENED:
        end = "average"
    x = _classifier(layers, x, end=end, classes=classes, name="classifier")
    return layers.Model(image, x, name=genes["name"])


_SIZES = (32, 56, 64, 90, 112, 128, 150, 224, 256, 320)

SYNTHETIC = Family(
    name="synthetic",
    title="Synthetic",
    genes=(
        Gene(name="seed", values=tuple(range(1000))),
        Gene(name="depth", values=tuple(range(5, 51))),
        Gene(name="input_size", values=_SIZES),
    ),
    build=_build,
    published={
        f"Synthetic {seed}": {"seed": seed, "depth": 5 + 2 * seed, "input_size": _SIZES[seed % len(_SIZES)]}
        for seed in range(20)
    },
)
