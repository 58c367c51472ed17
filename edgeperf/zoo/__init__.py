"""Family and genes → a `Network`, or a Keras model of the same layers.

Each family is one definition, `build(layers, genes)`, for which `layers` may be a namespace that builds a `Network`,
one that builds a Keras model, or one that only counts (see `edgeperf.zoo.layers`).

    from edgeperf.zoo import family

    genes = family("mobilenet-v2").published["MobileNet v2 1.0"]
    network = family("mobilenet-v2").network(genes)
    model = family("mobilenet-v2").keras_model(genes)
"""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.zoo.densenet import DENSENET
from edgeperf.zoo.efficientnet import EFFICIENTNET
from edgeperf.zoo.family import Family, Gene, Genes, GeneValue
from edgeperf.zoo.googlenet import GOOGLENET
from edgeperf.zoo.grouped import DPN, RESNEXT
from edgeperf.zoo.inception import INCEPTION_RESNET_V2, INCEPTION_V3
from edgeperf.zoo.mnasnet import MNASNET
from edgeperf.zoo.mobilenet_v1 import MOBILENET_V1
from edgeperf.zoo.mobilenet_v2 import MOBILENET_V2
from edgeperf.zoo.mobilenet_v3 import MOBILENET_V3
from edgeperf.zoo.nasbench201 import NASBENCH201
from edgeperf.zoo.resnet import RESNET, RESNET_V2, SENET
from edgeperf.zoo.shufflenet import SHUFFLENET_V1, SHUFFLENET_V2
from edgeperf.zoo.synthetic import SYNTHETIC
from edgeperf.zoo.xception import XCEPTION

__all__ = ["FAMILIES", "Family", "Gene", "GeneValue", "Genes", "family"]

FAMILIES: dict[str, Family] = {
    member.name: member
    for member in (
        MOBILENET_V1,
        MOBILENET_V2,
        MOBILENET_V3,
        MNASNET,
        EFFICIENTNET,
        RESNET,
        RESNET_V2,
        SENET,
        DENSENET,
        XCEPTION,
        GOOGLENET,
        INCEPTION_V3,
        INCEPTION_RESNET_V2,
        RESNEXT,
        DPN,
        SHUFFLENET_V1,
        SHUFFLENET_V2,
        NASBENCH201,
        SYNTHETIC,
    )
}


def family(name: str) -> Family:
    """The family of that name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in FAMILIES:
        raise InvalidInput(f"Unknown family {name!r}. Known families: {', '.join(FAMILIES)}.")
    return FAMILIES[name]
