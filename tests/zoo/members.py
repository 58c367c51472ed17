"""Members of families, drawn at random."""

import numpy as np

from edgeperf.zoo import family


def random_members(name: str, count: int, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [
        {gene.name: gene.values[rng.integers(len(gene.values))] for gene in family(name).genes} for _ in range(count)
    ]
