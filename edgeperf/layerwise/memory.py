"""The memory that each layer of a network takes alone → memory of the whole, by two rules that need no graph.

`edgeperf.network.memory_plan` knows the graph and needs no rule.

Reference: Sponner et al., Electronics 2022, section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeperf.errors import InvalidInput


def two_largest(layer_mib: Sequence[float], context_mib: float = 0.0) -> float:
    """Sum of the two largest layers, MiB; `context_mib`, which every layer's figure holds, counts once.

    >>> two_largest([110.0, 130.0, 120.0], context_mib=100.0)
    150.0
    """
    _require(layer_mib)
    own = sorted((value - context_mib for value in layer_mib), reverse=True)
    return context_mib + sum(own[:2])


def twice_mean(layer_mib: Sequence[float], context_mib: float = 0.0) -> float:
    """Twice the mean layer, MiB; `context_mib`, which every layer's figure holds, counts once.

    >>> twice_mean([110.0, 130.0], context_mib=100.0)
    140.0
    """
    _require(layer_mib)
    return context_mib + 2 * sum(value - context_mib for value in layer_mib) / len(layer_mib)


def _require(layer_mib: Sequence[float]) -> None:
    if not layer_mib:
        raise InvalidInput("There are no layers; expected the memory of at least one.")
