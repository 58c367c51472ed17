"""NSGA-II: the next generation from the last one's non-dominated sorting and crowding, by pymoo.

Reference: Deb et al. 2002, A fast and elitist multiobjective genetic algorithm: NSGA-II, sections III and VI;
constraint domination as in section VI-A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

from search.operators import offspring, unseen
from search.optimiser import Array, Setting, State
from search.space import Vectors

_TRIES = 20
"""How often a generation is refilled before it is taken to be as full as it gets."""


class Genetic:
    """What NSGA-II and NSGA-III share: mating by tournament, and survival of the fitter half."""

    def __init__(self, setting: Setting, survival: Any) -> None:
        self._setting = setting
        self._survival = survival
        self._problem = Problem(n_var=len(setting.space.counts), n_obj=setting.objectives, n_ieq_constr=1)
        self._seen: set[bytes] = set()
        self._vectors = np.empty((0, len(setting.space.counts)), dtype=np.int64)
        self._objectives = np.empty((0, setting.objectives))
        self._violation = np.empty(0)
        self._fitness = np.empty((0, 2))

    def ask(self, rng: np.random.Generator) -> Vectors:
        """The next generation; the first is random, with the warm start ahead."""
        wanted = self._setting.population
        found = unseen(self._setting.warm_start[:wanted], self._seen) if not len(self._vectors) else self._vectors[:0]
        for _ in range(_TRIES):
            if len(found) == wanted:
                break
            fresh = unseen(self._propose(wanted - len(found), rng), self._seen)
            found = np.concatenate((found, fresh))
        return found

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:
        """Merge the generation into the population and keep the best."""
        vectors = np.concatenate((self._vectors, vectors))
        objectives = np.concatenate((self._objectives, objectives))
        violation = np.concatenate((self._violation, violation))
        merged = Population.new(X=vectors, F=objectives, G=violation[:, None], place=np.arange(len(vectors)))
        kept = self._survival.do(
            self._problem, merged, n_survive=min(self._setting.population, len(merged)), random_state=rng
        )
        places = kept.get("place").astype(int)
        self._vectors, self._objectives, self._violation = vectors[places], objectives[places], violation[places]
        self._fitness = self._fitness_of(kept)

    def state(self) -> State:
        """The population and what was asked so far."""
        return {
            "vectors": self._vectors,
            "objectives": self._objectives,
            "violation": self._violation,
            "fitness": self._fitness,
            "seen": np.frombuffer(b"".join(sorted(self._seen)), dtype=np.int64).reshape(-1, self._vectors.shape[1]),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on a population."""
        self._vectors, self._objectives = state["vectors"], state["objectives"]
        self._violation, self._fitness = state["violation"], state["fitness"]
        self._seen = {vector.tobytes() for vector in state["seen"]}

    def _propose(self, count: int, rng: np.random.Generator) -> Vectors:
        space = self._setting.space
        if not len(self._vectors):
            return space.random(count, rng)
        mothers, fathers = (self._vectors[self._winners(count, rng)] for _ in range(2))
        return offspring(space, mothers, fathers, rng)

    def _winners(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Winners of tournaments of two: less violation, then the better rank, then the larger crowding distance."""
        rivals = rng.integers(0, len(self._vectors), size=(2, count))
        keys = np.column_stack((self._violation, self._fitness))
        order = np.lexsort(keys.T[::-1])
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        winners: npt.NDArray[np.intp] = np.where(position[rivals[0]] <= position[rivals[1]], rivals[0], rivals[1])
        return winners

    def _fitness_of(self, population: Any) -> Array:
        """Two keys per survivor, the smaller the better; infeasible ones have no rank and are told apart before."""
        infeasible = np.inf
        ranks = [infeasible if individual.CV[0] > 0 else individual.get("rank") for individual in population]
        return np.column_stack((ranks, np.zeros(len(ranks)))).astype(np.float64)


class Nsga2(Genetic):
    """NSGA-II."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, RankAndCrowding())

    def _fitness_of(self, population: Any) -> Array:
        fitness = super()._fitness_of(population)
        feasible = np.isfinite(fitness[:, 0])
        crowding = [individual.get("crowding") for individual, ok in zip(population, feasible, strict=True) if ok]
        fitness[feasible, 1] = -np.array(crowding, dtype=np.float64)
        return fitness
