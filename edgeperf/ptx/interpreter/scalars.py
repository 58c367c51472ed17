"""Integer instructions on single Python integers, written from the PTX manual and not from the analyzer's tables.

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, sections 9.7.1, 9.7.6, 9.7.8 (pseudo-code of each instruction).
"""

from __future__ import annotations

from collections.abc import Callable


def signed(value: int, width: int) -> int:
    """The number that the bits stand for in two's complement."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _divide(a: int, b: int) -> int:
    return _truncated(a, b) if b else -1


def _remainder(a: int, b: int) -> int:
    return a - b * _truncated(a, b) if b else a


def shift_left(a: int, amount: int, width: int) -> int:
    """Bits moved up; nothing is left from the width on."""
    return a << amount if amount < width else 0


def shift_right(a: int, amount: int, width: int) -> int:
    """Bits moved down; Python's shift of a negative number fills with its sign as PTX does."""
    return a >> min(amount, width)


def funnel(low: int, high: int, amount: int, *, right: bool, clamp: bool) -> int:
    """The 32 bits that ``shf`` cuts out of two registers."""
    by = min(amount, 32) if clamp else amount & 31
    both = high << 32 | low
    return both >> by & 0xFFFFFFFF if right else both << by >> 32 & 0xFFFFFFFF


def extract(a: int, position: int, length: int, width: int, *, is_signed: bool) -> int:
    """``bfe``, bit by bit as the manual writes it."""
    position, length = position & 255, length & 255
    top = width - 1
    fill = a >> min(position + length - 1, top) & 1 if is_signed and length else 0
    result = 0
    for place in range(width):
        inside = place < length and position + place <= top
        result |= (a >> position + place & 1 if inside else fill) << place
    return result


def insert(field: int, into: int, position: int, length: int, width: int) -> int:
    """``bfi``, bit by bit as the manual writes it."""
    position, length = position & 255, length & 255
    for place in range(length):
        if position + place > width - 1:
            break
        into = into & ~(1 << position + place) | (field >> place & 1) << position + place
    return into


def find_leading(a: int, width: int, *, is_signed: bool, shift_amount: bool) -> int:
    """``bfind``: place of the highest bit that is not the sign; all ones where there is none."""
    if is_signed and a >> width - 1:
        a = ~a & (1 << width) - 1
    if a == 0:
        return 0xFFFFFFFF
    place = a.bit_length() - 1
    return width - 1 - place if shift_amount else place


def permute(a: int, b: int, selector: int) -> int:
    """``prmt`` in its default mode."""
    source = (b << 32 | a).to_bytes(8, "little")
    result = []
    for place in range(4):
        choice = selector >> 4 * place & 15
        byte = source[choice & 7]
        result.append((255 if byte & 128 else 0) if choice & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def lookup(a: int, b: int, c: int, table: int) -> int:
    """``lop3``: each bit looked up in a table of eight."""
    result = 0
    for place in range(32):
        entry = (a >> place & 1) << 2 | (b >> place & 1) << 1 | c >> place & 1
        result |= (table >> entry & 1) << place
    return result


SIMPLE: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": _divide,
    "rem": _remainder,
    "abs": abs,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "cnot": lambda a: int(a == 0),
    "sad": lambda a, b, c: c + abs(a - b),
    "mov": lambda a: a,
    "cvta": lambda a: a,
}
"""Opcode → function of numbers in the instruction's type; the caller wraps the result around."""

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    **dict.fromkeys(("lt", "lo"), lambda a, b: a < b),
    **dict.fromkeys(("le", "ls"), lambda a, b: a <= b),
    **dict.fromkeys(("gt", "hi"), lambda a, b: a > b),
    **dict.fromkeys(("ge", "hs"), lambda a, b: a >= b),
}
"""Comparison word → truth."""

UNSIGNED_WORDS = frozenset({"lo", "ls", "hi", "hs"})
