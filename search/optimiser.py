"""What a search asks of an optimiser, and which optimisers there are.

Every draw of a generation comes from a generator seeded with (seed, generation), so an optimiser's state is plain
arrays, and a search that goes on from a checkpoint draws what it would have drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from search.space import Space, Vectors

Array = npt.NDArray[np.float64]
State = dict[str, npt.NDArray[Any]]


class Optimiser(Protocol):
    """Proposes candidates and learns from their objectives."""

    def ask(self, rng: np.random.Generator) -> Vectors:
        """The next generation, canonical, without a candidate that was asked before; empty when none is left."""

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:
        """Take in what the candidates came to: objectives to minimise, violation 0 where all constraints hold."""

    def state(self) -> State:
        """All that `restore` needs to go on as if nothing had happened."""

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on a state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every optimiser is made from.

    Attributes:
        population: candidates per generation.
        objectives: how many objectives there are.
        warm_start: known networks that the first generation holds, shape (networks, places).
        describe: what is known of candidates without rating them, as numbers: shape (candidates, descriptors).
        foresee: objectives that cost nothing to work out, NaN for those that have to be asked: shape
            (candidates, objectives); None where all have to be asked.
    """

    space: Space
    population: int
    objectives: int
    warm_start: Vectors
    describe: Callable[[Vectors], Array]
    foresee: Callable[[Vectors], Array] | None = None


_HOMES = {
    "nsga2": ("search.nsga2", "Nsga2"),
    "nsga3": ("search.nsga3", "Nsga3"),
    "assisted": ("search.assisted", "Assisted"),
    "random": ("search.baselines", "RandomSearch"),
    "regularised-evolution": ("search.baselines", "RegularisedEvolution"),
    "optuna-nsga2": ("search.optuna_baseline", "OptunaNsga2"),
}

OPTIMISERS = tuple(_HOMES)


def optimiser(name: str, setting: Setting) -> Optimiser:
    """A new optimiser of that name; ``auto`` is NSGA-II for up to three objectives and NSGA-III above.

    Raises:
        InvalidInput: there is none of that name.
    """
    if name == "auto":
        name = "nsga3" if setting.objectives > 3 else "nsga2"
    if name not in _HOMES:
        raise InvalidInput(f"Unknown algorithm {name!r}. Known algorithms: auto, {', '.join(OPTIMISERS)}.")
    module, attribute = _HOMES[name]
    made: Optimiser = getattr(importlib.import_module(module), attribute)(setting)
    return made
