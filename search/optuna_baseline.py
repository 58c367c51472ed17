"""Optuna's NSGA-II behind the same calls, as a rival; it cannot go on from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from search.operators import unseen
from search.optimiser import Array, Setting, State
from search.space import Vectors

_TRIES = 20


class OptunaNsga2:
    """One trial per candidate; candidates asked before are told what they came to and asked no more."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._study: Any = None
        self._trials: dict[bytes, Any] = {}
        self._known: dict[bytes, tuple[float, ...]] = {}
        self._seen: set[bytes] = set()

    def ask(self, rng: np.random.Generator) -> Vectors:
        """Candidates from Optuna's sampler."""
        if self._study is None:
            self._study = self._new_study(int(rng.integers(2**31)))
        wanted = self._setting.population
        found = np.empty((0, len(self._setting.space.counts)), dtype=np.int64)
        for _ in range(_TRIES * wanted):
            if len(found) == wanted:
                break
            trial = self._study.ask()
            vector = self._vector(trial)
            key = vector.tobytes()
            if key in self._known:
                self._study.tell(trial, self._known[key])
            elif key in self._trials:
                self._study.tell(trial, state=self._failed())
            else:
                self._trials[key] = trial
                found = np.concatenate((found, unseen(vector[None], self._seen)))
        return found

    def tell(self, vectors: Vectors, objectives: Array, violation: Array, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Tell Optuna; candidates that miss a bound are worse than all others."""
        for vector, values, missed in zip(vectors, objectives, violation, strict=True):
            key = vector.tobytes()
            self._known[key] = tuple(float(value + 1e6 * missed) for value in values)
            self._study.tell(self._trials.pop(key), self._known[key])

    def state(self) -> State:
        """Nothing that could be restored."""
        return {}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:  # noqa: ARG002 - the protocol
        """Refuse.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("optuna-nsga2 cannot be resumed; search without --resume, or with another algorithm.")

    def _new_study(self, seed: int) -> Any:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.NSGAIISampler(population_size=self._setting.population, seed=seed)
        return optuna.create_study(directions=["minimize"] * self._setting.objectives, sampler=sampler)

    def _vector(self, trial: Any) -> Vectors:
        counts = self._setting.space.counts
        drawn = [trial.suggest_int(f"place{place}", 0, int(count) - 1) for place, count in enumerate(counts)]
        vector: Vectors = self._setting.space.canonical(np.array([drawn], dtype=np.int64))[0]
        return vector

    @staticmethod
    def _failed() -> Any:
        import optuna

        return optuna.trial.TrialState.FAIL
