"""Protocol Buffers on the wire → fields, one after the other, without copying what nobody asks for.

A reader of the encoding alone: it knows nothing of ONNX, never follows a reference, and skips a payload by adding its
length, so that weights are not even loaded from disk when the buffer is a memory map.

Reference: https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from edgeperf.errors import InvalidInput

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5

Field = tuple[int, "int | memoryview"]
"""Number of the field, and its value: an integer, or the bytes of a text, a message or packed numbers."""


def fields(data: memoryview) -> Iterator[Field]:
    """The fields of one message in order.

    Raises:
        InvalidInput: the bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire_type == _LENGTH:
            size, at = _varint(data, at)
        elif wire_type in (_FIXED64, _FIXED32):
            size = 8 if wire_type == _FIXED64 else 4
        else:
            raise InvalidInput(f"a field has the unknown wire type {wire_type}")
        if at + size > end or number == 0:
            raise InvalidInput("a field ends outside its message")
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """An unsigned integer of up to 64 bits and the position behind it."""
    value = shift = 0
    for position in range(at, min(at + 10, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise InvalidInput("a number does not end")


def signed(value: int) -> int:
    """An unsigned 64-bit integer as the signed one that it encodes."""
    return value - (1 << 64) if value >= 1 << 63 else value


def integers(value: int | memoryview) -> list[int]:
    """Signed integers of a repeated field, packed or one."""
    if isinstance(value, int):
        return [signed(value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(signed(number))
    return numbers


def number32(value: int | memoryview) -> float:
    """A 32-bit floating-point number."""
    return float(struct.unpack("<f", message(value))[0]) if len(message(value)) == 4 else 0.0


def text(value: int | memoryview) -> str:
    """A text; what is no UTF-8 is replaced."""
    return bytes(message(value)).decode("utf-8", "replace")


def message(value: int | memoryview) -> memoryview:
    """The bytes of a message.

    Raises:
        InvalidInput: the field is a number.
    """
    if isinstance(value, int):
        raise InvalidInput("a number stands where a message belongs")
    return value
