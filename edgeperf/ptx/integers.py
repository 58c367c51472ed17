"""Integer instructions on whole arrays of threads, bit for bit as PTX defines them.

Arithmetic wraps around as the hardware does. What the table here does not hold is refused by name.

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, sections 9.7.1 (integer), 9.7.8 (logic and shift), 9.7.6
(comparison), 9.7.9 (moves and conversion).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from edgeperf.ptx import bits
from edgeperf.ptx.lattice import Array
from edgeperf.ptx.opcodes import Opcode
from edgeperf.ptx.words import SIGNED, UNSIGNED, as_signed, is_signed, numbers, resized, unsigned, width_of, zero

Evaluate = Callable[..., Array]
"""(opcode, source arrays) → result array."""


def _high_half(op: Opcode, a: Array, b: Array) -> Array:
    width = 8 * a.itemsize
    if width == 64:
        return _high_half_64(op, a, b)
    x, y = (value.astype(np.int64) for value in numbers(op, a, b))
    if not is_signed(op):
        x, y = a.astype(np.uint64), b.astype(np.uint64)
    return unsigned((x * y) >> width).astype(UNSIGNED[width])


def _high_half_64(op: Opcode, a: Array, b: Array) -> Array:
    """The upper 64 of 128 bits, by halves (Knuth, The Art of Computer Programming 2, 4.3.1)."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + ((a_low * b_low) >> half)
    cross = a_low * b_high + (middle & mask)
    high: Array = a_high * b_high + (middle >> half) + (cross >> half)
    if is_signed(op):
        high = high - np.where(as_signed(a) < 0, b, zero(b)) - np.where(as_signed(b) < 0, a, zero(a))
    return high


def _multiply(op: Opcode, a: Array, b: Array) -> Array:
    if "hi" in op.modifiers:
        return _high_half(op, a, b)
    if "wide" in op.modifiers:
        width = 16 * a.itemsize
        signed = is_signed(op)
        return resized(a, width, signed=signed) * resized(b, width, signed=signed)
    return a * b


def _magnitude(op: Opcode, value: Array) -> Array:
    return np.where(as_signed(value) < 0, zero(value) - value, value) if is_signed(op) else value


def _divide(op: Opcode, a: Array, b: Array) -> Array:
    """Quotient rounded towards zero; the caller has excluded divisors of zero where they count."""
    quotient = _magnitude(op, a) // np.maximum(_magnitude(op, b), 1)
    if not is_signed(op):
        return quotient
    return np.where((as_signed(a) < 0) != (as_signed(b) < 0), zero(quotient) - quotient, quotient)


def _remainder(op: Opcode, a: Array, b: Array) -> Array:
    remainder = _magnitude(op, a) % np.maximum(_magnitude(op, b), 1)
    return np.where(as_signed(a) < 0, zero(remainder) - remainder, remainder) if is_signed(op) else remainder


def _extreme(choose: Callable[[Array, Array], Array]) -> Evaluate:
    return lambda op, a, b: unsigned(choose(*numbers(op, a, b)))


def _absolute_difference(op: Opcode, a: Array, b: Array, c: Array) -> Array:
    x, y = numbers(op, a, b)
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
    return unsigned(np.clip(value, max(low, held.min), min(high, held.max)).astype(value.dtype))


_COMPARISONS: dict[str, tuple[Callable[..., Any], bool]] = {
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
_COMBINE: dict[str, Callable[..., Any]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def compare(op: Opcode, a: Array, b: Array, *combined: Array) -> Array:
    """The truth value of ``setp``, combined with another predicate where one is given."""
    comparison, always_unsigned = _COMPARISONS[op.modifiers[0]]
    x, y = (a, b) if always_unsigned else numbers(op, a, b)
    result: Array = comparison(x, y)
    for other in combined:
        result = _COMBINE[op.modifiers[1]](result, other)
    return result


def _set(op: Opcode, a: Array, b: Array, *combined: Array) -> Array:
    truth = compare(op, a, b, *combined)
    width = width_of(op.types[0])
    ones = np.full((1, 1, 1, 1), 2**width - 1, dtype=UNSIGNED[width])
    return np.where(truth, ones, zero(ones))


def _chosen(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


EVALUATE: dict[str, Evaluate] = {
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": _multiply,
    "mad": lambda op, a, b, c: _multiply(op, a, b) + c,
    "sad": _absolute_difference,
    "div": _divide,
    "rem": _remainder,
    "abs": _magnitude,
    "neg": lambda _, a: zero(a) - a,
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
    "and": lambda _, a, b: a & b,
    "or": lambda _, a, b: a | b,
    "xor": lambda _, a, b: a ^ b,
    "not": lambda _, a: ~a,
    "cnot": lambda _, a: (a == 0).astype(a.dtype),
    "shl": bits.shift_left,
    "shr": bits.shift_right,
    "shf": bits.funnel_shift,
    "bfe": bits.extract,
    "bfi": bits.insert,
    "bfind": bits.find_leading,
    "brev": bits.reverse,
    "popc": bits.population,
    "clz": bits.leading_zeros,
    "prmt": bits.permute,
    "lop3": bits.lookup,
    "setp": compare,
    "set": _set,
    "selp": lambda _, a, b, chosen: _chosen(chosen, a, b),
    "slct": lambda _, a, b, sign: _chosen(as_signed(sign) >= 0, a, b),
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
