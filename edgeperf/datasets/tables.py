"""A folder on disk → `Dataset`, whichever of the known layouts it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd

from edgeperf.datasets import bouzidi, icas
from edgeperf.datasets.dataset import DESCRIPTION_FILE, Dataset, read
from edgeperf.errors import InvalidInput

DATA_VARIABLE = "EDGEPERF_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A published table that can be imported.

    Attributes:
        name: as on the command line.
        holds: one line for a list.
        module: reads it: `recognises(folder)` and `read(folder)`.
    """

    name: str
    holds: str
    module: ModuleType


TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            name="bouzidi",
            holds="Keras CNNs on Jetson Nano, TX2, AGX Xavier: latency, GPU-rail power, energy, memory",
            module=bouzidi,
        ),
        Table(
            name="icas_nano",
            holds="generated ConvNets and 9 torchvision networks on a Jetson Nano with TensorRT: the same, whole board",
            module=icas,
        ),
    )
}


def load(path: Path | str) -> Dataset:
    """The dataset in a folder that `import_table` or `Dataset.save` wrote, or in a published layout as it is.

    Raises:
        InvalidInput: the folder is missing, empty or of no known layout, or rows cannot be right.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InvalidInput(
            f"No folder {folder}. Expected a dataset; `edgeperf data list` names those that can be imported."
        )
    if (folder / DESCRIPTION_FILE).is_file():
        return read(folder)
    for table in TABLES.values():
        if table.module.recognises(folder):
            dataset: Dataset = table.module.read(folder)
            return dataset
    found = sorted(entry.name for entry in folder.iterdir())[:5]
    raise InvalidInput(
        f"{folder} holds no dataset ({', '.join(found) if found else 'it is empty'}). Expected {DESCRIPTION_FILE} and "
        f"rows.csv, or one of the published tables {', '.join(TABLES)}."
    )


def import_table(name: str, source: Path | str, out: Path | str) -> Dataset:
    """Reads a published table, writes it to `out` as a dataset, and returns what `load` will give back.

    Raises:
        InvalidInput: the name is unknown or the source does not have that table's layout.
    """
    if name not in TABLES:
        raise InvalidInput(f"Unknown table {name!r}. Known tables: {', '.join(TABLES)}.")
    if not Path(source).is_dir():
        raise InvalidInput(f"No folder {source}. Expected the files of {name}.")
    TABLES[name].module.read(Path(source)).save(Path(out))
    return read(Path(out))


def check(path: Path | str) -> pd.DataFrame:
    """Rows per device, metric and split of a dataset whose every row passed the checks, with label ranges.

    Returns:
        Columns device, metric, split, rows, networks, families, with_graph, low, high.

    Raises:
        InvalidInput: a row cannot be right; the message names it.
    """
    rows = load(path).rows
    known = rows["arch_id"].notna() | rows["model_file"].notna()
    summary = (
        rows.assign(with_graph=known)
        .groupby(["device", "metric", "split"])
        .agg(
            rows=("value", "size"),
            networks=("network", "nunique"),
            families=("family", "nunique"),
            with_graph=("with_graph", "sum"),
            low=("value", "min"),
            high=("value", "max"),
        )
    )
    return summary.reset_index()


def shared_data() -> Path | None:
    """Folder of the published tables: $EDGEPERF_DATA, else ../shared/data beside the repository; None where absent."""
    named = os.environ.get(DATA_VARIABLE)
    folder = Path(named) if named else Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return folder if folder.is_dir() else None
