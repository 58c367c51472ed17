"""A search's state after a generation ↔ one file, so that a killed search goes on as if it had not been killed.

The file is a NumPy archive of plain arrays; nothing in it is executed when it is read. It is written beside the old one
and then takes its place, so that a kill at any moment leaves a whole checkpoint.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import IncompatibleData, InvalidInput
from search.evaluation import Table

FORMAT = 1
"""1: first version."""

NAME = "checkpoint.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All that a search needs to go on.

    Attributes:
        question: what was searched: spaces, devices, objectives, constraints, seed and so on.
        generation: how many generations are done.
        archive: every candidate seen, in the order of evaluation.
        generation_sizes: candidates of each generation.
        optimiser: state of the optimiser.
    """

    question: Mapping[str, Any]
    generation: int
    archive: Table
    generation_sizes: tuple[int, ...]
    optimiser: Mapping[str, npt.NDArray[Any]]


def save(checkpoint: Checkpoint, directory: Path) -> None:
    """Write the checkpoint into the directory, in place of an older one."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "vectors": checkpoint.archive.vectors,
        "provenance": np.array(checkpoint.archive.provenance, dtype=np.str_),
        "generation_sizes": np.array(checkpoint.generation_sizes, dtype=np.int64),
        "header": np.array(json.dumps({"format": FORMAT, "question": checkpoint.question}, sort_keys=True)),
        **{f"column/{name}": column for name, column in checkpoint.archive.columns.items()},
        **{f"optimiser/{name}": array for name, array in checkpoint.optimiser.items()},
    }
    partial = directory / f"{NAME}.partial"
    with partial.open("wb") as out:
        np.savez(out, allow_pickle=False, **arrays)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(directory / NAME)


def load(directory: Path, question: Mapping[str, Any]) -> Checkpoint | None:
    """The directory's checkpoint; None where there is none yet.

    Raises:
        IncompatibleData: it belongs to another search; the message names the first difference.
        InvalidInput: it cannot be read.
    """
    path = directory / NAME
    if not path.exists():
        return None
    try:
        # NumPy leaves a file that it cannot read open, so it gets one that is closed here.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            header = json.loads(str(arrays["header"]))
            _check(header, question, path)
            return _checkpoint(header["question"], arrays)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"Cannot read the checkpoint {path}: {error}. Remove it, or search without --resume."
        ) from error


def _check(header: Mapping[str, Any], question: Mapping[str, Any], path: Path) -> None:
    if header["format"] != FORMAT:
        raise IncompatibleData(
            f"{path} has format {header['format']}, this version reads {FORMAT}. Start a new search."
        )
    asked = json.loads(json.dumps(question))
    for name, value in asked.items():
        if header["question"].get(name) != value:
            raise IncompatibleData(
                f"{path} belongs to another search: {name} was {header['question'].get(name)!r} and is now {value!r}. "
                f"Resume with the same {name}, or choose another --out."
            )


def _checkpoint(question: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Checkpoint:
    sizes = tuple(int(size) for size in arrays["generation_sizes"])
    archive = Table(
        vectors=arrays["vectors"],
        columns={name.partition("/")[2]: array for name, array in arrays.items() if name.startswith("column/")},
        provenance=tuple(str(origin) for origin in arrays["provenance"]),
    )
    optimiser = {name.partition("/")[2]: array for name, array in arrays.items() if name.startswith("optimiser/")}
    return Checkpoint(
        question=question, generation=len(sizes), archive=archive, generation_sizes=sizes, optimiser=optimiser
    )
