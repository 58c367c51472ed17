"""A folder of measured labels → `Dataset`: one label per row, with where it came from.

On disk a dataset is a folder with `dataset.json` (provenance, format version) and `rows.csv`; `architectures.jsonl.gz`
joins them where the graphs of the networks are known. Rows may also name a `model_file` beside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from edgeperf.datasets.checks import require_sound
from edgeperf.datasets.schema import FORMAT_VERSION, OPTIONAL_COLUMNS, PUBLISHED_FEATURES, TRAIN
from edgeperf.datasets.splits import family_of, repeated_in_training
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.units import METRICS

ROWS_FILE = "rows.csv"
DESCRIPTION_FILE = "dataset.json"
ARCHITECTURES_FILE = "architectures.jsonl.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where labels came from and what they mean.

    Attributes:
        name: of the dataset.
        source: repository and commit, or who measured.
        licence: as its owner states it.
        cite: the publication.
        label_origin: measured here, or published by others.
        meaning: metric → how it was obtained, e.g. the rail of the power.
        notes: faults that were found, and what was done about them.
    """

    name: str
    source: str
    licence: str = "not stated"
    cite: str = ""
    label_origin: str = "published"
    meaning: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Measured labels in the common form.

    Attributes:
        provenance: where they came from.
        rows: one label per row, see `edgeperf.datasets.schema`; no test row repeats a training network.
        root: folder that `model_file` and the architectures are relative to; None where there are none.
    """

    provenance: Provenance
    rows: pd.DataFrame
    root: Path | None = None

    def target(self, device: str, metric: str) -> pd.DataFrame:
        """Rows of one device and metric, in their order.

        Raises:
            InvalidInput: there are none.
        """
        chosen = self.rows[(self.rows["device"] == device) & (self.rows["metric"] == metric)]
        if chosen.empty:
            have = ", ".join(f"{d} {m}" for d, m in self.targets())
            raise InvalidInput(f"{self.provenance.name} has no {metric} of {device}. It has: {have}.")
        return chosen

    def targets(self) -> list[tuple[str, str]]:
        """(device, metric) pairs that have rows, sorted by device, metrics in the order of `METRICS`."""
        pairs = set(zip(self.rows["device"], self.rows["metric"], strict=True))
        order = {name: place for place, name in enumerate(METRICS)}
        return sorted(pairs, key=lambda pair: (pair[0], order[pair[1]]))

    def sha256(self) -> str:
        """Digest of keys, labels and splits, to recognise the table that a surrogate was trained on."""
        columns = ["device", "network", "metric", "value", "split"]
        text = self.rows[columns].sort_values(columns).to_csv(index=False, lineterminator="\n")
        return hashlib.sha256(text.encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Writes the dataset so that `load` gives it back; files appear whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        _write_atomically(folder / ROWS_FILE, self.rows.to_csv(index=False, lineterminator="\n"))
        if self.root is not None and self.root.resolve() != folder.resolve():
            self._copy_graphs(self.root, folder)
        description = {"format": FORMAT_VERSION, "sha256": self.sha256(), **asdict(self.provenance)}
        _write_atomically(folder / DESCRIPTION_FILE, json.dumps(description, indent=2) + "\n")

    def _copy_graphs(self, root: Path, folder: Path) -> None:
        files = [ARCHITECTURES_FILE, *self.rows["model_file"].dropna().unique()]
        for name in files:
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / name, folder / name)


def read(folder: Path) -> Dataset:
    """The dataset that `Dataset.save` wrote.

    Raises:
        InvalidInput: files are missing or cannot be parsed, or rows cannot be right.
        IncompatibleData: another format version wrote it.
    """
    description = _read_description(folder / DESCRIPTION_FILE)
    if description.pop("format", None) != FORMAT_VERSION:
        raise IncompatibleData(
            f"{folder / DESCRIPTION_FILE}: format is not {FORMAT_VERSION}. Import the table again with this version."
        )
    description.pop("sha256", None)
    known = {name: description[name] for name in Provenance.__dataclass_fields__ if name in description}
    known["notes"] = tuple(known.get("notes", ()))
    known.setdefault("name", folder.name)
    known.setdefault("source", str(folder))
    return build(read_rows(folder / ROWS_FILE), provenance=Provenance(**known), root=folder)


def read_rows(path: Path) -> pd.DataFrame:
    """A CSV table of labels, one per row; columns named as metrics are turned into rows.

    Raises:
        InvalidInput: there is no such file, or it is no table.
    """
    try:
        table = pd.read_csv(path, low_memory=False)
    except FileNotFoundError:
        raise InvalidInput(f"No file {path}. Expected a table with one measured label per row.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as problem:
        raise InvalidInput(
            f"{path} is no CSV table: {problem}. Expected a header line and one row per label."
        ) from None
    return long_form(table)


def long_form(table: pd.DataFrame) -> pd.DataFrame:
    """The table with columns `metric` and `value` in place of one column per metric.

    >>> long_form(pd.DataFrame({"model": ["a"], "latency_ms": [2.0], "power_mw": [None]}))["metric"].tolist()
    ['latency_ms']
    """
    wide = [name for name in METRICS if name in table.columns]
    if not wide or "metric" in table.columns:
        return table
    keep = [column for column in table.columns if column not in wide]
    rows = table.melt(id_vars=keep, value_vars=wide, var_name="metric", value_name="value")
    return rows.dropna(subset=["value"]).reset_index(drop=True)


def build(rows: pd.DataFrame, *, provenance: Provenance, root: Path | None = None) -> Dataset:
    """A checked dataset from rows that have at least the key columns.

    Raises:
        InvalidInput: a row cannot be right; the message names it.
    """
    require_sound(rows, source=provenance.name)
    rows = normalise(rows)
    repeats = repeated_in_training(rows)
    return Dataset(provenance=provenance, rows=rows[~repeats].reset_index(drop=True), root=root)


def normalise(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with every column of the schema, derived where it is absent."""
    rows = rows.copy()
    for column, default in OPTIONAL_COLUMNS.items():
        if column not in rows.columns:
            rows[column] = default
    for column in ("arch_id", "model_file"):
        rows[column] = rows[column].astype(object).where(rows[column].notna(), None)
    rows["split"] = rows["split"].fillna(TRAIN)
    rows["input_size"] = rows["input_size"].astype(int)
    rows["value"] = rows["value"].astype(float)
    rows["family"] = rows["family"].where(rows["family"].notna(), rows["model"].map(family_of))
    named = rows["arch_id"].where(rows["arch_id"].notna(), rows["model"]) + "@" + rows["input_size"].astype(str)
    rows["network"] = rows["network"].where(rows["network"].notna(), named)
    for feature in PUBLISHED_FEATURES:
        if feature not in rows.columns:
            rows[feature] = float("nan")
        rows[feature] = rows[feature].astype(float)
    return rows


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(
            f"No file {path}. Expected a folder that `edgeperf data import` or `profile` wrote."
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{path} is no JSON: {problem}. Import the table again.") from None
    if not isinstance(description, dict):
        raise InvalidInput(f"{path} holds no JSON object. Import the table again.")
    return description


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
