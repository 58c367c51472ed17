"""MNASNet: width and input size → network.

Reference: Tan et al. 2019 (arXiv:1807.11626), figure 7; the variant without gates (B1).
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Genes, input_sizes, width_gene
from edgeperf.zoo.inverted import depthwise, inverted_residual, pointwise, stem
from edgeperf.zoo.layers import CLASSES, Layers, channels, classifier, image_input, round_channels

# Kernel, expansion, filters, gate, stride, blocks. Tan et al. 2019, figure 7, variant B1 (no gates) as Keras ports it.
_MNASNET_STAGES = (
    (3, 3, 24, 2, 3),
    (5, 3, 40, 2, 3),
    (5, 6, 80, 2, 3),
    (3, 6, 96, 1, 2),
    (5, 6, 192, 2, 4),
    (3, 6, 320, 1, 1),
)


def _build_mnasnet(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=round_channels(32 * width), activation="relu", name="stem")
    x = depthwise(layers, x, kernel_size=3, stride=1, activation="relu", name="separable_depthwise")
    x = pointwise(layers, x, filters=round_channels(16 * width), activation=None, name="separable_pointwise")
    for number, (kernel, expansion, filters, first_stride, blocks) in enumerate(_MNASNET_STAGES, start=1):
        for repeat in range(blocks):
            x = inverted_residual(
                layers,
                x,
                filters=round_channels(filters * width),
                stride=first_stride if repeat == 0 else 1,
                expanded=expansion * channels(x),
                kernel_size=kernel,
                activation="relu",
                name=f"stage{number}_{repeat + 1}",
            )
    x = pointwise(layers, x, filters=1280, activation="relu", name="top")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


MNASNET = Family(
    name="mnasnet",
    title="MNASNet",
    genes=(width_gene(0.35, 0.5, 0.75, 1.0, 1.15, 1.3, 1.4), input_sizes(96, 320)),
    build=_build_mnasnet,
    published={f"MNASNet {width}": {"width": width, "input_size": 224} for width in (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)},
)
