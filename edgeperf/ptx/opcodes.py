"""PTX opcode → what kind of instruction it is, how many operands it takes, and which it writes.

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, chapter 9. An opcode or modifier that is not in these tables is
refused by name, so that a misread word never changes a count.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from edgeperf.ptx.errors import Refused
from edgeperf.ptx.records import Instruction
from edgeperf.ptx.text import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Opcode:
    """One opcode with its modifiers, taken apart.

    Attributes:
        name: without modifiers.
        modifiers: everything after the name that is no type.
        types: operand types in order, e.g. ``("u64", "u32")`` for ``cvt.u64.u32``.
        category: what the counts are grouped by.
        operands: least and greatest number of operands.
        writes: whether the first operand is written.
    """

    name: str
    modifiers: tuple[str, ...]
    types: tuple[str, ...]
    category: str
    operands: tuple[int, int]
    writes: bool


_TYPES = words(
    "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 tf32 f32 f32x2 f64 "
    "u16x2 s16x2 e4m3 e5m2 e4m3x2 e5m2x2"
)

_MODIFIERS = words(
    # comparison and boolean operators, also of atomics and reductions
    "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor popc add inc dec min max exch cas "
    # rounding, accuracy and range
    "rn rz rm rp rni rzi rmi rpi rna rs ftz sat satfinite relu approx full NaN xorsign abs noftz oob "
    # integer halves, carry, shifts, byte order
    "wide cc clamp wrap l r f4e b4e rc8 ecl ecr rc16 shiftamt bfe "
    # state spaces, vectors, cache and memory order
    "global shared local param const to v2 v4 v8 ca cg cs lu cv wb wt nc volatile relaxed acquire release acq_rel sc "
    "weak cta cluster gpu sys gl mmio alias proxy async generic tensormap unified "
    # control, warps and barriers
    "uni sync aligned arrive red up down bfly idx all any ballot warp cluster_dim wait expect_tx test_wait try_wait "
    "init inval complete_tx parity noComplete drop arrive_drop launch_dependents "
    # tensor cores and asynchronous copies
    "row col mma load store trans x1 x2 x4 a b c d commit_group wait_group wait_all bulk tensor mbarrier tile im2col "
    "1d 2d 3d 4d 5d a1d a2d prefetch discard applypriority evict_last evict_normal "
    # texture, surface, classification
    "width height depth finite infinite number notanumber normal subnormal p ch exit mul "
    "L1 L2 address rgba"
)

_MODIFIER_PATTERN = re.compile(
    r"m\d+n\d+k\d+|m\d+n\d+|(?:shared|param)::(?:cta|cluster|entry|func)|L[12]::\w+|cp_mask|mma_async|"
    r"(?:mbarrier|multicast|proxy|fence|sp|kind|cta_group|noinc|shape|tx|cluster|async|complete_tx)(?:::\w+)+"
)

_INTEGER_OR_FLOAT = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}

_ARITHMETIC: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("abs", "neg", "tanh"), (2, 2)),
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "mul24", "addc", "subc", "copysign"), (3, 3)),
    **dict.fromkeys(("min", "max"), (3, 4)),
    **dict.fromkeys(("mad", "mad24", "madc", "fma", "sad", "dp4a", "dp2a"), (4, 4)),
}
_SPECIAL = dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"), (2, 2))
_LOGIC: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("not", "cnot", "popc", "clz", "brev", "bfind"), (2, 2)),
    **dict.fromkeys(("and", "or", "xor", "shl", "shr", "bmsk", "szext"), (3, 3)),
    **dict.fromkeys(("shf", "bfe", "fns", "prmt"), (4, 4)),
    "bfi": (5, 5),
    "lop3": (5, 7),
}
_COMPARE = {"setp": (3, 4), "set": (3, 4), "selp": (4, 4), "slct": (4, 4), "testp": (2, 2)}
_MOVE = {"mov": (2, 2), "cvta": (2, 2), "cvt": (2, 4), "isspacep": (2, 2), "mapa": (3, 3), "getctarank": (2, 2)}
_WARP = {
    "shfl": (4, 5),
    "vote": (2, 3),
    "match": (3, 3),
    "activemask": (1, 1),
    "redux": (3, 3),
    "elect": (2, 2),
}
_TENSOR = {"mma": (4, 7), "wmma": (2, 5), "ldmatrix": (2, 2), "movmatrix": (2, 2), "wgmma": (0, 10)}
_VIDEO = dict.fromkeys(
    [f"v{op}{lanes}" for op in ("add", "sub", "absdiff", "min", "max", "avrg", "set") for lanes in ("", "2", "4")]
    + ["vshl", "vshr", "vmad"],
    (3, 5),
)
_ATOMIC = {"atom": (2, 4)}
_TEXTURE = {"tex": (2, 5), "tld4": (2, 5), "suld": (2, 3), "txq": (2, 2), "suq": (2, 2)}
_LOAD = {"ld": (2, 3), "ldu": (2, 2)}
_STORE = {"st": (2, 3), "stmatrix": (2, 2)}

_WRITING: dict[str, dict[str, tuple[int, int]]] = {
    "arithmetic": _ARITHMETIC,
    "special": _SPECIAL,
    "logic": _LOGIC,
    "compare": _COMPARE,
    "move": _MOVE,
    "warp": _WARP,
    "tensor": _TENSOR,
    "video": _VIDEO,
    "atomic": _ATOMIC,
    "texture": _TEXTURE,
    "load": _LOAD,
}
_SILENT: dict[str, dict[str, tuple[int, int]]] = {
    "store": _STORE,
    "atomic": {"red": (2, 3)},
    "texture": {"sust": (2, 3), "sured": (2, 3)},
    "control": {"bra": (1, 1), "brx": (2, 2), "call": (1, 4), "ret": (0, 0), "exit": (0, 0), "trap": (0, 0)},
    "barrier": {
        "bar": (0, 3),
        "barrier": (0, 3),
        "membar": (0, 0),
        "fence": (0, 3),
        "griddepcontrol": (0, 0),
        "mbarrier": (1, 4),
    },
    "copy": {"cp": (0, 8), "prefetch": (1, 2), "prefetchu": (1, 1), "discard": (2, 2), "applypriority": (2, 2)},
    "other": {"nanosleep": (1, 1), "brkpt": (0, 0), "pmevent": (1, 1), "setmaxnreg": (1, 1), "createpolicy": (1, 4)},
}

_TABLE: dict[str, tuple[str, tuple[int, int], bool]] = {
    name: (category, arity, writes)
    for tables, writes in ((_WRITING, True), (_SILENT, False))
    for category, table in tables.items()
    for name, arity in table.items()
}

_TYPED = frozenset(
    name
    for name, (category, _, _) in _TABLE.items()
    if category in ("arithmetic", "special", "logic", "compare", "move", "load", "store", "atomic")
) - {"isspacep", "stmatrix"}
"""Opcodes that are nothing without a type."""

_SPACES = ("global", "shared", "local", "param", "const")


def _category(base: str, name: str, modifiers: tuple[str, ...], types: tuple[str, ...]) -> str:
    """Finer than the table: memory by state space, arithmetic by number format."""
    if base in ("load", "store"):
        space = next((word.partition("::")[0] for word in modifiers if word.partition("::")[0] in _SPACES), "generic")
        return f"{base}_{space}"
    if base == "arithmetic":
        number = types[-1] if types and types[-1] in _INTEGER_OR_FLOAT else "integer"
        return f"fma_{number}" if name == "fma" else number
    return "convert" if name == "cvt" else base


@functools.cache
def decode(text: str) -> Opcode | str:
    """The opcode taken apart, or the first word of it that is not known."""
    name, *words = text.split(".")
    if name not in _TABLE:
        return name
    types = tuple(word for word in words if word in _TYPES)
    modifiers = tuple(word for word in words if word not in _TYPES)
    for word in modifiers:
        if word not in _MODIFIERS and not _MODIFIER_PATTERN.fullmatch(word):
            return f".{word}"
    base, operands, writes = _TABLE[name]
    category = _category(base, name, modifiers, types)
    return Opcode(name=name, modifiers=modifiers, types=types, category=category, operands=operands, writes=writes)


def opcode_of(instruction: Instruction) -> Opcode:
    """The instruction's opcode taken apart.

    Raises:
        Refused: the opcode or one of its modifiers is not known, or the number of operands is not its own.
    """
    found = decode(instruction.opcode)
    if isinstance(found, str):
        raise Refused(instruction.line, f"{found!r} in {instruction.opcode!r} is not known to this analyzer")
    if not found.types and found.name in _TYPED:
        raise Refused(instruction.line, f"{instruction.opcode!r} names no type")
    least, greatest = found.operands
    if not least <= len(instruction.operands) <= greatest:
        expected = str(least) if least == greatest else f"{least} to {greatest}"
        given = len(instruction.operands)
        raise Refused(instruction.line, f"{instruction.opcode!r} takes {expected} operands, not {given}")
    return found
