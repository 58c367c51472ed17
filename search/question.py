"""What a user wants searched, apart from how long and where to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeperf.errors import InvalidInput
from search.loop import Problem
from search.objectives import constraints, objectives
from search.space import Space, Vectors, space

_LEAST_POPULATION = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search's question; a checkpoint belongs to one question, and the same question has the same answer.

    Attributes:
        spaces: names of families, ``union``, or paths of users' own files; together they are one space.
        devices: device names; a metric without a device means the worst of them.
        seed: of every draw.
        objectives: names as in `search.objectives`.
        constraints: e.g. ``"latency_ms<=30"``.
        algorithm: one of `search.optimiser.OPTIMISERS`, or ``auto``.
        population: candidates per generation.
        each_device: make a metric one objective per device.
        allow_out_of_range: let candidates in that are unlike everything that was measured.
        warm_start: names of published networks to begin with; ``all`` for all that the spaces hold.
    """

    spaces: Sequence[str]
    devices: Sequence[str]
    seed: int
    objectives: Sequence[str] = ("accuracy", "energy_mj")
    constraints: Sequence[str] = ()
    algorithm: str = "auto"
    population: int = 100
    each_device: bool = False
    allow_out_of_range: bool = False
    warm_start: Sequence[str] = ()

    def space(self) -> Space:
        """The networks to choose from.

        Raises:
            InvalidInput: there is no such space.
        """
        return space(self.spaces)

    def problem(self) -> Problem:
        """Objectives and bounds.

        Raises:
            InvalidInput: one of them does not exist, cannot be read, or contradicts another.
        """
        if self.population < _LEAST_POPULATION:
            raise InvalidInput(f"population must be at least {_LEAST_POPULATION}, got {self.population}.")
        return Problem(
            objectives=objectives(self.objectives, self.devices, each_device=self.each_device),
            constraints=constraints(self.constraints, self.devices),
            require_in_range=not self.allow_out_of_range,
        )

    def first_networks(self, searched: Space) -> Vectors:
        """Vectors of the known networks to begin with.

        Raises:
            InvalidInput: the space does not hold one of them; the message lists those that it holds.
        """
        known = dict(searched.published())
        wanted = list(known) if "all" in self.warm_start else list(self.warm_start)
        for name in wanted:
            if name not in known:
                raise InvalidInput(
                    f"{searched.name} holds no known network {name!r} to start from. "
                    f"It holds: {', '.join(known) or 'none'}."
                )
        rows = [known[name] for name in wanted]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(searched.counts))

    def to_dict(self, searched: Space, accuracy: str) -> dict[str, Any]:
        """What a checkpoint and a report keep of it, with the spaces' genes and the source of accuracies."""
        return {
            "spaces": list(self.spaces),
            "devices": list(self.devices),
            "objectives": list(self.objectives),
            "constraints": list(self.constraints),
            "algorithm": self.algorithm,
            "population": self.population,
            "seed": self.seed,
            "each_device": self.each_device,
            "allow_out_of_range": self.allow_out_of_range,
            "warm_start": list(self.warm_start),
            "accuracy": accuracy,
            "genes": _genes(searched),
        }


def _genes(searched: Space) -> Mapping[str, Mapping[str, list[Any]]]:
    """Every family's genes with their values, so that a checkpoint of an edited space is told apart."""
    return {family.name: {gene.name: list(gene.values) for gene in family.genes} for family in searched.families}
