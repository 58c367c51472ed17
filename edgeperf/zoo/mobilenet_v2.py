"""MobileNet v2: width, blocks per stage, expansion and input size → network.

Reference: Sandler et al. 2018 (arXiv:1801.04381), table 2; layers as in Keras Applications.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes, input_sizes, width_gene
from edgeperf.zoo.inverted import inverted_residual, pointwise, stem
from edgeperf.zoo.layers import CLASSES, Layers, channels, classifier, image_input, round_channels

# Filters at width 1, stride of the first block, blocks of the published network; the first stage does not expand.
_V2_STAGES = ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))


def _build_v2(layers: Layers, genes: Genes) -> Any:
    width = float(genes["width"])
    image = x = image_input(layers, genes)
    x = stem(layers, x, filters=round_channels(32 * width), activation="relu6", name="stem")
    for number, (filters, first_stride, blocks) in enumerate(_V2_STAGES, start=1):
        for repeat in range(int(genes.get(f"depth{number}", blocks))):
            x = inverted_residual(
                layers,
                x,
                filters=round_channels(int(filters * width)),
                stride=first_stride if repeat == 0 else 1,
                expanded=0 if number == 1 else int(genes["expansion"]) * channels(x),
                name=f"stage{number}_{repeat + 1}",
            )
    x = pointwise(layers, x, filters=round_channels(1280 * max(1.0, width)), activation="relu6", name="top")
    x = classifier(layers, x, classes=CLASSES, name="classifier")
    return layers.Model(image, x, name=genes["name"])


def _v2(width: float, input_size: int = 224) -> dict[str, int | float]:
    depths = {f"depth{number}": row[2] for number, row in enumerate(_V2_STAGES, start=1) if 2 <= number <= 6}
    return {"width": width, **depths, "expansion": 6, "input_size": input_size}


MOBILENET_V2 = Family(
    name="mobilenet-v2",
    title="MobileNet v2",
    genes=(
        width_gene(0.35, 0.5, 0.6, 0.75, 0.85, 1.0, 1.15, 1.3, 1.4),
        Gene(name="depth2", values=(1, 2, 3)),
        Gene(name="depth3", values=(2, 3, 4)),
        Gene(name="depth4", values=(2, 3, 4, 5)),
        Gene(name="depth5", values=(2, 3, 4)),
        Gene(name="depth6", values=(2, 3, 4)),
        Gene(name="expansion", values=(4, 5, 6)),
        input_sizes(96, 320),
    ),
    build=_build_v2,
    published={f"MobileNet v2 {width}": _v2(width) for width in (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)},
)
