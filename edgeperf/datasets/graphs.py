"""Rows of a dataset → the graphs of their networks, and the features that surrogates read.

Limits: a row whose graph is not known has no features beyond those that its table publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgeperf.datasets import icas_networks
from edgeperf.datasets.architectures import read_templates
from edgeperf.datasets.dataset import ARCHITECTURES_FILE, Dataset
from edgeperf.errors import InvalidInput
from edgeperf.network import FEATURE_NAMES, features, read_network
from edgeperf.records import Network

Track = Callable[[Iterable[Any]], Iterable[Any]]
"""Passes the items of a long loop on and shows how many are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTable:
    """Features of every network of a dataset whose graph is known.

    Attributes:
        place: network key → row in `values`.
        values: (networks, features), columns in the order of `FEATURE_NAMES`.
    """

    place: Mapping[str, int]
    values: NDArray[np.float64]

    def of(self, networks: pd.Series) -> NDArray[np.float64]:
        """(rows, features); rows of NaN where the graph is not known."""
        rows = np.full((len(networks), len(FEATURE_NAMES)), np.nan)
        for position, network in enumerate(networks):
            if network in self.place:
                rows[position] = self.values[self.place[network]]
        return rows


def feature_table(dataset: Dataset, track: Track = iter) -> FeatureTable:
    """Features of all networks of the dataset, computed from their graphs.

    Args:
        dataset: rows with `arch_id` or `model_file`.
        track: shows progress.
    """
    wanted = dataset.rows[["network", "arch_id", "model_file", "input_size"]].drop_duplicates("network")
    known = wanted[wanted["arch_id"].notna() | wanted["model_file"].notna()].astype(object)
    items = list(known.where(known.notna(), None).itertuples(index=False, name=None))
    place: dict[str, int] = {}
    values = []
    for network, arch_id, model_file, size in track(items):
        values.append(list(features(_graph(dataset, arch_id, model_file, int(size))).values.values()))
        place[network] = len(place)
    return FeatureTable(place=place, values=np.asarray(values, dtype=float).reshape(len(place), len(FEATURE_NAMES)))


def _graph(dataset: Dataset, arch_id: str | None, model_file: str | None, input_size: int) -> Network:
    if dataset.root is None:
        raise InvalidInput(f"{dataset.provenance.name} names graphs but was not read from a folder that holds them.")
    if arch_id is None:
        return read_network(dataset.root / str(model_file), input_size)
    if icas_networks.is_known(arch_id):
        return icas_networks.network(arch_id, input_size)
    collection = dataset.root / ARCHITECTURES_FILE
    template = read_templates(collection).get(arch_id)
    if template is None:
        raise InvalidInput(f"{collection} has no architecture {arch_id!r}. Import the table again.")
    return template.network(input_size)
