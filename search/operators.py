"""Vectors of parents → vectors of children, always inside the space.

Genes are crossed uniformly within a family; families do not mix. An ordered gene moves to a neighbouring value, a
choice to any other value, and now and then a child starts anew as a random member of a random family.
"""

from __future__ import annotations

import numpy as np

from search.space import Space, Vectors

_NEW_FAMILY = 0.05


def offspring(space: Space, mothers: Vectors, fathers: Vectors, rng: np.random.Generator) -> Vectors:
    """One child of each pair of canonical vectors: shape (pairs, places)."""
    kin = mothers[:, :1] == fathers[:, :1]
    taken = kin & (rng.random(mothers.shape) < 0.5)
    return mutated(space, np.where(taken, fathers, mothers), rng)


def mutated(space: Space, vectors: Vectors, rng: np.random.Generator) -> Vectors:
    """The vectors with one gene in expectation changed, canonical."""
    changed = rng.random(vectors.shape) < 1.0 / _active_places(space)[vectors[:, 0]][:, None]
    changed[:, 0] = False
    steps = rng.choice([-2, -1, 1, 2], p=[0.15, 0.35, 0.35, 0.15], size=vectors.shape)
    moved = np.where(space.ordered, vectors + steps, rng.integers(0, space.counts, size=vectors.shape))
    children = space.canonical(np.where(changed, moved, vectors))
    anew = (rng.random(len(vectors)) < _NEW_FAMILY) & (len(space.families) > 1)
    return np.where(anew[:, None], space.random(len(vectors), rng), children)


def unseen(vectors: Vectors, seen: set[bytes], limit: int | None = None) -> Vectors:
    """The distinct vectors that `seen` does not hold, in their order, `limit` of them at most; they join it."""
    fresh: list[Vectors] = []
    for vector in vectors:
        if len(fresh) == limit:
            break
        key = vector.tobytes()
        if key not in seen:
            seen.add(key)
            fresh.append(vector)
    return np.array(fresh, dtype=np.int64).reshape(len(fresh), vectors.shape[1])


def _active_places(space: Space) -> Vectors:
    return np.array([place.stop - place.start for place in space.places])
