"""A file, a JSON text, a configuration or a live model → `Network`, by what the source is."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.assemble import Assembler
from edgeperf.network.keras_config import network_from_config
from edgeperf.records import Network, Shape

MAX_CONFIG_BYTES: Final = 64 * 2**20
"""Largest configuration that is read; that of a network with 10,000 layers has about 10 MB."""


def read_network(
    source: Any, input_size: int | tuple[int, int] | None = None, *, assembler: Assembler | None = None
) -> Network:
    """The network of a model, with every shape inferred.

    Args:
        source: path of a ``.keras`` or ``.json`` file, a JSON text, a configuration as a dictionary, or a live
            `keras.Model`.
        input_size: height and width of the image inputs in pixels, or (height, width); the model's own where None.
        assembler: takes the calls of layers, for who wants more than the network; a plain one where None.

    Raises:
        InvalidInput: no such file, or it does not hold a model that can be read.
        UnsupportedLayer: the model holds layers of kinds that edgeperf does not know.
    """
    size = _size(input_size)
    if isinstance(source, Mapping):
        return network_from_config(source, input_size=size, assembler=assembler)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return network_from_config(_parsed(source, "The text"), input_size=size, assembler=assembler)
    if isinstance(source, (str, Path)):
        path = Path(source)
        return network_from_config(
            _read_file(path), name=path.stem, input_size=size, file=path.name, assembler=assembler
        )
    if callable(getattr(source, "to_json", None)):
        return network_from_config(_parsed(source.to_json(), "The model"), input_size=size, assembler=assembler)
    raise InvalidInput(f"A model was expected: a path, JSON, or a Keras model; got {type(source).__name__}.")


def _size(value: int | tuple[int, int] | None) -> Shape | None:
    if value is None:
        return None
    size = (value, value) if isinstance(value, int) else tuple(value)
    if len(size) != 2 or not all(isinstance(each, int) and 1 <= each <= 2**20 for each in size):
        raise InvalidInput(f"input_size is {value!r}, expected pixels or (height, width) in pixels.")
    return size


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        if zipfile.is_zipfile(path):
            return _parsed(_keras_archive_config(path), path.name)
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(content) > MAX_CONFIG_BYTES:
        raise InvalidInput(f"{path} is larger than {MAX_CONFIG_BYTES} bytes; expected a model's JSON.")
    return _parsed(content, path.name)


def _keras_archive_config(path: Path) -> bytes:
    """``config.json`` of a ``.keras`` archive, read into memory and never beyond its limit."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("config.json") as member:
            content = member.read(MAX_CONFIG_BYTES + 1)
    except (KeyError, RuntimeError, zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path.name} is no readable .keras file ({error}); save the model again.") from error
    if len(content) > MAX_CONFIG_BYTES:
        raise InvalidInput(f"{path.name} holds a config.json of more than {MAX_CONFIG_BYTES} bytes.")
    return content


def _parsed(text: str | bytes, what: str) -> Mapping[str, Any]:
    try:
        model = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is no model file: it holds no JSON ({error}). Expected .keras or .json.") from error
    if not isinstance(model, dict) or not isinstance(model.get("class_name"), str) or "config" not in model:
        raise InvalidInput(f"{what} holds JSON, but no Keras model: class_name and config are missing.")
    return model
