"""torchvision's image classifiers as `Network` objects, so that measured networks can be taken apart.

Each definition follows torchvision's own module by module (order, padding, biases, auxiliary heads while training),
because a sum over operations is only as good as the list of operations. `layerwise_sums.py` reports how many of the
operations that come out are among those that were measured.
"""

from __future__ import annotations

from benchmarks.torchvision_networks.efficientnet import EFFICIENTNETS
from benchmarks.torchvision_networks.inception import INCEPTIONS
from benchmarks.torchvision_networks.mobile import MOBILE
from benchmarks.torchvision_networks.parts import Build
from benchmarks.torchvision_networks.plain import PLAIN
from benchmarks.torchvision_networks.regnet import REGNETS
from benchmarks.torchvision_networks.residual import RESIDUAL
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network

__all__ = ["NETWORKS", "torchvision_network"]

NETWORKS: dict[str, Build] = {**PLAIN, **RESIDUAL, **REGNETS, **INCEPTIONS, **MOBILE, **EFFICIENTNETS}
"""torchvision name → definition. No transformers: what they run in functional calls was not measured."""


def torchvision_network(name: str, input_size: int, *, training: bool) -> Network:
    """The network of that torchvision name; `training` adds auxiliary heads where it has them.

    Raises:
        KeyError: there is no definition of that name.
    """
    layers = LayerNamespace()
    image = layers.Input((input_size, input_size, 3))
    return layers.Model(image, NETWORKS[name](layers, image, training), name=name)
