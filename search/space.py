"""Families of CNNs → one space of integer vectors, and back.

A vector holds the number of a family and, for every family of the space, the indices of its genes' values. Only the
genes of the family that it names speak; the others are silent and `Space.canonical` sets them to 0, so that two vectors
of the same network are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from edgeperf.records import Network
from edgeperf.zoo import FAMILIES, Gene, Genes, GeneValue

Vectors = npt.NDArray[np.int64]

UNION = "union"
"""The name of the space that holds every family of the zoo that people design."""

_NOT_IN_UNION = ("nasbench201", "synthetic")


class Member(Protocol):
    """What a space needs of a family; `edgeperf.zoo.Family` and a user's own file both give it."""

    @property
    def name(self) -> str:
        """As in tables."""

    @property
    def title(self) -> str:
        """As in a report."""

    @property
    def genes(self) -> tuple[Gene, ...]:
        """What tells its members apart."""

    @property
    def published(self) -> Mapping[str, Genes]:
        """Known networks by name."""

    def network(self, genes: Genes) -> Network:
        """The member with these genes."""

    def keras_model(self, genes: Genes) -> Any:
        """The same as a Keras model."""

    def label(self, genes: Genes) -> str:
        """Its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One network of a space."""

    family: Member
    genes: Genes

    @property
    def name(self) -> str:
        """A name that no other candidate of the space has."""
        return self.family.label(self.genes)


@dataclass(frozen=True, kw_only=True)
class Space:
    """What a search may choose from.

    Attributes:
        families: in the order in which vectors number them.
    """

    families: tuple[Member, ...]

    @property
    def name(self) -> str:
        """The families' names."""
        return " + ".join(family.name for family in self.families)

    @cached_property
    def counts(self) -> Vectors:
        """How many values each place of a vector can take: shape (places,)."""
        per_gene = [len(gene.values) for family in self.families for gene in family.genes]
        return np.array([len(self.families), *per_gene])

    @cached_property
    def ordered(self) -> npt.NDArray[np.bool_]:
        """Whether neighbouring values of a place are alike: shape (places,)."""
        return np.array([False, *(gene.ordered for family in self.families for gene in family.genes)])

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each family's genes stand."""
        ends = np.cumsum([1, *(len(family.genes) for family in self.families)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @property
    def size(self) -> int:
        """How many networks it holds."""
        return sum(int(np.prod(self.counts[place])) for place in self.places)

    def canonical(self, vectors: Vectors) -> Vectors:
        """The vectors clipped to what exists, silent genes set to 0."""
        clipped = np.clip(vectors, 0, self.counts - 1)
        for number, place in enumerate(self.places):
            clipped[clipped[:, 0] != number, place] = 0
        return clipped

    def random(self, count: int, rng: np.random.Generator) -> Vectors:
        """Uniform over families, and over each family's members."""
        return self.canonical(rng.integers(0, self.counts, size=(count, len(self.counts))))

    def all(self) -> Vectors:
        """Every network of the space once."""
        return np.concatenate([self._all_of(number) for number in range(len(self.families))])

    def decode(self, vector: Sequence[int] | Vectors) -> Candidate:
        """The network that a canonical vector stands for."""
        family = self.families[vector[0]]
        values = vector[self.places[vector[0]]]
        genes = {gene.name: gene.values[value] for gene, value in zip(family.genes, values, strict=True)}
        return Candidate(family=family, genes=genes)

    def encode(self, family: str, genes: Genes) -> Vectors:
        """The vector of a network.

        Raises:
            InvalidInput: the space does not hold it; the message names the gene and its values.
        """
        number = next((i for i, member in enumerate(self.families) if member.name == family), None)
        if number is None:
            raise InvalidInput(f"The space {self.name} holds no family {family!r}.")
        vector = np.zeros(len(self.counts), dtype=np.int64)
        vector[0] = number
        vector[self.places[number]] = [_index(gene, genes, family) for gene in self.families[number].genes]
        return vector

    def published(self) -> Iterator[tuple[str, Vectors]]:
        """The known networks that the space holds, by name."""
        for family in self.families:
            for name, genes in family.published.items():
                if all(genes[gene.name] in gene.values for gene in family.genes):
                    yield name, self.encode(family.name, genes)

    def _all_of(self, number: int) -> Vectors:
        place = self.places[number]
        grid = np.indices(self.counts[place].tolist()).reshape(place.stop - place.start, -1).T
        vectors = np.zeros((len(grid), len(self.counts)), dtype=np.int64)
        vectors[:, 0] = number
        vectors[:, place] = grid
        return vectors


def _index(gene: Gene, genes: Mapping[str, GeneValue], family: str) -> int:
    value = genes.get(gene.name)
    if value not in gene.values:
        raise InvalidInput(
            f"{family} has no {gene.name} = {value!r}; its values are {', '.join(map(str, gene.values))}."
        )
    return gene.values.index(value)


def space(names: Sequence[str]) -> Space:
    """The space of the named families: names of the zoo, ``union`` for all of them, or paths of users' own files.

    Raises:
        InvalidInput: a name is none of these.
    """
    if not names:
        raise InvalidInput("A search needs at least one space; name one with --space, e.g. --space mobilenet-v2.")
    families = [family for name in dict.fromkeys(names) for family in _families(name)]
    return Space(families=tuple({family.name: family for family in families}.values()))


def _families(name: str) -> Sequence[Member]:
    if name == UNION:
        return [family for family in FAMILIES.values() if family.name not in _NOT_IN_UNION]
    if name in FAMILIES:
        return [FAMILIES[name]]
    if name.endswith(".py"):
        from search.user_space import read_user_family

        return [read_user_family(name)]
    known = ", ".join((*FAMILIES, UNION))
    raise InvalidInput(
        f"Unknown space {name!r}. Known spaces: {known}; or the path of a Python file of your own (*.py)."
    )
