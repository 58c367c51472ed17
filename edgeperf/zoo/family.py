"""A family of CNNs: named genes with their values → a `Network` or a Keras model of the same layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network
from edgeperf.zoo.layers import KerasLayers, Layers

GeneValue = int | float | str
Genes = Mapping[str, GeneValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gene:
    """One choice that tells the members of a family apart.

    Attributes:
        name: as in tables and files.
        values: what it can be, in ascending order where there is an order.
    """

    name: str
    values: tuple[GeneValue, ...]

    @property
    def ordered(self) -> bool:
        """Whether neighbouring values are alike, as numbers are and names are not."""
        return not any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A definition and the values that its genes may take.

    Attributes:
        name: as in ``zoo:NAME`` and ``--space NAME``.
        title: as people write it.
        genes: `input_size` is one of them in every family.
        build: (layers, genes) → model of those layers; pure.
        published: name of a published network → its genes, which may lie outside `genes`' values.
        pure_blocks: whether all costs stand in functions decorated with `block`, so that they can be counted by block.
    """

    name: str
    title: str
    genes: tuple[Gene, ...]
    build: Callable[[Layers, Genes], Any]
    published: Mapping[str, Genes] = field(default_factory=dict)
    pure_blocks: bool = True

    @property
    def size(self) -> int:
        """How many members it has."""
        product = 1
        for gene in self.genes:
            product *= len(gene.values)
        return product

    def network(self, genes: Genes, *, name: str | None = None) -> Network:
        """The member as a `Network`; Keras is not imported."""
        self._check(genes)
        network: Network = self.build(LayerNamespace(), {**genes, "name": name or self.label(genes)})
        return network

    def keras_model(self, genes: Genes, *, name: str | None = None) -> Any:
        """The member as an untrained `keras.Model` with Keras' own initial weights."""
        self._check(genes)
        return self.build(KerasLayers(), {**genes, "name": name or self.label(genes)})

    def label(self, genes: Genes) -> str:
        """A name that tells this member from all others, e.g. ``mobilenet-v2_width-1.0_size-224``."""
        parts = (f"{_short(gene.name)}-{genes[gene.name]}" for gene in self.genes)
        return "_".join((self.name, *parts))

    def _check(self, genes: Genes) -> None:
        missing = [gene.name for gene in self.genes if gene.name not in genes]
        if missing:
            raise InvalidInput(
                f"{self.name} needs the genes {', '.join(gene.name for gene in self.genes)}; "
                f"missing: {', '.join(missing)}."
            )


def _short(gene: str) -> str:
    return {"input_size": "size"}.get(gene, gene)


def input_sizes(first: int, last: int, step: int = 32) -> Gene:
    """The gene of square input sizes in pixels, both ends included."""
    return Gene(name="input_size", values=tuple(range(first, last + 1, step)))


def width_gene(*values: float) -> Gene:
    """The gene that all channel counts are multiplied by."""
    return Gene(name="width", values=values)
