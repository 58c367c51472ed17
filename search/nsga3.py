"""NSGA-III: survival by reference directions, for more than three objectives, by pymoo.

Reference: Deb and Jain 2014, An evolutionary many-objective optimization algorithm using reference-point-based
nondominated sorting approach, part I, section IV. Directions by Riesz energy, as many as the population has members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival
from pymoo.util.ref_dirs import get_reference_directions

from search.nsga2 import Genetic
from search.optimiser import Setting, State

_MEMORY = ("ideal_point", "worst_point", "nadir_point", "extreme_points")
"""What the survival remembers of earlier generations, to scale the objectives."""


class Nsga3(Genetic):
    """NSGA-III."""

    def __init__(self, setting: Setting) -> None:
        directions = get_reference_directions("energy", setting.objectives, setting.population, seed=1)
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
