"""Model-assisted search: where every rating is dear, learn from those made which candidates to rate next.

Each generation fits one smooth guess per objective and picks, one after the other, the candidates whose guess would add
most to the hypervolume. For each pick the guesses are moved by one random amount of their doubt, so that picks differ
in their optimism; each pick then counts as if it had been rated. A few more picks per objective look at its extreme.

Reference: Thompson sampling over a hypervolume criterion, after Bradford et al. 2018 (Journal of Global Optimization
71:407), with one shared draw per pick in place of a sampled function; fantasies as in Ginsbourger et al. 2010, the
"Kriging believer". Two objectives only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from search.front import nondominated, scaled
from search.gaussian import SmoothGuess
from search.loop import REFERENCE
from search.operators import mutated, unseen
from search.optimiser import Array, Setting, State
from search.space import Vectors

_ENUMERABLE = 20_000
"""Spaces up to this size are looked at whole; of larger ones a pool is drawn anew each generation."""

_POOL = 1_000
_AT_EXTREMES = 2
"""Picks per objective and generation that only look for its smallest value."""


class Assisted:
    """Gaussian processes choose what is rated; the first generation is random and twice as large."""

    def __init__(self, setting: Setting) -> None:
        if setting.objectives != 2:
            raise InvalidInput(
                f"The algorithm assisted takes two objectives, got {setting.objectives}. Use nsga2 or nsga3."
            )
        self._setting = setting
        self._seen: set[bytes] = set()
        self._vectors = np.empty((0, len(setting.space.counts)), dtype=np.int64)
        self._objectives = np.empty((0, setting.objectives))
        self._violation = np.empty(0)

    def ask(self, rng: np.random.Generator) -> Vectors:
        """The candidates to rate next."""
        if not len(self._vectors):
            return self._first(rng)
        pool = self._pool(rng)
        if not len(pool):
            return pool
        return unseen(pool[self._picks(pool, rng)], self._seen)

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Remember what the candidates came to."""
        self._vectors = np.concatenate((self._vectors, vectors))
        self._objectives = np.concatenate((self._objectives, objectives))
        self._violation = np.concatenate((self._violation, violation))

    def state(self) -> State:
        """All ratings so far."""
        return {"vectors": self._vectors, "objectives": self._objectives, "violation": self._violation}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on the ratings."""
        self._vectors, self._objectives = state["vectors"], state["objectives"]
        self._violation = state["violation"]
        self._seen = {vector.tobytes() for vector in self._vectors}

    @cached_property
    def _everything(self) -> tuple[Vectors, Array]:
        """The whole space with its descriptors, for spaces that can be enumerated."""
        vectors = self._setting.space.all()
        return vectors, _on_one_scale(self._setting.describe(vectors))

    def _first(self, rng: np.random.Generator) -> Vectors:
        space, wanted = self._setting.space, 2 * self._setting.population
        drawn = np.concatenate((self._setting.warm_start, space.random(4 * wanted, rng)))
        return unseen(drawn, self._seen, wanted) if space.size > wanted else unseen(space.all(), self._seen)

    def _pool(self, rng: np.random.Generator) -> Vectors:
        """Candidates not rated yet: all of them, or variants of the front and some at random."""
        space = self._setting.space
        if space.size <= _ENUMERABLE:
            return unseen(self._everything[0], {vector.tobytes() for vector in self._vectors})
        parents = self._vectors[self._front()]
        variants = mutated(space, parents[rng.integers(0, len(parents), _POOL)], rng)
        variants = np.where(rng.random(len(variants))[:, None] < 0.5, mutated(space, variants, rng), variants)
        drawn = np.concatenate((variants, space.random(_POOL, rng)))
        return unseen(drawn, {vector.tobytes() for vector in self._vectors})

    def _front(self) -> npt.NDArray[np.intp]:
        feasible = np.flatnonzero(self._violation == 0)
        if not len(feasible):
            return np.argsort(self._violation, kind="stable")[: self._setting.population]
        return feasible[nondominated(self._objectives[feasible])]

    def _descriptors(self, pool: Vectors) -> tuple[Array, Array]:
        """Descriptors of what was rated and of the pool, on one scale."""
        together = np.concatenate((self._vectors, pool))
        if self._setting.space.size <= _ENUMERABLE:
            vectors, known = self._everything
            row = {vector.tobytes(): index for index, vector in enumerate(vectors)}
            inputs = known[[row[vector.tobytes()] for vector in together]]
        else:
            inputs = _on_one_scale(self._setting.describe(together))
        return inputs[: len(self._vectors)], inputs[len(self._vectors) :]

    def _picks(self, pool: Vectors, rng: np.random.Generator) -> list[int]:
        rated, unrated = self._descriptors(pool)
        foreseen = self._setting.foresee(pool) if self._setting.foresee else np.full((len(pool), 2), np.nan)
        guesses = [_Guess(rated, self._objectives[:, j], unrated, foreseen[:, j]) for j in range(2)]
        low, high = self._objectives.min(axis=0), self._objectives.max(axis=0)
        front = scaled(self._objectives[self._front()], low, high)
        open_to_pick = self._likely_feasible(rated, unrated)
        picks: list[int] = []
        for _ in range(min(self._setting.population, int(open_to_pick.sum()))):
            turn = len(picks)
            if turn < 2 * _AT_EXTREMES:
                merit = -guesses[turn % 2].optimistic(1.0)
            else:
                moved = np.column_stack([guess.optimistic(rng.normal()) for guess in guesses])
                merit = area_gained(front, scaled(moved, low, high))
            best = int(np.argmax(np.where(open_to_pick, merit, -np.inf)))
            picks.append(best)
            open_to_pick[best] = False
            believed = scaled(np.array([[guess.middle[best] for guess in guesses]]), low, high)
            front = np.concatenate((front, believed))
        return picks

    def _likely_feasible(self, rated: Array, unrated: Array) -> npt.NDArray[np.bool_]:
        """Where bounds were missed, only candidates that are guessed to meet them, if there are any."""
        if not (self._violation > 0).any():
            return np.ones(len(unrated), dtype=np.bool_)
        guess = _Guess(rated, self._violation, unrated, np.full(len(unrated), np.nan))
        likely: npt.NDArray[np.bool_] = guess.middle < 0.5 * np.median(self._violation[self._violation > 0])
        return likely if likely.any() else np.ones(len(unrated), dtype=np.bool_)


class _Guess:
    """One objective over the pool: foreseen where that is possible, else guessed from what was rated."""

    def __init__(self, rated: Array, values: Array, unrated: Array, foreseen: Array) -> None:
        self._foreseen = None if np.isnan(foreseen).any() else foreseen
        if self._foreseen is None:
            self._guess = SmoothGuess(rated, values)
            self._drawn, self._doubt = self._guess.predict(unrated)
        self.middle = self.optimistic(0.0)

    def optimistic(self, amount: float) -> Array:
        """Values lowered by so many standard deviations of doubt."""
        if self._foreseen is not None:
            return self._foreseen
        return self._guess.undrawn(self._drawn - amount * self._doubt)


def area_gained(front: Array, points: Array) -> Array:
    """How much each point alone would add to the front's hypervolume, in two objectives: shape (points,).

    Reference point (`REFERENCE`, `REFERENCE`).

    >>> area_gained(np.array([[0.0, 0.5]]), np.array([[0.0, 0.0], [0.5, 0.6]])).round(3).tolist()
    [0.55, 0.0]
    """
    steps = front[nondominated(front)]
    steps = steps[(steps < REFERENCE).all(axis=1)]
    steps = steps[np.argsort(steps[:, 0])]
    starts = np.concatenate(([-np.inf], steps[:, 0]))
    ends = np.concatenate((steps[:, 0], [REFERENCE]))
    ceilings = np.concatenate(([REFERENCE], steps[:, 1]))
    gained = np.zeros(len(points))
    for start, end, ceiling in zip(starts, ends, ceilings, strict=True):
        width = np.clip(end - np.maximum(start, points[:, 0]), 0.0, None)
        gained += width * np.clip(ceiling - points[:, 1], 0.0, None)
    return gained


def _on_one_scale(descriptors: Array) -> Array:
    spread = descriptors.std(axis=0)
    varying = spread > 0
    inputs: Array = (descriptors[:, varying] - descriptors[:, varying].mean(axis=0)) / spread[varying]
    return inputs
