"""Integer instructions on whole arrays of threads, bit for bit as PTX defines them.

Registers hold unsigned arrays of their width (predicates: booleans); arithmetic wraps as the hardware does. Shifts by
the width and more clamp instead of wrapping around. What a table here does not hold is refused by name.

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, sections 9.7.1 (integer), 9.7.8 (logic and shift), 9.7.6
(comparison), 9.7.9 (moves and conversion).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from edgeperf.ptx.lattice import Array
from edgeperf.ptx.opcodes import Opcode

UNSIGNED = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64)}
SIGNED = {8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: np.dtype(np.int32), 64: np.dtype(np.int64)}

Evaluate = Callable[..., Array]
"""(opcode, source arrays) → result array."""


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


def _is_signed(op: Opcode) -> bool:
    return op.types[-1].startswith("s")


def _numbers(op: Opcode, *values: Array) -> tuple[Array, ...]:
    """The values as numbers of the instruction's type."""
    return tuple(as_signed(value) for value in values) if _is_signed(op) else values


def _bits(value: Array) -> Array:
    return value.view(UNSIGNED[8 * value.itemsize])


def _high_half(op: Opcode, a: Array, b: Array) -> Array:
    width = 8 * a.itemsize
    if width == 64:
        return _high_half_64(op, a, b)
    x, y = (value.astype(np.int64) for value in _numbers(op, a, b))
    if not _is_signed(op):
        x, y = a.astype(np.uint64), b.astype(np.uint64)
    return _bits((x * y) >> width).astype(UNSIGNED[width])


