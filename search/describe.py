"""Candidates → numbers that tell them apart without rating them, for optimisers that learn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeperf.network import FEATURE_NAMES, FEATURES
from edgeperf.zoo import Genes
from edgeperf.zoo.nasbench201 import EDGE_GENES, EDGES, NASBENCH201, OPERATIONS, Cell, cell_of, live_cell
from search.evaluation import Evaluator
from search.space import Candidate, Space, Vectors

Array = npt.NDArray[np.float64]

_PATHS = (((0, 3),), ((0, 1), (1, 3)), ((0, 2), (2, 3)), ((0, 1), (1, 2), (2, 3)))
"""The ways through a NAS-Bench-201 cell."""

_FEATURES = [FEATURE_NAMES.index(name) for name in FEATURES]


def describe(space: Space, evaluator: Evaluator, vectors: Vectors) -> Array:
    """Genes and logarithms of whole-network features: shape (candidates, descriptors).

    Ordered genes count by their rank, choices by one indicator each. Cells of NAS-Bench-201 are described by what is
    alive in them.
    """
    candidates = [space.decode(vector) for vector in vectors]
    rows = np.log1p(evaluator.features(candidates)[:, _FEATURES])
    if all(family is NASBENCH201 for family in space.families):
        return np.column_stack((np.array([_cell_numbers(candidate) for candidate in candidates]), rows))
    indicators = [
        vectors[:, [place]] == np.arange(count) for place, count in enumerate(space.counts) if not space.ordered[place]
    ]
    return np.column_stack((vectors[:, space.ordered], *indicators, rows)).astype(np.float64)


def _cell_numbers(candidate: Candidate) -> list[float]:
    return cell_numbers(live_cell(cell_of(candidate.genes)))


def cell_numbers(cell: Cell) -> list[float]:
    """Indicators of each edge's operation; counts of operations, whole and on each way through the cell."""
    on = dict(zip(EDGES, cell, strict=True))
    numbers = [float(operation == other) for operation in cell for other in OPERATIONS]
    numbers += [float(cell.count(operation)) for operation in OPERATIONS]
    open_paths = [path for path in _PATHS if all(on[edge] != "none" for edge in path)]
    for path in _PATHS:
        counted = [on[edge] for edge in path] if path in open_paths else []
        numbers += [float(counted.count(operation)) for operation in OPERATIONS[1:]]
    convolutions = [sum(on[edge].startswith("nor_conv") for edge in path) for path in open_paths]
    return [*numbers, float(len(open_paths)), float(max(convolutions, default=0)), float(bool(open_paths))]


def genes_of(cell: Cell) -> Genes:
    """A NAS-Bench-201 cell as genes of the zoo's family."""
    return {**dict(zip(EDGE_GENES, cell, strict=True)), "input_size": NASBENCH201.genes[-1].values[0]}
