"""Compiled networks: a bundle file, a folder or a single PTX file → `Bundle`, and back.

A bundle is an xz-compressed tar archive that holds the PTX of a network, its launches (XLA's ``*thunk_sequence.txt`` or
``launches.json``) and, where edgeperf wrote it, ``bundle.json`` with network, compiler and flags. Bundles come from
strangers: they are read in memory, within limits, and nothing is extracted to disk.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import struct
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.ptx.launches import LaunchList, parse_launch_list, parse_thunks, to_entries

MOST_COMPRESSED_BYTES = 64 * 1024**2
MOST_BYTES = 512 * 1024**2
MOST_MEMBERS = 20_000
LZMA_MEMORY_BYTES = 256 * 1024**2

METADATA = "bundle.json"
LAUNCHES = "launches.json"
FORMAT = 1
"""Of ``bundle.json``. 1: network, compiler (name, versions, flags), library_calls."""

_TAR_ERRORS = (
    tarfile.TarError,
    lzma.LZMAError,
    EOFError,
    ValueError,
    OverflowError,
    IndexError,
    KeyError,
    struct.error,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One network, compiled for one architecture.

    Attributes:
        network: its name.
        texts: file name → PTX text; empty files are left out.
        launches: what is launched.
        compiler: name, versions and flags; counts belong to them. None where the source does not say.
    """

    network: str
    texts: Mapping[str, str]
    launches: LaunchList
    compiler: Mapping[str, Any] | None = field(default=None)


def read_bundle(path: str | os.PathLike[str], *, launches: str | os.PathLike[str] | None = None) -> Bundle:
    """The compiled network at a path.

    Args:
        path: ``*.tar.xz``, a folder with PTX and launches, or one ``*.ptx``.
        launches: a launch list as in `edgeperf.ptx.launches`; for a ``.ptx`` file by default the file of the same name
            with the suffix ``.launches.json``.

    Raises:
        InvalidInput: there is nothing to read, or it is damaged or too large.
    """
    path = Path(path)
    own = None if launches is None else parse_launch_list(_read_text(Path(launches)))
    if path.is_dir():
        members = _folder(path)
    elif path.name.endswith(".ptx"):
        beside = path.with_suffix(".launches.json")
        members = {path.name: _read_text(path)}
        if own is None:
            members[LAUNCHES] = _read_text(beside)
    elif path.name.endswith((".tar.xz", ".txz")):
        members = _archive(path)
    else:
        raise InvalidInput(f"{path} is no compiled network. Expected a .tar.xz bundle, a folder, or a .ptx file.")
    return _bundle(members, path, own)


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidInput(f"{path} is larger than {MOST_BYTES} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error


def _wanted(name: str) -> bool:
    return name.endswith((".ptx", "thunk_sequence.txt")) or name in (METADATA, LAUNCHES)


def _folder(path: Path) -> dict[str, str]:
    files = sorted(file for file in path.iterdir() if _wanted(file.name) and file.is_file())
    if len(files) > MOST_MEMBERS:
        raise InvalidInput(f"{path} holds more than {MOST_MEMBERS} files.")
    return {file.name: _read_text(file) for file in files}


def _archive(path: Path) -> dict[str, str]:
    try:
        compressed = path.read_bytes() if path.stat().st_size <= MOST_COMPRESSED_BYTES else None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error
    if compressed is None:
        raise InvalidInput(f"{path} is larger than {MOST_COMPRESSED_BYTES} bytes.")
    try:
        return _members(_decompressed(compressed))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    except (*_TAR_ERRORS, OSError, RecursionError, MemoryError) as error:
        raise InvalidInput(f"{path} is no bundle, or it is damaged: {error}.") from error


def _decompressed(compressed: bytes) -> bytes:
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=LZMA_MEMORY_BYTES)
    content = decompressor.decompress(compressed, max_length=MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"it unpacks to more than {MOST_BYTES} bytes.")
    if not decompressor.eof:
        raise InvalidInput("it is cut short.")
    return content


def _members(content: bytes) -> dict[str, str]:
    members: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for count, member in enumerate(archive, start=1):
            if count > MOST_MEMBERS:
                raise InvalidInput(f"it holds more than {MOST_MEMBERS} members.")
            name = PurePosixPath(member.name).name
            if not member.isfile() or not _wanted(name):
                continue
            if name in members:
                raise InvalidInput(f"it holds {name} twice.")
            file = archive.extractfile(member)
            if file is not None:
                members[name] = file.read().decode("utf-8")
    return members


def _bundle(members: dict[str, str], path: Path, own: LaunchList | None) -> Bundle:
    metadata = _metadata(members.get(METADATA))
    texts = {name: text for name, text in members.items() if name.endswith(".ptx") and text.strip()}
    if not texts:
        raise InvalidInput(f"{path} holds no PTX.")
    thunks = [text for name, text in members.items() if name.endswith("thunk_sequence.txt")]
    if own is not None:
        launches = own
    elif LAUNCHES in members:
        launches = parse_launch_list(members[LAUNCHES])
    elif len(thunks) == 1:
        launches = parse_thunks(thunks[0])
    else:
        raise InvalidInput(f"{path} must hold {LAUNCHES} or one *thunk_sequence.txt; it holds {len(thunks)} of these.")
    calls = metadata.get("library_calls", launches.library_calls)
    return Bundle(
        network=str(metadata.get("network", _stem(path))),
        texts=texts,
        launches=LaunchList(launches=launches.launches, library_calls=tuple(map(str, calls))),
        compiler=metadata.get("compiler"),
    )


def _stem(path: Path) -> str:
    """The network's name where only the file's is known: ``MobileNet-sm53.tar.xz`` holds MobileNet."""
    stem = path.name.removesuffix(".tar.xz").removesuffix(".txz").removesuffix(".ptx")
    head, separator, tail = stem.rpartition("-sm")
    return head if separator and tail.strip("_").isalnum() else stem


def _metadata(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{METADATA} is not JSON: {error}.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidInput(f"{METADATA} is of a format that this version does not read; it reads format {FORMAT}.")
    calls, compiler = found.get("library_calls", []), found.get("compiler")
    if not isinstance(calls, list) or not (compiler is None or isinstance(compiler, dict)):
        raise InvalidInput(f"{METADATA} must hold a list library_calls and an object compiler.")
    return found


def write_bundle(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """Writes a bundle that `read_bundle` reads, whole or not at all; equal bundles give equal bytes."""
    path = Path(path)
    metadata = {
        "format": FORMAT,
        "network": bundle.network,
        "compiler": bundle.compiler,
        "library_calls": list(bundle.launches.library_calls),
    }
    members = {
        METADATA: json.dumps(metadata, indent=1, sort_keys=True),
        LAUNCHES: json.dumps(to_entries(bundle.launches)),
        **bundle.texts,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for name, text in sorted(members.items()):
            data = text.encode("utf-8")
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_bytes(lzma.compress(buffer.getvalue(), format=lzma.FORMAT_XZ))
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
