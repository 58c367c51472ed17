"""MobileNet v3, small and large: width and input size → network.

Reference: Howard et al. 2019 (arXiv:1905.02244), tables 1 and 2; layers as in Keras Applications, rescaling left out.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.inverted import inverted_residual, pointwise, stem
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, channels, image_input, round_channels

# Kernel, expansion of the input channels, filters, gate, activation, stride. Howard et al. 2019, tables 1 and 2.
_V3_LARGE = (
    (3, 1, 16, False, "relu", 1),
    (3, 4, 24, False, "relu", 2),
    (3, 3, 24, False, "relu", 1),
    (5, 3, 40, True, "relu", 2),
    (5, 3, 40, True, "relu", 1),
    (5, 3, 40, True, "relu", 1),
    (3, 6, 80, False, "hard_swish", 2),
    (3, 2.5, 80, False, "hard_swish", 1),
    (3, 2.3, 80, False, "hard_swish", 1),
    (3, 2.3, 80, False, "hard_swish", 1),
    (3, 6, 112, True, "hard_swish", 1),
    (3, 6, 112, True, "hard_swish", 1),
    (5, 6, 160, True, "hard_swish", 2),
    (5, 6, 160, True, "hard_swish", 1),
    (5, 6, 160, True, "hard_swish", 1),
)
_V3_SMALL = (
    (3, 1, 16, True, "relu", 2),
    (3, 72 / 16, 24, False, "relu", 2),
    (3, 88 / 24, 24, False, "relu", 1),
    (5, 4, 40, True, "hard_swish", 2),
    (5, 6, 40, True, "hard_swish", 1),
    (5, 6, 40, True, "hard_swish", 1),
    (5, 3, 48, True, "hard_swish", 1),
    (5, 3, 48, True, "hard_swish", 1),
    (5, 6, 96, True, "hard_swish", 2),
    (5, 6, 96, True, "hard_swish", 1),
    (5, 6, 96, True, "hard_swish", 1),
)


@block
def _v3_classifier(layers: Layers, x: Tensor, *, name: str, features: int) -> Tensor:
    x = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}_pool")(x)
    x = layers.Conv2D(features, 1, padding="same", name=f"{name}_features")(x)
    x = layers.Activation("hard_swish", name=f"{name}_hard_swish")(x)
    x = layers.Dropout(0.2, name=f"{name}_dropout")(x)
    x = layers.Conv2D(CLASSES, 1, padding="same", name=f"{name}_logits")(x)
    x = layers.Flatten(name=f"{name}_flatten")(x)
    return layers.Activation("softmax", name=f"{name}_softmax")(x)


def _build_v3(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    table, features = (_V3_LARGE, 1280) if genes["version"] == "large" else (_V3_SMALL, 1024)
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=16, activation="hard_swish", name="stem")
    for number, (kernel, expansion, filters, gated, activation, stride) in enumerate(table):
        expanded = round_channels(channels(x) * expansion)
        x = inverted_residual(
            layers,
            x,
            filters=round_channels(filters * width),
            stride=stride,
            expanded=expanded if number else 0,
            kernel_size=kernel,
            activation=activation,
            squeezed=round_channels(expanded * 0.25) if gated else 0,
            name=f"block{number}",
        )
    x = pointwise(layers, x, filters=round_channels(channels(x) * 6), activation="hard_swish", name="top")
    x = _v3_classifier(
        layers, x, features=round_channels(features * width) if width > 1 else features, name="classifier"
    )
    return layers.Model(image, x, name=genes["name"])


MOBILENET_V3 = Family(
    name="mobilenet-v3",
    title="MobileNet v3",
    genes=(
        Gene(name="version", values=("small", "large")),
        width_gene(0.35, 0.5, 0.75, 0.85, 1.0, 1.15, 1.25, 1.5),
        input_sizes(96, 320),
    ),
    build=_build_v3,
    published={
        f"MobileNet v3 {version} {width}": {"version": version, "width": width, "input_size": 224}
        for version in ("small", "large")
        for width in (0.75, 1.0)
    },
)
