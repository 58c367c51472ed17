"""NSGA-III: survival by reference directions, for more than three objectives, by pymoo.

Reference: Deb and Jain 2014, An evolutionary many-objective optimization algorithm using reference-point-based
nondominated sorting approach, part I, section IV; directions by Das and Dennis 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival
from pymoo.util.ref_dirs import get_reference_directions

from search.nsga2 import Genetic
from search.optimiser import Setting, State

_MEMORY = ("ideal_point", "worst_point", "nadir_point", "extreme_points")
"""What the survival remembers of earlier generations, to scale the objectives."""


def _partitions(setting: Setting) -> int:
    """Finest grid on the unit simplex that has at most as many points as the population has members."""
    finer = 1
    while comb(finer + setting.objectives, setting.objectives - 1) <= setting.population:
        finer += 1
    return finer


class Nsga3(Genetic):
    """NSGA-III."""

    def __init__(self, setting: Setting) -> None:
        directions = get_reference_directions("das-dennis", setting.objectives, n_partitions=_partitions(setting))
        super().__init__(setting, ReferenceDirectionSurvival(directions))

    def state(self) -> State:
        """The population and the scales of the objectives."""
        scales = ((name, getattr(self._survival.norm, name)) for name in _MEMORY)
        return {**super().state(), **{name: np.asarray(value) for name, value in scales if value is not None}}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take on a population and its scales."""
        super().restore(state)
        for name in _MEMORY:
            if name in state:
                setattr(self._survival.norm, name, state[name])
