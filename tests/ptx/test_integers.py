"""Every integer instruction against the interpreter's own arithmetic, and both against values from the PTX manual."""

from __future__ import annotations

import random

import pytest

from edgeperf.ptx.execution import Budget, Tally, Walk, program_of
from edgeperf.ptx.flow import control_flow
from edgeperf.ptx.interpreter import interpret
from edgeperf.ptx.lattice import whole
from edgeperf.ptx.parser import parse
from edgeperf.ptx.program import steps_of
from edgeperf.ptx.records import Kernel, Launch
from edgeperf.ptx.slicing import backward_slice
from tests.ptx.helpers import HEADER
from tests.ptx.random_kernels import OPERATIONS, REGISTERS

EDGES = (
    0,
    1,
    2,
    3,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63,
    2**64 - 1,
)
WIDTHS = {"r": 32, "d": 64, "h": 16}


def value_of(lines: list[str], kind: str, register: str) -> tuple[int, int]:
    """What the analyzer and the interpreter put into a register."""
    guard = {
        "r": f"setp.ne.u32 %p9, {register}, 0;",
        "h": f"setp.ne.u16 %p9, {register}, 0;",
        "d": f"setp.ne.u64 %p9, {register}, 0;",
        "p": f"and.pred %p9, {register}, {register};",
    }[kind]
    stored = {"r": ("b32", register), "h": ("b16", register), "d": ("b64", register), "p": ("b32", "%r39")}[kind]
    body = "\n".join([*lines, guard, "ld.param.u64 %rd29, [out];", "selp.b32 %r39, 1, 0, %p9;"])
    store = f"st.global.{stored[0]} [%rd29], {stored[1]};"
    tail = f"{store}\n@%p9 bra $L;\nret;\n$L:\nret;"
    text = f"{HEADER}.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}\n{body}\n{tail}\n}}\n"
    kernel = parse(text).kernels["k"]
    launch = Launch(kernel="k", grid=(1, 1, 1), block=(1, 1, 1))
    memory = interpret(kernel, launch).memory
    return _by_analyzer(kernel, launch, register), memory.load(1 << 40, max(1, int(stored[0][1:]) // 8))


def _by_analyzer(kernel: Kernel, launch: Launch, register: str) -> int:
    """Runs the slice and looks at the register at the end."""
    flow = control_flow(kernel)
    found = backward_slice(flow, ordinary_guards=False)
    program = program_of(flow, found, steps_of(flow, found, arguments={}, strict=True))
    walk = Walk(program, whole(launch), Tally(program), Budget())
    walk.run(set())
    value = walk.registers[register]
    assert value is not None
    return int(value.reshape(-1)[0])


def test_shifts_clamp_at_the_width_and_beyond() -> None:
    load = ["mov.u32 %r0, -2147483647;"]
    for amount, left, logical, arithmetic in (
        (0, 0x80000001, 0x80000001, 0x80000001),
        (31, 0x80000000, 1, 0xFFFFFFFF),
        (32, 0, 0, 0xFFFFFFFF),
        (33, 0, 0, 0xFFFFFFFF),
        (255, 0, 0, 0xFFFFFFFF),
        (256, 0, 0, 0xFFFFFFFF),
        (-1, 0, 0, 0xFFFFFFFF),
    ):
        for opcode, expected in (("shl.b32", left), ("shr.u32", logical), ("shr.s32", arithmetic)):
            assert value_of([*load, f"{opcode} %r1, %r0, {amount};"], "r", "%r1") == (expected, expected), (
                opcode,
                amount,
            )


@pytest.mark.parametrize(
    ("lines", "kind", "expected"),
    [
        (["mov.u32 %r0, -1;", "add.u32 %r1, %r0, 2;"], "r", 1),
        (["mov.u32 %r0, 65535;", "mul.lo.u32 %r1, %r0, 65537;"], "r", 0xFFFFFFFF),
        (["mov.u32 %r0, -1;", "mul.hi.u32 %r1, %r0, %r0;"], "r", 0xFFFFFFFE),
        (["mov.u32 %r0, -1;", "mul.hi.s32 %r1, %r0, %r0;"], "r", 0),
        (["mov.u32 %r0, -1;", "mul.wide.s32 %rd1, %r0, 2;"], "d", 2**64 - 2),
        (["mov.u32 %r0, -1;", "mul.wide.u32 %rd1, %r0, 2;"], "d", 2**33 - 2),
        (["mov.u32 %r0, -7;", "div.s32 %r1, %r0, 2;"], "r", 2**32 - 3),
        (["mov.u32 %r0, -7;", "rem.s32 %r1, %r0, 2;"], "r", 2**32 - 1),
        (["mov.u32 %r0, -7;", "div.u32 %r1, %r0, 2;"], "r", (2**32 - 7) // 2),
        (["mov.u32 %r0, -2147483648;", "mov.u32 %r2, -1;", "div.s32 %r1, %r0, %r2;"], "r", 2**31),
        (["mov.u32 %r0, -16;", "bfe.s32 %r1, %r0, 2, 3;"], "r", 2**32 - 4),
        (["mov.u32 %r0, 240;", "bfe.u32 %r1, %r0, 4, 2;"], "r", 3),
        (["mov.u32 %r0, -1;", "bfe.u32 %r1, %r0, 28, 8;"], "r", 15),
        (["mov.u32 %r0, 5;", "mov.u32 %r2, -1;", "bfi.b32 %r1, %r0, %r2, 4, 4;"], "r", 0xFFFFFF5F),
        (["mov.u32 %r0, 1;", "clz.b32 %r1, %r0;"], "r", 31),
        (["mov.u32 %r0, 0;", "bfind.u32 %r1, %r0;"], "r", 0xFFFFFFFF),
        (["mov.u32 %r0, -3;", "bfind.s32 %r1, %r0;"], "r", 1),
        (["mov.u32 %r0, 1;", "brev.b32 %r1, %r0;"], "r", 2**31),
        (["mov.u32 %r0, 0x33221100;", "prmt.b32 %r1, %r0, 0x77665544, 0x6420;"], "r", 0x66442200),
        (["mov.u32 %r0, 0x80;", "prmt.b32 %r1, %r0, 0, 0x8888;"], "r", 0xFFFFFFFF),
        (["mov.u32 %r0, 12;", "mov.u32 %r2, 10;", "lop3.b32 %r1, %r0, %r2, 0, 0xC0;"], "r", 8),
        (["mov.u32 %r0, 1;", "shf.l.wrap.b32 %r1, %r0, %r0, 33;"], "r", 2),
        (["mov.u32 %r0, 1;", "shf.l.clamp.b32 %r1, %r0, 7, 33;"], "r", 1),
        (["mov.u32 %r0, 300;", "cvt.sat.u8.s32 %r1, %r0;"], "r", 255),
        (["mov.u32 %r0, -5;", "cvt.sat.u8.s32 %r1, %r0;"], "r", 0),
        (["mov.u32 %r0, 511;", "cvt.u32.u8 %r1, %r0;"], "r", 255),
        (["mov.u32 %r0, 255;", "cvt.s32.s8 %r1, %r0;"], "r", 0xFFFFFFFF),
        (["mov.u32 %r0, 5;", "mov.b64 %rd1, {%r0, %r0};"], "d", 5 * (2**32 + 1)),
        (["mov.u64 %rd0, 0x500000007;", "mov.b64 {%r0, %r1}, %rd0;"], "r", 5),
        (["mov.u32 %r0, -1;", "setp.gt.s32 %p1, %r0, 0;"], "p", 0),
        (["mov.u32 %r0, -1;", "setp.gt.u32 %p1, %r0, 0;"], "p", 1),
        (["mov.u32 %r0, -1;", "setp.hi.u32 %p1, %r0, 0;"], "p", 1),
        (["mov.u32 %r0, 010;", "add.u32 %r1, %r0, 0b11U;"], "r", 11),
    ],
)
def test_values_of_the_manual(lines: list[str], kind: str, expected: int) -> None:
    register = {"r": "%r1", "d": "%rd1", "p": "%p1", "h": "%rs1"}[kind]
    assert value_of(lines, kind, register) == (expected, expected)


@pytest.mark.parametrize("operation", range(len(OPERATIONS)))
def test_analyzer_and_interpreter_compute_alike(operation: int) -> None:
    opcode, target, sources = OPERATIONS[operation]
    chooser = random.Random(operation)  # noqa: S311 - tests, not secrets
    for _ in range(12):
        lines = []
        operands = []
        for place, kind in enumerate(sources):
            if kind in WIDTHS:
                name = {"r": f"%r{place + 2}", "d": f"%rd{place + 2}", "h": f"%rs{place + 2}"}[kind]
                value = chooser.choice(EDGES) % 2 ** WIDTHS[kind]
                lines.append(f"mov.b{WIDTHS[kind]} {name}, {value};" if kind != "d" else f"mov.b64 {name}, {value}U;")
                operands.append(name)
            elif kind == "p":
                lines.append(f"setp.eq.u32 %p{place + 2}, {chooser.randrange(2)}, 0;")
                operands.append(f"%p{place + 2}")
            else:
                operands.append(str(chooser.choice((1, 2, 7, 31, 32, 33, 64, 200)) if kind != "z" else 3))
        register = {"r": "%r1", "d": "%rd1", "h": "%rs1", "p": "%p1"}[target]
        lines.append(f"{opcode} {register}, {', '.join(operands)};")
        by_analyzer, by_interpreter = value_of(lines, target, register)
        assert by_analyzer == by_interpreter, lines
