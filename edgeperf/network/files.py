"""A model file of any kind → what it is, and the configuration that it holds.

Files come from strangers: the content decides, never the name; nothing is unpacked to disk, no weight is read, and
every read has a limit.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from edgeperf.errors import InvalidInput
from edgeperf.network.hdf5 import SIGNATURE, attribute_text

MAX_CONFIG_BYTES: Final = 16 * 2**20
"""Largest configuration that is read; that of a network with 10,000 layers has about 10 MB."""

MAX_DIRECTORY_BYTES: Final = 4 * 2**20
"""Largest table of contents of an archive; that of a ``.keras`` file has some hundred bytes."""

_ARCHIVE_ERRORS: Final = (
    KeyError,
    RuntimeError,
    ValueError,
    EOFError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)
_ARCHIVE_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
EXPECTED: Final = "Expected a .keras, .h5, .onnx file or the JSON of model.to_json()."
CLOSED_ON_READING: Final = "Give height and width with --input-size PIXELS, or in Python with input_size=(H, W)"
CLOSED_IN_THE_MODEL: Final = "Only height and width of an image can be given on reading: fix the others in the model"
"""What to do about open sizes of an input."""


def keras_config(path: Path) -> Mapping[str, Any] | None:
    """The configuration in a Keras file (``.keras``, ``.h5``, JSON); None where the file is none of them.

    Raises:
        InvalidInput: the file cannot be read, or is broken.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a directory. {EXPECTED} Save a SavedModel again as .keras.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
            if start == SIGNATURE:
                return parsed(attribute_text(file, "model_config", MAX_CONFIG_BYTES), path.name)
            if start.startswith(_ARCHIVE_STARTS):
                return parsed(_archived_config(file, path.name), path.name)
            if start.lstrip()[:1] not in (b"{", b"[") and not start.startswith(b"\xef\xbb\xbf"):
                return None
            return parsed(_limited(start + file.read(MAX_CONFIG_BYTES), path.name), path.name)
    except InvalidInput as error:
        raise _named(error, path) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def parsed(text: str | bytes, what: str) -> Mapping[str, Any]:
    """A model's entry from its JSON text.

    Raises:
        InvalidInput: it is no JSON, or no model.
    """
    try:
        model = _decoded(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is no model file: its JSON cannot be read ({error}). {EXPECTED}") from error
    if not isinstance(model, dict) or not isinstance(model.get("class_name"), str) or "config" not in model:
        raise InvalidInput(f"{what} holds JSON, but no Keras model: class_name and config are missing. {EXPECTED}")
    return model


def _decoded(text: str | bytes) -> Any:
    """JSON → Python values. What orjson refuses and Keras may write (NaN, Infinity) goes to the slower decoder."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def _archived_config(file: BinaryIO, name: str) -> bytes:
    """``config.json`` of a ``.keras`` archive."""
    _check_directory(file)
    try:
        with zipfile.ZipFile(file) as archive:
            member = archive.getinfo("config.json")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InvalidInput("its config.json is packed in a way that Keras does not use.")
            with archive.open(member) as opened:
                return _limited(opened.read(MAX_CONFIG_BYTES + 1), name)
    except _ARCHIVE_ERRORS as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"it is no readable .keras archive ({error}). Save the model again with Keras.") from error


def _check_directory(file: BinaryIO) -> None:
    """Refuses archives without a table of contents, or with one that alone would take long to read."""
    size = file.seek(0, 2)
    file.seek(max(size - 65557, 0))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        raise InvalidInput(
            "it is damaged or incomplete: an archive ends with a table of contents, and it has none. Copy or download "
            "it again, or save the model again with Keras."
        )
    claimed = int.from_bytes(tail[end + 12 : end + 16], "little")
    if claimed > MAX_DIRECTORY_BYTES:
        raise InvalidInput(f"its table of contents has {claimed} bytes, expected {MAX_DIRECTORY_BYTES} at most.")


def _limited(content: bytes, name: str) -> bytes:
    if len(content) > MAX_CONFIG_BYTES:
        raise InvalidInput(f"{name} holds a configuration of more than {MAX_CONFIG_BYTES} bytes, which no model has.")
    return content


def _named(error: InvalidInput, path: Path) -> InvalidInput:
    """The error with the file's name in front, once."""
    text = str(error)
    return error if text.startswith((str(path), path.name)) else InvalidInput(f"{path.name}: {text}")
