"""Measurements and recordings on disk: each file appears whole or not at all, and what is finished stays.

A campaign's folder::

    campaign.json            what was asked for, and what measures
    measurements/KEY.json    one finished measurement, failures included
    raw/KEY.json.gz          its recording, kept so that a better parser re-applies
    networks/MODEL.json      the architecture of each network, at any of its sizes
    networks/KEY.json        the same at one size, where its layers name sizes and cannot be read at another

A recording is written before its measurement, and both are synchronised to disk before the board forgets its copy.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.network import read_network
from edgeperf.profilers.items import Item, file_name
from edgeperf.profilers.sensors import Sensor
from edgeperf.records import Device, Gpu, Measurement, Plan

FORMAT = 1
"""Version of the files in `measurements` and `raw`. 1: first version."""
_REPEATED = "its measurements will be repeated"


_NOTED_LATER = frozenset({"env"})
"""What campaigns that were begun earlier did not note; they go on with anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One measurement with what a dataset wants to know of its network.

    Attributes:
        key: unique in the campaign; names the files.
        model: name of the network without its size.
        family: of the zoo; None for a user's own file.
        input_size: height and width in pixels.
        measurement: labels, status and verdicts.
    """

    key: str
    model: str
    family: str | None
    input_size: int
    measurement: Measurement


class Store:
    """The folder of one campaign.

    Raises:
        InvalidInput: there can be no such folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            for name in ("measurements", "raw", "networks"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise _unusable(folder, problem) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other campaigns out of this folder.

        Raises:
            InvalidInput: one is at work there, or nothing can be written.
        """
        try:
            lock = (self.folder / ".lock").open("w")
        except OSError as problem:
            raise _unusable(self.folder, problem) from None
        with lock as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidInput(
                    f"Another campaign writes to {self.folder}. Wait for it, or choose another --out."
                ) from None
            yield

    def agree(self, asked: Mapping[str, Any], *, resume: bool) -> None:
        """Notes what is asked for, or checks that it is what was begun.

        Raises:
            InvalidInput: there are measurements, but `resume` is not set; or what was begun cannot be read.
            IncompatibleData: what was begun is something else.
        """
        path, asked = self.folder / "campaign.json", json.loads(json.dumps(asked))
        count = sum(1 for _ in (self.folder / "measurements").glob("*.json"))
        if count and not resume:
            raise InvalidInput(
                f"{self.folder} holds {count} finished measurement(s). Go on with --resume, or choose another --out."
            )
        measured_by: Mapping[str, str] = {}
        if count and path.exists():
            with _readable(path, "what was asked for before is not compared then, so ask for the same"):
                begun = _json_object(path)
                measured_by = dict(begun.get("measured_by", {}))
            for name, value in asked.items():
                if name in begun or name not in _NOTED_LATER:
                    self._check(name, begun.get(name), value, "Ask for the same")
        write_atomically(path, json.dumps({**asked, "measured_by": measured_by}, indent=1).encode())

    def same(self, **found: str | None) -> None:
        """Notes what measures, or checks that it is what has measured so far; None = not known, which is not checked.

        Raises:
            IncompatibleData: it is something else.
        """
        path = self.folder / "campaign.json"
        with (self.folder / ".measured-by.lock").open("w") as handle:  # the workers of a campaign share its folder
            fcntl.flock(handle, fcntl.LOCK_EX)
            begun = json.loads(path.read_text(encoding="utf-8"))
            known = begun.get("measured_by", {})
            for name, value in found.items():
                if value is not None:
                    self._check(name, known.setdefault(name, value), value, "Measure with the same")
            write_atomically(path, json.dumps({**begun, "measured_by": known}, indent=1).encode())

    def _check(self, name: str, begun: object, wanted: object, advice: str) -> None:
        if begun != wanted:
            raise IncompatibleData(
                f"Cannot go on in {self.folder}: {name} differs ({begun!r} and {wanted!r}). "
                f"{advice}, or choose another --out."
            )

    def keys(self) -> frozenset[str]:
        """Keys of the measurements that are finished; those whose board vanished are tried again."""
        return frozenset(done.key for done in self.finished() if done.measurement.status != "gone")

    def finished(self) -> Iterator[Finished]:
        """All measurements, by key.

        Raises:
            InvalidInput: a file is damaged.
        """
        for path in sorted((self.folder / "measurements").glob("*.json")):
            yield _finished(path)

    def get(self, key: str) -> Finished | None:
        """One measurement; None where it is not finished, or its board had vanished.

        Raises:
            InvalidInput: its file is damaged.
        """
        path = self.folder / "measurements" / f"{key}.json"
        if not path.exists():
            return None
        done = _finished(path)
        return None if done.measurement.status == "gone" else done

    def keep_network(self, item: Item, config: Mapping[str, Any]) -> None:
        """Puts the architecture of a network on disk, one file for all its sizes where that can be."""
        path = self.folder / network_file(item.model)
        if path.exists() and not _can_be_read_at(path, item.input_size):
            path = self.folder / network_file(item.key)
        if not path.exists():
            write_atomically(path, json.dumps(config, separators=(",", ":")).encode())

    def network_of(self, done: Finished) -> str | None:
        """Path, in this folder, of the architecture of a measured network; None where none was kept."""
        found = (network_file(name) for name in (done.key, done.model))
        return next((path for path in found if (self.folder / path).exists()), None)

    def keep_recording(self, key: str, recording: Mapping[str, Any], sensor: Sensor) -> None:
        """Puts on disk what the device sent."""
        raw = {"format": FORMAT, "recording": recording, "sensor": asdict(sensor)}
        write_atomically(self.folder / "raw" / f"{key}.json.gz", gzip.compress(json.dumps(raw).encode(), mtime=0))

    def save(self, done: Finished) -> None:
        """Puts a measurement on disk: from here on it is finished."""
        row = {
            "format": FORMAT,
            "model": done.model,
            "family": done.family,
            "input_size": done.input_size,
            "measurement": done.measurement.to_dict(),
        }
        write_atomically(self.folder / "measurements" / f"{done.key}.json", json.dumps(row, indent=1).encode())

    def recording(self, key: str) -> tuple[Mapping[str, Any], Sensor] | None:
        """The recording of a finished measurement and the sensor that it was made with; None where none was kept.

        Raises:
            InvalidInput: its file is damaged.
        """
        path = self.folder / "raw" / f"{key}.json.gz"
        if not path.exists():
            return None
        with _readable(path, "its labels stay, and its traces are lost"), gzip.open(path) as stream:
            raw = json.load(stream)
            return raw["recording"], Sensor(**raw["sensor"])


def network_file(name: str) -> str:
    """Path, in a campaign's folder, of the architecture of a model, or of the network with that key."""
    return f"networks/{file_name(name)}.json"


def _unusable(folder: Path, problem: OSError) -> InvalidInput:
    return InvalidInput(
        f"{folder} cannot hold a campaign: {problem.strerror or problem}. Expected a folder that is there or can be "
        "made, and can be written to: choose another --out."
    )


def _can_be_read_at(path: Path, input_size: int | None) -> bool:
    try:
        read_network(path, input_size)
    except InvalidInput:
        return False
    return True


def _finished(path: Path) -> Finished:
    row = _known_object(path, FORMAT)
    with _readable(path, _REPEATED):
        measurement = row["measurement"]
        gpu = measurement["device"]["gpu"]
        device = Device(**{**measurement["device"], "gpu": Gpu(**gpu) if gpu else None})
        known = {
            **measurement,
            "device": device,
            "plan": Plan(**measurement["plan"]),
            "warnings": tuple(measurement["warnings"]),
        }
        return Finished(
            key=path.stem,
            model=row["model"],
            family=row["family"],
            input_size=row["input_size"],
            measurement=Measurement(**known),
        )


def operation_rows(path: Path, known_format: int) -> list[dict[str, Any]]:
    """The rows in one file of measured operations, each with its key, status and batch size.

    Raises:
        InvalidInput: the file is damaged.
        IncompatibleData: its format is newer than the known one.
    """
    content = _known_object(path, known_format)
    with _readable(path, _REPEATED):
        rows: list[dict[str, Any]] = content["rows"]
        for row in rows:
            str(row["key"]), str(row["status"]), int(row["batch_size"])
        return rows


def _known_object(path: Path, known_format: int) -> dict[str, Any]:
    with _readable(path, _REPEATED):
        found = _json_object(path)
        written = int(found["format"])
    if written > known_format:
        raise IncompatibleData(
            f"{path} has the format {written}; this edgeperf reads formats up to {known_format}. Update edgeperf, or "
            "choose another --out."
        )
    return found


@contextmanager
def _readable(path: Path, then: str) -> Iterator[None]:
    """Makes one message of whatever a damaged file leads to in the block; `then` follows "delete it"."""
    try:
        yield
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zlib.error) as problem:
        raise InvalidInput(
            f"{path} cannot be read ({type(problem).__name__}: {problem}). If it is damaged, delete it: {then}."
        ) from None


def _json_object(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise TypeError(f"{type(found).__name__} instead of an object")
    return found


def write_atomically(path: Path, content: bytes) -> None:
    """Writes the whole file or nothing, and does not return before it would survive a power cut."""
    # Not by `tempfile`, whose files are their owner's alone: who may read the folder may read what is in it.
    partial = path.with_name(f".part-{uuid.uuid4().hex}")
    try:
        with partial.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
