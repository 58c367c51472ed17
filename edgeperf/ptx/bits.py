"""Instructions that look at single bits: shifts, fields, counts, permutations; on whole arrays of threads.

Shifts by the width and more clamp instead of wrapping around.

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, sections 9.7.1 and 9.7.8.
"""

from __future__ import annotations

import numpy as np

from edgeperf.ptx.lattice import Array
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.words import as_signed, is_signed, unsigned, zero


def shift_left(_: Opcode, a: Array, amount: Array) -> Array:
    """``shl``."""
    width = 8 * a.itemsize
    kept = np.minimum(amount, width - 1).astype(a.dtype)
    return np.where(amount < width, a << kept, zero(a))


def shift_right(op: Opcode, a: Array, amount: Array) -> Array:
    """``shr``; the sign fills up where the type is signed."""
    width = 8 * a.itemsize
    kept = np.minimum(amount, width - 1).astype(a.dtype)
    if is_signed(op):
        return unsigned(as_signed(a) >> as_signed(kept))
    return np.where(amount < width, a >> kept, zero(a))


def funnel_shift(op: Opcode, low: Array, high: Array, amount: Array) -> Array:
    """``shf``: 32 bits cut out of two registers."""
    both = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    by = (np.minimum(amount, 32) if "clamp" in op.modifiers else amount & np.uint32(31)).astype(np.uint64)
    shifted = both >> by if "r" in op.modifiers else (both << by) >> np.uint64(32)
    return shifted.astype(np.uint32)


def _field(a: Array, start: Array, length: Array) -> tuple[Array, Array, Array]:
    """Position, a mask of as many low bits as the field holds, and its length; of the byte that PTX looks at."""
    width = 8 * a.itemsize
    start, length = start & np.uint32(255), length & np.uint32(255)
    inside = np.minimum(length, np.maximum(width - start.astype(np.int64), 0)).astype(np.uint32)
    ones = _shift_left_by(np.ones((1, 1, 1, 1), dtype=a.dtype), inside) - np.ones((1, 1, 1, 1), dtype=a.dtype)
    return start, ones, length


def _shift_left_by(a: Array, amount: Array) -> Array:
    width = 8 * a.itemsize
    return np.where(amount < width, a << np.minimum(amount, width - 1).astype(a.dtype), zero(a))


def extract(op: Opcode, a: Array, start: Array, length: Array) -> Array:
    """``bfe``."""
    width = 8 * a.itemsize
    start, ones, length = _field(a, start, length)
    kept = np.minimum(start, width - 1).astype(a.dtype)
    field = np.where(start < width, a >> kept, zero(a)) & ones
    if not is_signed(op):
        return field
    sign_at = np.minimum(start.astype(np.int64) + length.astype(np.int64) - 1, width - 1)
    sign = (a >> np.maximum(sign_at, 0).astype(a.dtype)) & a.dtype.type(1)
    return np.where((sign == 1) & (length > 0), field | ~ones, field)


def insert(_: Opcode, field: Array, into: Array, start: Array, length: Array) -> Array:
    """``bfi``."""
    start, ones, _length = _field(into, start, length)
    mask = _shift_left_by(ones, start)
    return (into & ~mask) | (_shift_left_by(field, start) & mask)


def population(_: Opcode, a: Array) -> Array:
    """``popc``."""
    return np.bitwise_count(a).astype(np.uint32)


def _smeared(a: Array) -> Array:
    """All bits from the highest set one downwards."""
    shift = 1
    while shift < 8 * a.itemsize:
        a = a | (a >> a.dtype.type(shift))
        shift *= 2
    return a


def leading_zeros(_: Opcode, a: Array) -> Array:
    """``clz``."""
    return np.uint32(8 * a.itemsize) - np.bitwise_count(_smeared(a)).astype(np.uint32)


def find_leading(op: Opcode, a: Array) -> Array:
    """``bfind``."""
    if is_signed(op):
        a = np.where(as_signed(a) < 0, ~a, a)
    place = np.bitwise_count(_smeared(a)).astype(np.uint32) - np.uint32(1)
    if "shiftamt" in op.modifiers:
        return np.where(a == 0, place, np.uint32(8 * a.itemsize - 1) - place)
    return place


def reverse(_: Opcode, a: Array) -> Array:
    """``brev``."""
    result = np.zeros_like(a)
    for bit in range(8 * a.itemsize):
        result |= ((a >> a.dtype.type(bit)) & a.dtype.type(1)) << a.dtype.type(8 * a.itemsize - 1 - bit)
    return result


def permute(_: Opcode, a: Array, b: Array, selector: Array) -> Array:
    """``prmt`` in its default mode."""
    both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
    result = np.zeros((1, 1, 1, 1), dtype=np.uint32)
    for place in range(4):
        choice = (selector >> np.uint32(4 * place)).astype(np.uint64)
        byte = (both >> (np.uint64(8) * (choice & np.uint64(7)))) & np.uint64(255)
        spread = np.where(byte >> np.uint64(7) == 1, np.uint64(255), np.uint64(0))
        byte = np.where(choice & np.uint64(8) == 8, spread, byte)
        result = result | (byte.astype(np.uint32) << np.uint32(8 * place))
    return result


def lookup(_: Opcode, a: Array, b: Array, c: Array, table: Array) -> Array:
    """``lop3``: each bit looked up in a table of eight."""
    bits = int(table.flat[0])
    result = np.zeros((1, 1, 1, 1), dtype=np.uint32)
    for entry in range(8):
        if bits >> entry & 1:
            result = result | ((a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c))
    return result
