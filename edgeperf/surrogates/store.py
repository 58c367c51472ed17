"""A trained surrogate ↔ a `.edgeperf` file, which holds data only: loading one executes nothing.

The file is a zip:

* `surrogate.json`: format version, what it predicts, feature names, hash of the training table, errors, intervals;
* `arrays.npz`: measured networks, and all of a surrogate that is made of arrays (never pickled objects);
* `estimator.skops`: the scikit-learn estimator, for the five algorithms alone, of types in `TRUSTED` alone.

A surrogate made of arrays needs no library but NumPy and loads whatever versions are installed. An estimator needs the
minor versions of scikit-learn and XGBoost that wrote it; others are refused with the command that trains it again.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.network import FEATURE_NAMES, FEATURE_SCHEMA
from edgeperf.surrogates.algorithms import FittedAlgorithm
from edgeperf.surrogates.descriptors import COMPOSITION, DESCRIPTORS
from edgeperf.surrogates.gaussian import GaussianProcess
from edgeperf.surrogates.intervals import Interval
from edgeperf.surrogates.physical import (
    AdditiveSurrogate,
    EnergySurrogate,
    MemorySurrogate,
    PowerSurrogate,
    Surrogate,
)
from edgeperf.surrogates.ranges import Measured
from edgeperf.surrogates.transfer import TransferredSurrogate

FORMAT_VERSION: Final = 1
"""Version of the file format. 1: first version."""

SUFFIX: Final = ".edgeperf"
TRUSTED: Final = (
    "numpy.dtype",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.compose._target.TransformedTargetRegressor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBRegressor",
    "builtins.bytearray",
)
"""Types beyond those that skops trusts by itself which the five algorithms are made of; a file cannot add any."""

_DESCRIPTION: Final = "surrogate.json"
_ARRAYS: Final = "arrays.npz"
_ESTIMATOR: Final = "estimator.skops"
_LARGEST_MEMBER: Final = 64 * 1024**2
_PARTS: Final = {
    part.__name__: part
    for part in (
        EnergySurrogate,
        GaussianProcess,
        AdditiveSurrogate,
        MemorySurrogate,
        PowerSurrogate,
        TransferredSurrogate,
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A surrogate with what one must know of it.

    Attributes:
        device: which board.
        metric: what it predicts.
        algorithm: `physical` or one of the five.
        surrogate: predicts from features.
        interval: of its predictions.
        measured: networks of the device that were measured.
        card: data, rows, cross-validated errors, ranges, seed, versions.
    """

    device: str
    metric: str
    algorithm: str
    surrogate: Surrogate
    interval: Interval
    measured: Measured
    card: Mapping[str, Any]


def write(trained: Trained, path: Path) -> None:
    """Writes the file whole or not at all."""
    arrays: dict[str, Any] = {"measured/points": trained.measured.points}
    description = {
        "format": FORMAT_VERSION,
        "device": trained.device,
        "metric": trained.metric,
        "algorithm": trained.algorithm,
        "feature_schema": FEATURE_SCHEMA,
        "feature_names": list(FEATURE_NAMES),
        "descriptors": [*DESCRIPTORS, *COMPOSITION],
        "interval": asdict(trained.interval),
        "measured": list(trained.measured.names),
        "card": dict(trained.card),
    }
    estimator = None
    if isinstance(trained.surrogate, FittedAlgorithm):
        description |= {"selected": list(trained.surrogate.selected), "libraries": _libraries()}
        estimator = _dump_estimator(trained.surrogate.estimator)
    else:
        description["surrogate"] = _flatten(trained.surrogate, "surrogate", arrays)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, _DESCRIPTION, (json.dumps(description, indent=1) + "\n").encode())
        _add(archive, _ARRAYS, _dump_arrays(arrays))
        if estimator is not None:
            _add(archive, _ESTIMATOR, estimator)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(buffer.getvalue())
    temporary.replace(path)


