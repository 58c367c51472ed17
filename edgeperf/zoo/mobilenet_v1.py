"""MobileNet v1: width, depth and input size → network.

Reference: Howard et al. 2017 (arXiv:1704.04861), table 1; layers as in Keras Applications.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.inverted import depthwise, pointwise, stem
from edgeperf.zoo.layers import CLASSES, Layers, Tensor, block, image_input

# Each row: filters at width 1, stride of its first block, blocks of the published network.
_V1_STAGES = ((64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 2, 6), (1024, 2, 2))


@block
def _v1_classifier(layers: Layers, x: Tensor, *, name: str) -> Tensor:
    x = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}_pool")(x)
    x = layers.Dropout(1e-3, name=f"{name}_dropout")(x)
    x = layers.Conv2D(CLASSES, 1, padding="same", name=f"{name}_conv")(x)
    x = layers.Reshape((CLASSES,), name=f"{name}_reshape")(x)
    return layers.Activation("softmax", name=f"{name}_softmax")(x)


def _build_v1(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=int(32 * width), activation="relu6", name="stem")
    for number, (filters, first_stride, blocks) in enumerate(_V1_STAGES, start=1):
        blocks = int(genes["depth"]) if number == 4 else blocks
        for repeat in range(blocks):
            name = f"stage{number}_{repeat + 1}"
            stride = first_stride if repeat == 0 else 1
            x = depthwise(layers, x, kernel_size=3, stride=stride, activation="relu6", name=f"{name}_depthwise")
            x = pointwise(layers, x, filters=int(filters * width), activation="relu6", name=f"{name}_pointwise")
    x = _v1_classifier(layers, x, name="classifier")
    return layers.Model(image, x, name=genes["name"])


MOBILENET_V1 = Family(
    name="mobilenet-v1",
    title="MobileNet v1",
    genes=(
        width_gene(0.25, 0.35, 0.5, 0.6, 0.75, 0.85, 1.0, 1.15, 1.3, 1.4),
        Gene(name="depth", values=(2, 3, 4, 5, 6, 7, 8)),
        input_sizes(96, 320),
    ),
    build=_build_v1,
    published={
        f"MobileNet v1 {width}": {"width": width, "depth": 6, "input_size": 224} for width in (0.25, 0.5, 0.75, 1.0)
    },
)
