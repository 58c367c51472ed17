"""DenseNet: growth rate, layers per block and input size → network.

Reference: Huang et al. 2017 (arXiv:1608.06993), table 1; layers as in Keras Applications.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, channels, classifier, image_input
from edgeperf.zoo.resnet import stem


@block
def dense_layer(layers: Layers, x: Tensor, *, name: str, growth: int) -> Tensor:
    """`x` with `growth` channels more, made by a 1 x 1 and a 3 x 3 convolution from all that came before."""
    y = layers.BatchNormalization(name=f"{name}_0_bn")(x)
    y = layers.Activation("relu", name=f"{name}_0_relu")(y)
    y = layers.Conv2D(4 * growth, 1, use_bias=False, name=f"{name}_1_conv")(y)
    y = layers.BatchNormalization(name=f"{name}_1_bn")(y)
    y = layers.Activation("relu", name=f"{name}_1_relu")(y)
    y = layers.Conv2D(growth, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(y)
    return layers.Concatenate(name=f"{name}_concat")([x, y])


@block
def transition(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    """Half the channels at half the size."""
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    x = layers.Conv2D(channels(x) // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


@block
def _top(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    return classifier(layers, x, classes=CLASSES, name=f"{name}_classifier")


def _build(layers: Layers, genes: Genes) -> Any:
    growth = int(genes["growth"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=2 * growth, bias=False, name="stem")
    for number in (1, 2, 3, 4):
        for repeat in range(int(genes[f"depth{number}"])):
            x = dense_layer(layers, x, growth=growth, name=f"dense{number}_{repeat + 1}")
        if number < 4:
            x = transition(layers, x, name=f"transition{number}")
    x = _top(layers, x, name="top")
    return layers.Model(image, x, name=genes["name"])


def _published(growth: int, *depths: int) -> dict[str, int]:
    return {"growth": growth, **{f"depth{i}": depth for i, depth in enumerate(depths, start=1)}, "input_size": 224}


DENSENET = Family(
    name="densenet",
    title="DenseNet",
    genes=(
        Gene(name="growth", values=(12, 16, 24, 32, 40, 48)),
        Gene(name="depth1", values=(4, 6)),
        Gene(name="depth2", values=(6, 8, 12)),
        Gene(name="depth3", values=(8, 12, 16, 24, 32, 36, 48)),
        Gene(name="depth4", values=(8, 12, 16, 24, 32)),
        input_sizes(96, 320),
    ),
    build=_build,
    published={
        "DenseNet-121": _published(32, 6, 12, 24, 16),
        "DenseNet-161": _published(48, 6, 12, 36, 24),
        "DenseNet-169": _published(32, 6, 12, 32, 32),
        "DenseNet-201": _published(32, 6, 12, 48, 32),
        "DenseNet-264": _published(32, 6, 12, 64, 48),
    },
)