def read(path: Path) -> Trained:
    """The surrogate in a file.

    Raises:
        InvalidInput: it is no such file, or holds what such files never hold.
        IncompatibleData: another version wrote it; the message says how to train it again.
    """
    if not path.is_file():
        raise InvalidInput(f"No file {path}. Expected a surrogate that `edgeperf train` or `edgeperf adapt` wrote.")
    try:
        with zipfile.ZipFile(path) as archive:
            description = json.loads(_member(archive, _DESCRIPTION))
            _require_current(path, description)
            arrays = _load_arrays(_member(archive, _ARRAYS))
            has_estimator = _ESTIMATOR in archive.namelist()
            surrogate = (
                _read_estimator(path, description, _member(archive, _ESTIMATOR))
                if has_estimator
                else _unflatten(description["surrogate"], "surrogate", arrays)
            )
        return Trained(
            device=description["device"],
            metric=description["metric"],
            algorithm=description["algorithm"],
            surrogate=surrogate,
            interval=Interval(**description["interval"]),
            measured=Measured(points=arrays["measured/points"], names=tuple(description["measured"])),
            card=description["card"],
        )
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput(
            f"{path} is no surrogate ({problem}). Expected a file that `edgeperf train` wrote."
        ) from None


def _flatten(part: Any, name: str, arrays: dict[str, Any]) -> Any:
    """JSON that describes `part`; its arrays go to `arrays` under their path."""
    if isinstance(part, np.ndarray):
        arrays[name] = part
        return {"array": name}
    if is_dataclass(part):
        inner = {f.name: _flatten(getattr(part, f.name), f"{name}/{f.name}", arrays) for f in fields(part)}
        return {"part": type(part).__name__, "fields": inner}
    return part


def _unflatten(described: Any, name: str, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(described, dict):
        return float(described)
    if "array" in described:
        return np.asarray(arrays[described["array"]], dtype=float)
    part = _PARTS[described["part"]]
    return part(**{key: _unflatten(value, f"{name}/{key}", arrays) for key, value in described["fields"].items()})


def _require_current(path: Path, description: Mapping[str, Any]) -> None:
    again = (
        f"Train it again: edgeperf train --data DIR --device {description.get('device')} "
        f"--metric {description.get('metric')} --seed 0 --out DIR"
    )
    if description.get("format") != FORMAT_VERSION:
        raise IncompatibleData(f"{path}: format is {description.get('format')}, expected {FORMAT_VERSION}. {again}")
    if description.get("feature_schema") != FEATURE_SCHEMA or tuple(description["feature_names"]) != FEATURE_NAMES:
        raise IncompatibleData(
            f"{path}: feature schema is {description.get('feature_schema')} with {len(description['feature_names'])} "
            f"features, expected {FEATURE_SCHEMA} with {len(FEATURE_NAMES)}. {again}"
        )
    if tuple(description["descriptors"]) != (*DESCRIPTORS, *COMPOSITION):
        raise IncompatibleData(f"{path}: descriptors are {len(description['descriptors'])} others than these. {again}")
    if "libraries" in description:
        for library, version in _libraries().items():
            written = str(description["libraries"].get(library))
            if _minor(written) != _minor(version):
                raise IncompatibleData(f"{path}: written by {library} {written}, installed is {version}. {again}")


def _libraries() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("scikit-learn", "xgboost")}


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])


def _dump_estimator(estimator: Any) -> bytes:
    import skops.io

    return bytes(skops.io.dumps(estimator))


def _read_estimator(path: Path, description: Mapping[str, Any], data: bytes) -> FittedAlgorithm:
    import skops.io

    unknown = sorted(set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED))
    if unknown:
        raise InvalidInput(f"{path} holds types that no surrogate is made of: {', '.join(unknown)}. It is not loaded.")
    estimator = skops.io.loads(data, trusted=list(TRUSTED))
    return FittedAlgorithm(metric=description["metric"], selected=tuple(description["selected"]), estimator=estimator)


def _dump_arrays(arrays: Mapping[str, Any]) -> bytes:
    """Points and quantities in single precision, which is more than they were measured with; weights in double."""
    single = {name: array.astype(np.float32) if array.ndim == 2 else array for name, array in arrays.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **single)
    return buffer.getvalue()


def _load_arrays(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Adds a member with a fixed date, so that the same surrogate gives the same bytes."""
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST_MEMBER:
        raise ValueError(f"{name} is larger than {_LARGEST_MEMBER} bytes")
    return archive.read(name)
