"""A ``.h5`` model file → the text of its ``model_config`` attribute, and nothing else.

Reads the few structures on the way to one attribute of the root group, so that neither weights are touched nor the HDF5
library is loaded, which was never meant for files from strangers. Covers what h5py writes: superblocks 0 to 3, object
headers 1 and 2, string attributes of fixed and variable length.

Reference: The HDF Group, "HDF5 File Format Specification Version 3.0".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from edgeperf.errors import InvalidInput

SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"
MAX_BLOCKS: Final = 256
"""Blocks of one object header; files of Keras have one or two."""

_ATTRIBUTE: Final = 0x0C
_CONTINUATION: Final = 0x10
_FIXED_STRING: Final = 3
_VARIABLE_LENGTH: Final = 9


class _File:
    """Bytes of the file by address, with the file's own sizes of addresses and lengths."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._limit = limit
        self._end = file.seek(0, 2)
        self.base = 0
        self.address_size = 8
        self.length_size = 8

    def at(self, address: int, size: int) -> bytes:
        """`size` bytes at `address`."""
        if size > self._limit:
            raise InvalidInput(f"a structure claims {size} bytes, expected {self._limit} at most")
        start = self.base + address
        if start + size > self._end:
            raise InvalidInput("it ends early, or points outside itself")
        self._file.seek(start)
        return self._file.read(size)


class _Cursor:
    """Reads little-endian numbers one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise InvalidInput("a structure ends early")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def align(self, to: int = 8) -> None:
        self._at += -self._at % to

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def attribute_text(opened: BinaryIO, name: str, limit: int) -> bytes:
    """The string attribute `name` of the root group of an HDF5 file, of at most `limit` bytes.

    Raises:
        InvalidInput: the file is broken, or has no such attribute; the message leaves the file's name to the caller.
    """
    file = _File(opened, limit)
    for kind, data in _messages(file, _root_header(file)):
        if kind == _ATTRIBUTE:
            found, text = _attribute(file, data, name)
            if found:
                return text
    raise InvalidInput(f"it has no attribute {name!r}: weights alone hold no architecture. Save the whole model")


def _root_header(file: _File) -> int:
    """Address of the root group's object header; leaves the file's sizes in `file`."""
    cursor = _Cursor(file.at(0, 96))
    if cursor.take(len(SIGNATURE)) != SIGNATURE:
        raise InvalidInput("its signature is missing")
    version = cursor.number(1)
    if version > 3:
        raise InvalidInput(f"its superblock has version {version}, expected 3 at most")
    if version >= 2:
        file.address_size, file.length_size = cursor.number(1), cursor.number(1)
        cursor.take(1)
        base = cursor.number(file.address_size)
        cursor.take(2 * file.address_size)
    else:
        cursor.take(4)
        file.address_size, file.length_size = cursor.number(1), cursor.number(1)
        cursor.take(9 + 4 * version)
        base = cursor.number(file.address_size)
        cursor.take(3 * file.address_size + file.length_size)
    if file.address_size not in (4, 8) or file.length_size not in (4, 8):
        raise InvalidInput("its superblock is damaged")
    file.base = base
    return cursor.number(file.address_size)


def _messages(file: _File, header: int) -> Iterator[tuple[int, bytes]]:
    """(type, data) of every message of an object header, across its continuation blocks."""
    read = _modern_blocks if file.at(header, 4) == b"OHDR" else _classic_blocks
    return read(file, header)


def _classic_blocks(file: _File, header: int) -> Iterator[tuple[int, bytes]]:
    """Version 1: a prefix of 16 bytes, then messages that are padded to 8 bytes."""
    size = int.from_bytes(file.at(header, 16)[8:12], "little")
    blocks = [(header + 16, size)]
    for address, length in blocks:
        cursor = _Cursor(file.at(address, length))
        while cursor.left >= 8:
            kind, size = cursor.number(2), cursor.number(2)
            cursor.take(4)
            data = cursor.take(size)
            if kind == _CONTINUATION:
                _follow(file, blocks, data)
            yield kind, data


def _modern_blocks(file: _File, header: int) -> Iterator[tuple[int, bytes]]:
    """Version 2: signature and flags, then unpadded messages, then a checksum of 4 bytes."""
    prefix = _Cursor(file.at(header, 34))
    prefix.take(5)
    flags = prefix.number(1)
    skipped = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    prefix.take(skipped - 6)
    width = 1 << (flags & 3)
    blocks = [(header + skipped + width, prefix.number(width))]
    for number, (address, length) in enumerate(blocks):
        # Continuation blocks carry a signature before and a checksum behind the messages.
        cursor = _Cursor(file.at(address, length) if number == 0 else file.at(address + 4, max(length - 8, 0)))
        while cursor.left >= 4 + (2 if flags & 4 else 0):
            kind, size = cursor.number(1), cursor.number(2)
            cursor.take(3 if flags & 4 else 1)
            data = cursor.take(size)
            if kind == _CONTINUATION:
                _follow(file, blocks, data)
            yield kind, data


def _follow(file: _File, blocks: list[tuple[int, int]], message: bytes) -> None:
    cursor = _Cursor(message)
    block = (cursor.number(file.address_size), cursor.number(file.length_size))
    if len(blocks) >= MAX_BLOCKS or block in blocks:
        raise InvalidInput("its header runs in circles")
    blocks.append(block)


def _attribute(file: _File, message: bytes, wanted: str) -> tuple[bool, bytes]:
    """Whether an attribute message is the wanted one, and its text then."""
    cursor = _Cursor(message)
    version, _ = cursor.number(1), cursor.number(1)
    sizes = [cursor.number(2) for _ in range(3)]
    if version >= 3:
        cursor.take(1)
    parts = []
    for size in sizes:
        parts.append(cursor.take(size))
        if version == 1:
            cursor.align()
    name, datatype, _ = parts
    if name.rstrip(b"\0") != wanted.encode():
        return False, b""
    kind = datatype[0] & 0x0F if datatype else -1
    if kind == _FIXED_STRING:
        return True, cursor.take(int.from_bytes(datatype[4:8], "little")).rstrip(b"\0")
    if kind == _VARIABLE_LENGTH:
        length, address, index = cursor.number(4), cursor.number(file.address_size), cursor.number(4)
        return True, _heap_object(file, address, index)[:length]
    raise InvalidInput(f"its attribute {wanted!r} is no text")


def _heap_object(file: _File, address: int, index: int) -> bytes:
    """One object of a global heap collection."""
    header = _Cursor(file.at(address, 8 + file.length_size))
    if header.take(4) != b"GCOL":
        raise InvalidInput("its heap is damaged")
    header.take(4)
    size = header.number(file.length_size)
    cursor = _Cursor(file.at(address, size))
    cursor.take(8 + file.length_size)
    while cursor.left >= 8 + file.length_size:
        number = cursor.number(2)
        cursor.take(6)
        data = cursor.take(cursor.number(file.length_size))
        if number == index:
            return data
        if number == 0:
            break
        cursor.align()
    raise InvalidInput("its heap lacks an object")
