"""Registers as NumPy arrays: widths, signs, extension.

A register holds an unsigned array of its width (predicates: booleans); signed numbers are views of the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeperf.ptx.lattice import Array
from edgeperf.ptx.opcodes import Opcode

UNSIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
SIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}


def width_of(kind: str) -> int:
    """Bits of a type, e.g. 32 for ``"u32"``; 1 for ``"pred"``."""
    return 1 if kind == "pred" else int(kind.lstrip("bsuf"))


def as_signed(value: Array) -> Array:
    """The same bits as two's complement numbers."""
    return value.view(SIGNED[8 * value.itemsize])


def resized(value: Array, width: int, *, signed: bool) -> Array:
    """The value in another width: cut off, or extended by its sign or by zeros."""
    if value.dtype == np.bool_ or 8 * value.itemsize == width:
        return value
    return (
        (as_signed(value) if signed else value)
        .astype(SIGNED[width] if signed else UNSIGNED[width])
        .view(UNSIGNED[width])
    )


def is_signed(op: Opcode) -> bool:
    """Whether the instruction's last type is signed."""
    return op.types[-1].startswith("s")


def numbers(op: Opcode, *values: Array) -> tuple[Array, ...]:
    """The values as numbers of the instruction's type."""
    return tuple(as_signed(value) for value in values) if is_signed(op) else values


def unsigned(value: Array) -> Array:
    """The same bits as unsigned numbers."""
    return value.view(UNSIGNED[8 * value.itemsize])


def zero(value: Array) -> Array:
    """One zero of the value's width."""
    return np.zeros((1, 1, 1, 1), dtype=value.dtype)
