"""Operands of the slice → readers of registers: literals, widths, pieces."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from edgeperf.ptx.lattice import Array, scalar
from edgeperf.ptx.words import UNSIGNED, resized, width_of

Registers = dict[str, Array | None]
"""Register name → value per thread; None where it is not known."""

Read = Callable[[Registers], Array | None]
"""Registers → value; None where it is not known."""

_INTEGER = re.compile(r"([+-]?)\s*(0[xX][\da-fA-F]+|0[bB][01]+|\d+)U?")
_FLOAT = re.compile(r"0[fF]([\da-fA-F]{8})|0[dD]([\da-fA-F]{16})")


def is_computed_special(name: str) -> bool:
    """Whether a name is a special register whose value follows from the launch."""
    return name.partition(".")[0] in ("%tid", "%ntid", "%ctaid", "%nctaid", "%laneid") or (
        name.startswith("%lanemask_") or name == "WARP_SZ"
    )


def immediate(text: str, kind: str) -> Array | None:
    """The value of a literal in a type; None where the operand is no literal."""
    floating = _FLOAT.fullmatch(text)
    width = width_of(kind)
    if floating:
        return scalar(int(floating[1] or floating[2], 16), UNSIGNED[width])
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match[2]
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    value = int(digits, 8 if octal else 0)
    value = -value if match[1] == "-" else value
    return scalar(value != 0, np.bool_) if width == 1 else scalar(value & (2**width - 1), UNSIGNED[width])


def negated(value: Array | None) -> Array | None:
    """The opposite truth value; None where it is not known."""
    return None if value is None else ~value


def cut(value: Array | None, width: int, *, signed: bool) -> Array | None:
    """The value in another width; None where it is not known."""
    return None if value is None else resized(value, width, signed=signed)


def piece(read: Read, width: int, place: int) -> Read:
    """Reads one of several pieces of a wide register, the lowest first."""

    def run(registers: Registers) -> Array | None:
        value = read(registers)
        return None if value is None else (value >> value.dtype.type(width * place)).astype(UNSIGNED[width])

    return run


def joined(pieces: list[Read], width: int, whole: int) -> Read:
    """Reads a wide value from its pieces, the lowest first."""

    def run(registers: Registers) -> Array | None:
        result = scalar(0, UNSIGNED[whole])
        for place, read in enumerate(pieces):
            value = read(registers)
            if value is None:
                return None
            result = result | (value.astype(result.dtype) << result.dtype.type(width * place))
        return result

    return run
