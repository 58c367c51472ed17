"""A seed → a random kernel and a launch: nested ifs and loops, early exits, jumps out of blocks, predicated
instructions, wrap-around counters, all integer instructions, text order shuffled."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

from edgeperf.ptx.records import Launch
from tests.ptx.helpers import HEADER

WORDS, LONGS, SHORTS, PREDICATES = 10, 5, 4, 6

# opcode, destination kind, source kinds: r 32, d 64, h 16 bits, p predicate, n small literal, i any literal
OPERATIONS = [
    *[(f"{op}.{kind}", "r", "rr") for op in ("add", "sub", "min", "max") for kind in ("u32", "s32")],
    *[(f"mul.{half}.{kind}", "r", "rr") for half in ("lo", "hi") for kind in ("u32", "s32")],
    *[(f"mul.hi.{kind}", "d", "dd") for kind in ("u64", "s64")],
    *[(f"mad.{half}.{kind}", "r", "rrr") for half in ("lo", "hi") for kind in ("u32", "s32")],
    *[(f"mul.wide.{kind}", "d", "rr") for kind in ("u32", "s32")],
    *[(f"mad.wide.{kind}", "d", "rrd") for kind in ("u32", "s32")],
    *[(f"mul.wide.{kind}", "r", "hh") for kind in ("u16", "s16")],
    *[(f"{op}.b32", "r", "rr") for op in ("and", "or", "xor")],
    *[(f"{op}.b64", "d", "dd") for op in ("and", "or", "xor")],
    *[(f"{op}.{kind}", "d", "dd") for op in ("add", "sub", "min", "max") for kind in ("u64", "s64")],
    *[(f"{op}.b32", "r", "r") for op in ("not", "popc", "clz", "brev", "cnot")],
    *[(f"{op}.b64", "r", "d") for op in ("popc", "clz")],
    *[(f"bfind.{kind}", "r", "r") for kind in ("u32", "s32")],
    ("bfind.shiftamt.u32", "r", "r"),
    ("bfind.u64", "r", "d"),
    ("brev.b64", "d", "d"),
    *[(f"{op}.s32", "r", "r") for op in ("abs", "neg")],
    ("shl.b32", "r", "rn"),
    ("shr.u32", "r", "rn"),
    ("shr.s32", "r", "rn"),
    ("shl.b64", "d", "dn"),
    ("shr.s64", "d", "dn"),
    ("shr.u64", "d", "dr"),
    ("shl.b32", "r", "rr"),
    ("shr.s32", "r", "rr"),
    ("shr.s16", "h", "hn"),
    ("shl.b16", "h", "hr"),
    *[(f"shf.{side}.{mode}.b32", "r", "rrr") for side in "lr" for mode in ("clamp", "wrap")],
    *[(f"bfe.{kind}", "r", "rnn") for kind in ("u32", "s32")],
    ("bfe.s64", "d", "dnn"),
    ("bfe.u32", "r", "rrr"),
    ("bfi.b32", "r", "rrnn"),
    ("bfi.b64", "d", "ddrn"),
    ("prmt.b32", "r", "rri"),
    ("prmt.b32", "r", "rrr"),
    ("lop3.b32", "r", "rrrb"),
    ("sad.u32", "r", "rrr"),
    ("sad.s32", "r", "rrr"),
    *[(f"{op}.{kind}", "r", "rz") for op in ("div", "rem") for kind in ("u32", "s32")],
    ("selp.b32", "r", "rrp"),
    ("selp.b64", "d", "ddp"),
    ("slct.u32.s32", "r", "rrr"),
    *[(f"cvt.{to}.{source}", "r", "r") for to, source in (("u32", "s16"), ("s32", "s8"), ("u32", "u8"))],
    ("cvt.u64.u32", "d", "r"),
    ("cvt.s64.s32", "d", "r"),
    ("cvt.u32.u64", "r", "d"),
    ("cvt.u16.u32", "h", "r"),
    ("cvt.s32.s16", "r", "h"),
    ("cvt.sat.u8.s32", "r", "r"),
    ("cvt.sat.s16.s32", "h", "r"),
    ("cvt.sat.s32.u32", "r", "r"),
    ("mov.b32", "r", "r"),
    ("mov.u32", "r", "i"),
    ("add.s16", "h", "hh"),
    ("mul.lo.s16", "h", "hh"),
    ("mul.hi.s16", "h", "hh"),
    ("and.pred", "p", "pp"),
    ("or.pred", "p", "pp"),
    ("xor.pred", "p", "pp"),
    ("not.pred", "p", "p"),
    ("set.lt.u32.s32", "r", "rr"),
    ("set.ge.u32.u32", "r", "rr"),
]

SPECIAL = ("%tid.x", "%ctaid.x", "%ntid.x", "%laneid", "%tid.y")
LITERALS = (0, 1, 2, 3, 5, 7, 16, 31, 32, 33, 63, 64, 100, 255, -1, -2, -7, 2**31 - 1, 2**31, 2**32 - 1, 0x12345678)


@dataclass(slots=True)
class Generator:
    """Writes one kernel."""

    random: random.Random
    lines: list[str] = field(default_factory=list)
    label: int = 0
    ends: list[str] = field(default_factory=list)
    depth: int = 0

    def register(self, kind: str) -> str:
        counts = {"r": ("%r", WORDS), "d": ("%rd", LONGS), "h": ("%rs", SHORTS), "p": ("%p", PREDICATES)}
        prefix, count = counts[kind]
        return f"{prefix}{self.random.randrange(count)}"

    def operand(self, kind: str) -> str:
        if kind == "n":
            return str(self.random.choice((0, 1, 3, 7, 15, 16, 30, 31, 32, 33, 48, 63, 64, 65, 200, 255, 256)))
        if kind == "b":
            return str(self.random.randrange(256))
        if kind == "z":
            return str(self.random.choice((1, 2, 3, 7, 10, 641, -1, -3, 2**31)))
        if kind == "i" or (kind in "rd" and self.random.random() < 0.15):
            return str(self.random.choice(LITERALS))
        if kind == "r" and self.random.random() < 0.1:
            return f"%r{self.random.randrange(34, 34 + len(SPECIAL))}"
        return self.register(kind)

    def new_label(self) -> str:
        self.label += 1
        return f"$L{self.label}"

    def operation(self, guard: str = "") -> None:
        opcode, target, sources = self.random.choice(OPERATIONS)
        operands = [self.register(target), *(self.operand(kind) for kind in sources)]
        self.lines.append(f"{guard}{opcode} {', '.join(operands)};")

    def compare(self, target: str) -> None:
        word = self.random.choice(("eq", "ne", "lt", "le", "gt", "ge"))
        kind, source = self.random.choice(
            (("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d"), ("s16", "h"), ("u16", "h"))
        )
        if kind == "u32" and self.random.random() < 0.2:
            word = self.random.choice(("lo", "ls", "hi", "hs"))
        combined = self.random.random() < 0.2
        both = target if self.random.random() < 0.9 or combined else f"{target}|{self.other(target)}"
        tail = f", {self.random.choice(('', '!'))}{self.register('p')}" if combined else ""
        middle = self.random.choice((".and", ".or", ".xor")) if combined else ""
        a, b = self.register(source), self.operand(source)
        self.lines.append(f"setp.{word}{middle}.{kind} {both}, {a}, {b}{tail};")

    def other(self, predicate: str) -> str:
        return f"%p{(int(predicate[2:]) + 1) % PREDICATES}"

    def sequence(self, length: int) -> None:
        end = self.new_label()
        self.ends.append(end)
        for _ in range(length):
            self.statement()
        self.lines.append(f"{end}:")
        self.ends.pop()

    def statement(self) -> None:
        choice = self.random.random()
        if choice < 0.5 or self.depth > 2:
            self.operation(self.random.choice(("", "", "", f"@{self.random.choice(('', '!'))}{self.register('p')} ")))
        elif choice < 0.6:
            self.data()
        elif choice < 0.75:
            self.branch()
        elif choice < 0.86:
            self.counted_loop()
        elif choice < 0.93:
            self.nested_loop()
        else:
            self.jump_out()

    def data(self) -> None:
        self.lines.append("ld.global.nc.f32 %f1, [%rd9];")
        self.lines.append("fma.rn.f32 %f0, %f1, %f0, 0f3F800000;")
        if self.random.random() < 0.3:
            self.lines.append(f"@{self.register('p')} st.global.f32 [%rd9+4], %f0;")

    def branch(self) -> None:
        predicate = self.register("p")
        self.compare(predicate)
        otherwise, end = self.new_label(), self.new_label()
        self.lines.append(f"@{self.random.choice(('', '!'))}{predicate} bra {otherwise};")
        self.depth += 1
        self.sequence(self.random.randint(1, 3))
        if self.random.random() < 0.5:
            self.lines += [f"bra.uni {end};", f"{otherwise}:"]
            self.sequence(self.random.randint(1, 3))
            self.lines.append(f"{end}:")
        else:
            self.lines.append(f"{otherwise}:")
        self.depth -= 1

    def counted_loop(self) -> None:
        """A loop of one block; the start may lie just below where the counter wraps around."""
        kind, register = self.random.choice(
            (("u32", "%r20"), ("s32", "%r20"), ("u64", "%rd20"), ("s64", "%rd20"), ("s16", "%rs9"))
        )
        width = int(kind[1:])
        step = self.random.choice((1, 1, 2, 3, 4, 32, -1, -2, -5))
        rounds = self.random.randint(0, 9)
        start = self.random.choice((0, 0, -step * 2, 2 ** (width - 1) - 3 * abs(step), 2**width - 2 * abs(step), 5))
        word = self.random.choice(("ne", "lt" if step > 0 else "gt", "le" if step > 0 else "ge", "eq"))
        bound = (
            start + step * (rounds + (word == "ne")) + (0 if word == "ne" else self.random.randint(0, abs(step) - 1))
        )
        suffix = {32: "s32", 64: "s64", 16: "s16"}[width]
        wrap = (bound + 2 ** (width - 1)) % 2**width - 2 ** (width - 1) if kind[0] == "s" else bound % 2**width
        label, origin = self.new_label(), start % 2**width
        self.lines.append(f"mov.b{width} {register}, {origin if origin < 2 ** (width - 1) else origin - 2**width};")
        if self.random.random() < 0.4 and width == 32:
            self.lines.append(f"and.b32 %r21, {self.register('r')}, 3;")
            self.lines.append(f"add.s32 {register}, {register}, %r21;")
        self.lines.append(f"{label}:")
        for _ in range(self.random.randint(0, 2)):
            self.operation()
        self.lines.append(f"add.{suffix} {register}, {register}, {step};")
        self.lines.append(f"setp.{word}.{kind} %p9, {register}, {wrap};")
        if self.random.random() < 0.3:
            self.data()
        self.lines.append(f"@%p9 bra {label};")

    def nested_loop(self) -> None:
        counter, label = f"%r{30 + self.depth}", self.new_label()
        self.lines.append(f"and.b32 {counter}, {self.register('r')}, {self.random.choice((1, 3))};")
        self.lines.append(f"{label}:")
        self.depth += 1
        self.sequence(self.random.randint(1, 3))
        self.depth -= 1
        self.lines.append(f"add.s32 {counter}, {counter}, -1;")
        self.lines.append(f"setp.ge.s32 %p8, {counter}, 0;")
        self.lines.append(f"@%p8 bra {label};")

    def jump_out(self) -> None:
        predicate = self.register("p")
        self.compare(predicate)
        if self.random.random() < 0.3:
            self.lines.append(f"@{predicate} {self.random.choice(('ret', 'exit'))};")
        else:
            self.lines.append(f"@{predicate} bra {self.random.choice(self.ends)};")

    def prologue(self) -> None:
        self.lines += [f"mov.u32 %r{34 + index}, {name};" for index, name in enumerate(SPECIAL)]
        for index in range(WORDS):
            source = f"%r{self.random.randrange(34, 34 + len(SPECIAL))}"
            factor = self.random.choice((1, 1, 1, 2, 7, 2654435761))
            self.lines.append(f"mul.lo.u32 %r{index}, {source}, {factor if factor < 2**31 else factor - 2**32};")
        for index in range(1, WORDS, 2):
            self.lines.append(f"mad.lo.u32 %r{index}, %r35, %r36, %r{index};")
        self.lines += [f"cvt.u64.u32 %rd{index}, %r{index};" for index in range(LONGS)]
        self.lines += [f"cvt.u16.u32 %rs{index}, %r{index + 3};" for index in range(SHORTS)]
        self.lines += [
            f"setp.gt.u32 %p{index}, %r{index}, {self.random.choice((0, 3, 17, 40))};" for index in range(PREDICATES)
        ]
        self.lines.append("ld.param.u64 %rd9, [k_out];")

    def shuffled(self) -> list[str]:
        """The same kernel with its pieces in random text order, each ending in a jump."""
        pieces: list[list[str]] = [[f"{self.new_label()}:"]]
        for line in self.lines:
            if line.endswith(":") and len(pieces[-1]) > 0:
                pieces.append([])
            pieces[-1].append(line)
        first = pieces[0][0][:-1]
        for piece, following in itertools.pairwise(pieces):
            piece.append(f"bra.uni {following[0][:-1]};")
        self.random.shuffle(pieces)
        return [f"bra.uni {first};", *(line for piece in pieces for line in piece)]


REGISTERS = "\n".join(
    (".reg .pred %p<10>;", ".reg .b16 %rs<10>;", ".reg .b32 %r<40>;", ".reg .b64 %rd<30>;", ".reg .f32 %f<4>;")
)


def random_kernel(seed: int) -> tuple[str, Launch]:
    """PTX text of the kernel ``k``, and a launch of at most 192 threads."""
    generator = Generator(random.Random(seed))  # noqa: S311 - tests, not secrets
    generator.prologue()
    generator.sequence(generator.random.randint(4, 9))
    generator.lines.append("ret;")
    lines = generator.shuffled() if generator.random.random() < 0.4 else generator.lines
    body = "\n".join(lines)
    text = f"{HEADER}.visible .entry k(.param .u64 k_out)\n{{\n{REGISTERS}\nmov.f32 %f0, 0f00000000;\n{body}\n}}\n"
    block = generator.random.choice(((32, 1, 1), (48, 1, 1), (16, 3, 1), (64, 1, 1), (33, 1, 1), (8, 2, 2)))
    return text, Launch(kernel="k", grid=(generator.random.randint(1, 3), 1, 1), block=block)
