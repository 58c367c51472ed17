"""Floating-point instructions on bit patterns; rounding is to nearest, special functions are Python's.

Precise enough to run kernels to their end; counts never depend on the last digit, since branches that depend on loaded
data are refused by the analyzer that this judges.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_INFINITY = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}


def number(bits: int, width: int) -> float:
    """The number that a bit pattern stands for."""
    to, source = _FORMATS[width]
    value: float = struct.unpack(to, struct.pack(source, bits))[0]
    return value


def bits(value: float, width: int) -> int:
    """The bit pattern nearest to a number."""
    to, source = _FORMATS[width]
    try:
        pattern: int = struct.unpack(source, struct.pack(to, value))[0]
    except OverflowError:
        pattern = _INFINITY[width] | (1 << width - 1 if value < 0 else 0)
    return pattern


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def _root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _logarithm(a: float) -> float:
    if a > 0:
        return math.log2(a)
    return -math.inf if a == 0 else math.nan


def _power_of_two(a: float) -> float:
    if math.isnan(a):
        return a
    return math.inf if a > 1023 else 2.0**a


def _product(a: float, b: float) -> float:
    return a * b


def _smaller(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min(a, b)


def _larger(a: float, b: float) -> float:
    return -_smaller(-a, -b)


def _periodic(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: function(a) if math.isfinite(a) else math.nan


FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": _product,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "div": _quotient,
    "min": _smaller,
    "max": _larger,
    "abs": abs,
    "neg": lambda a: -a,
    "copysign": lambda a, b: math.copysign(b, a),
    "rcp": lambda a: _quotient(1.0, a),
    "sqrt": _root,
    "rsqrt": lambda a: _quotient(1.0, _root(a)),
    "sin": _periodic(math.sin),
    "cos": _periodic(math.cos),
    "tanh": math.tanh,
    "lg2": _logarithm,
    "ex2": _power_of_two,
}
"""Opcode → what it computes."""

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b and not math.isnan(a) and not math.isnan(b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "num": lambda a, b: not math.isnan(a) and not math.isnan(b),
    "nan": lambda a, b: math.isnan(a) or math.isnan(b),
}
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}


def compare(word: str, a: float, b: float) -> bool:
    """A floating-point comparison; the forms that end in u are true where a number is not one."""
    if word in _UNORDERED:
        return math.isnan(a) or math.isnan(b) or _ORDERED[_UNORDERED[word]](a, b)
    return _ORDERED[word](a, b)


def to_integer(value: float, low: int, high: int) -> int:
    """Cut off towards zero and held inside a range, as conversions do; 0 for what is no number."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)