def _high_half_64(op: Opcode, a: Array, b: Array) -> Array:
    """The upper 64 of 128 bits, by halves (Knuth, The Art of Computer Programming 2, 4.3.1)."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + ((a_low * b_low) >> half)
    cross = a_low * b_high + (middle & mask)
    high = a_high * b_high + (middle >> half) + (cross >> half)
    if not _is_signed(op):
        return high
    zero = np.uint64(0)
    return high - np.where(as_signed(a) < 0, b, zero) - np.where(as_signed(b) < 0, a, zero)


def _multiply(op: Opcode, a: Array, b: Array) -> Array:
    if "hi" in op.modifiers:
        return _high_half(op, a, b)
    if "wide" in op.modifiers:
        width = 16 * a.itemsize
        signed = _is_signed(op)
        return resized(a, width, signed=signed) * resized(b, width, signed=signed)
    return a * b


def _magnitude(op: Opcode, value: Array) -> Array:
    return np.where(as_signed(value) < 0, _zero(value) - value, value) if _is_signed(op) else value


def _zero(value: Array) -> Array:
    return np.zeros((1, 1, 1, 1), dtype=value.dtype)


def _divide(op: Opcode, a: Array, b: Array) -> Array:
    """Quotient rounded towards zero; the caller has excluded divisors of zero where they count."""
    quotient = _magnitude(op, a) // np.maximum(_magnitude(op, b), 1)
    if not _is_signed(op):
        return quotient
    return np.where((as_signed(a) < 0) != (as_signed(b) < 0), _zero(quotient) - quotient, quotient)


def _remainder(op: Opcode, a: Array, b: Array) -> Array:
    remainder = _magnitude(op, a) % np.maximum(_magnitude(op, b), 1)
    return np.where(as_signed(a) < 0, _zero(remainder) - remainder, remainder) if _is_signed(op) else remainder


def _extreme(choose: Callable[[Array, Array], Array]) -> Evaluate:
    return lambda op, a, b: _bits(choose(*_numbers(op, a, b)))


def _shift_left(_: Opcode, a: Array, amount: Array) -> Array:
    width = 8 * a.itemsize
    kept = np.minimum(amount, width - 1).astype(a.dtype)
    return np.where(amount < width, a << kept, _zero(a))


def _shift_right(op: Opcode, a: Array, amount: Array) -> Array:
    width = 8 * a.itemsize
    kept = np.minimum(amount, width - 1).astype(a.dtype)
    if _is_signed(op):
        return _bits(as_signed(a) >> as_signed(kept))
    return np.where(amount < width, a >> kept, _zero(a))


def _funnel_shift(op: Opcode, low: Array, high: Array, amount: Array) -> Array:
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
    return np.where(amount < width, a << np.minimum(amount, width - 1).astype(a.dtype), _zero(a))


def _extract(op: Opcode, a: Array, start: Array, length: Array) -> Array:
    width = 8 * a.itemsize
    start, ones, length = _field(a, start, length)
    kept = np.minimum(start, width - 1).astype(a.dtype)
    field = np.where(start < width, a >> kept, _zero(a)) & ones
    if not _is_signed(op):
        return field
    sign_at = np.minimum(start.astype(np.int64) + length.astype(np.int64) - 1, width - 1)
    sign = (a >> np.maximum(sign_at, 0).astype(a.dtype)) & a.dtype.type(1)
    return np.where((sign == 1) & (length > 0), field | ~ones, field)


def _insert(_: Opcode, field: Array, into: Array, start: Array, length: Array) -> Array:
    start, ones, _length = _field(into, start, length)
    mask = _shift_left_by(ones, start)
    return (into & ~mask) | (_shift_left_by(field, start) & mask)


def _population(_: Opcode, a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _smeared(a: Array) -> Array:
    """All bits from the highest set one downwards."""
    shift = 1
    while shift < 8 * a.itemsize:
        a = a | (a >> a.dtype.type(shift))
        shift *= 2
    return a


def _leading_zeros(_: Opcode, a: Array) -> Array:
    return np.uint32(8 * a.itemsize) - np.bitwise_count(_smeared(a)).astype(np.uint32)


def _find_leading(op: Opcode, a: Array) -> Array:
    if _is_signed(op):
        a = np.where(as_signed(a) < 0, ~a, a)
    place = np.bitwise_count(_smeared(a)).astype(np.uint32) - np.uint32(1)
    if "shiftamt" in op.modifiers:
        return np.where(a == 0, place, np.uint32(8 * a.itemsize - 1) - place)
    return place


def _reverse(_: Opcode, a: Array) -> Array:
    result = np.zeros_like(a)
    for bit in range(8 * a.itemsize):
        result |= ((a >> a.dtype.type(bit)) & a.dtype.type(1)) << a.dtype.type(8 * a.itemsize - 1 - bit)
    return result


def _permute(_: Opcode, a: Array, b: Array, selector: Array) -> Array:
    both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
    result = np.zeros((1, 1, 1, 1), dtype=np.uint32)
    for place in range(4):
        choice = (selector >> np.uint32(4 * place)).astype(np.uint64)
        byte = (both >> (np.uint64(8) * (choice & np.uint64(7)))) & np.uint64(255)
        spread = np.where(byte >> np.uint64(7) == 1, np.uint64(255), np.uint64(0))
        byte = np.where(choice & np.uint64(8) == 8, spread, byte)
        result = result | (byte.astype(np.uint32) << np.uint32(8 * place))
    return result


def _lookup(_: Opcode, a: Array, b: Array, c: Array, table: Array) -> Array:
    bits = int(table.flat[0])
    result = np.zeros((1, 1, 1, 1), dtype=np.uint32)
    for entry in range(8):
        if bits >> entry & 1:
            result = result | ((a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c))
    return result


def _absolute_difference(op: Opcode, a: Array, b: Array, c: Array) -> Array:
    x, y = _numbers(op, a, b)
    return c + np.where(x < y, b - a, a - b)


def _convert(op: Opcode, a: Array) -> Array:
    to, source = op.types
    width = width_of(to)
    if "sat" in op.modifiers:
        bounds = np.iinfo(SIGNED[width] if to.startswith("s") else UNSIGNED[width])
        a = _clamped(a, bounds.min, bounds.max, signed=source.startswith("s"))
    return resized(a, width, signed=source.startswith("s"))


def _clamped(a: Array, low: int, high: int, *, signed: bool) -> Array:
    held = np.iinfo(SIGNED[8 * a.itemsize] if signed else a.dtype)
    value = as_signed(a) if signed else a
    return _bits(np.clip(value, max(low, held.min), min(high, held.max)).astype(value.dtype))


_COMPARISONS: dict[str, tuple[Callable[[Array, Array], Array], bool]] = {
    "eq": (np.equal, False),
    "ne": (np.not_equal, False),
    "lt": (np.less, False),
    "le": (np.less_equal, False),
    "gt": (np.greater, False),
    "ge": (np.greater_equal, False),
    "lo": (np.less, True),
    "ls": (np.less_equal, True),
    "hi": (np.greater, True),
    "hs": (np.greater_equal, True),
}
COMPARISONS = frozenset(_COMPARISONS)
_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def compare(op: Opcode, a: Array, b: Array, *combined: Array) -> Array:
    """The truth value of ``setp``, combined with another predicate where one is given."""
    comparison, always_unsigned = _COMPARISONS[op.modifiers[0]]
    x, y = (a, b) if always_unsigned else _numbers(op, a, b)
    result = comparison(x, y)
    for other in combined:
        result = _COMBINE[op.modifiers[1]](result, other)
    return result


def _set(op: Opcode, a: Array, b: Array, *combined: Array) -> Array:
    truth = compare(op, a, b, *combined)
    width = width_of(op.types[0])
    return np.where(truth, UNSIGNED[width].type(2**width - 1), UNSIGNED[width].type(0))


EVALUATE: dict[str, Evaluate] = {
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": _multiply,
    "mad": lambda op, a, b, c: _multiply(op, a, b) + c,
    "sad": _absolute_difference,
    "div": _divide,
    "rem": _remainder,
    "abs": _magnitude,
    "neg": lambda _, a: _zero(a) - a,
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
    "and": lambda _, a, b: a & b,
    "or": lambda _, a, b: a | b,
    "xor": lambda _, a, b: a ^ b,
    "not": lambda _, a: ~a,
    "cnot": lambda _, a: (a == 0).astype(a.dtype),
    "shl": _shift_left,
    "shr": _shift_right,
    "shf": _funnel_shift,
    "bfe": _extract,
    "bfi": _insert,
    "bfind": _find_leading,
    "brev": _reverse,
    "popc": _population,
    "clz": _leading_zeros,
    "prmt": _permute,
    "lop3": _lookup,
    "setp": compare,
    "set": _set,
    "selp": lambda _, a, b, p: np.where(p, a, b),
    "slct": lambda _, a, b, c: np.where(as_signed(c) >= 0, a, b),
    "mov": lambda _, a: a,
    "cvta": lambda _, a: a,
    "cvt": _convert,
}
"""Opcode → what it computes."""

SOURCES: dict[str, int | None] = {
    name: None if name in ("setp", "set") else len(inspect.signature(function).parameters) - 1
    for name, function in EVALUATE.items()
}
"""Opcode → how many operands it reads; None where that varies."""
