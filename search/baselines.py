"""The rivals that a search has to beat, behind the same calls: random search and regularised evolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from search.operators import mutated, unseen
from search.optimiser import Array, Setting, State
from search.space import Vectors

_TRIES = 20


class RandomSearch:
    """Every candidate anew, without repeats."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._seen: set[bytes] = set()
        self._order: list[Vectors] = []

    def ask(self, rng: np.random.Generator) -> Vectors:
        """Random candidates; the first generation begins with the warm start."""
        wanted = self._setting.population
        found = unseen(self._setting.warm_start[:wanted], self._seen) if not self._order else self._empty()
        for _ in range(_TRIES):
            found = np.concatenate((found, unseen(self._setting.space.random(wanted - len(found), rng), self._seen)))
        return found

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Remember what was asked."""
        self._order.append(vectors)

    def state(self) -> State:
        """What was asked."""
        return {"asked": np.concatenate((self._empty(), *self._order))}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on what was asked."""
        self._order = [state["asked"]]
        self._seen = {vector.tobytes() for vector in state["asked"]}

    def _empty(self) -> Vectors:
        return np.empty((0, len(self._setting.space.counts)), dtype=np.int64)


class RegularisedEvolution:
    """Ageing evolution: the best of a random sample has a child, the oldest dies.

    With several objectives, "best" is by a random weighting of their ranks in the sample.

    Reference: Real et al. 2019, Regularized evolution for image classifier architecture search, algorithm 1.
    """

    _SAMPLE = 10

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._seen: set[bytes] = set()
        self._vectors = np.empty((0, len(setting.space.counts)), dtype=np.int64)
        self._objectives = np.empty((0, setting.objectives))
        self._violation = np.empty(0)

    def ask(self, rng: np.random.Generator) -> Vectors:
        """A generation of children, one per sample."""
        space, wanted = self._setting.space, self._setting.population
        if not len(self._vectors):
            drawn = np.concatenate((self._setting.warm_start, space.random(2 * wanted, rng)))
            return unseen(drawn, self._seen, wanted)
        found = self._vectors[:0]
        for _ in range(_TRIES * wanted):
            if len(found) == wanted:
                break
            found = np.concatenate((found, unseen(mutated(space, self._parent(rng)[None], rng), self._seen)))
        return found

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:  # noqa: ARG002
        """The young join, the oldest die."""
        kept = slice(-2 * self._setting.population, None)
        self._vectors = np.concatenate((self._vectors, vectors))[kept]
        self._objectives = np.concatenate((self._objectives, objectives))[kept]
        self._violation = np.concatenate((self._violation, violation))[kept]

    def state(self) -> State:
        """The living, and what was asked."""
        return {
            "vectors": self._vectors,
            "objectives": self._objectives,
            "violation": self._violation,
            "seen": np.frombuffer(b"".join(sorted(self._seen)), dtype=np.int64).reshape(-1, self._vectors.shape[1]),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on the living."""
        self._vectors, self._objectives = state["vectors"], state["objectives"]
        self._violation = state["violation"]
        self._seen = {vector.tobytes() for vector in state["seen"]}

    def _parent(self, rng: np.random.Generator) -> Vectors:
        sample = rng.choice(len(self._vectors), min(self._SAMPLE, len(self._vectors)), replace=False)
        ranks = self._objectives[sample].argsort(axis=0).argsort(axis=0)
        merit = ranks @ rng.dirichlet(np.ones(self._setting.objectives)) + 1e6 * self._violation[sample]
        parent: Vectors = self._vectors[sample[np.argmin(merit)]]
        return parent
