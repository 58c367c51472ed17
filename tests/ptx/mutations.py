"""A text and a seed → the text with a few random changes: what a broken disk, an editor or an attacker does to PTX."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r"[%$@.\w]+|[^\w\s]|\n")


def mutated(text: str, seed: int) -> str:
    """The text with one to three changes."""
    chooser = random.Random(seed)  # noqa: S311 - tests, not secrets
    for _ in range(chooser.choice((1, 1, 1, 2, 3))):
        text = chooser.choice((_cut, _character, _token, _line, _number, _swap, _opcode))(text, chooser)
    return text


def _cut(text: str, chooser: random.Random) -> str:
    place = chooser.randrange(len(text) + 1)
    return (
        text[:place]
        if chooser.random() < 0.5
        else text[:place] + text[min(len(text), place + chooser.randint(1, 40)) :]
    )


def _character(text: str, chooser: random.Random) -> str:
    place = chooser.randrange(max(len(text), 1))
    return (
        text[:place] + chooser.choice('{}[]();:,.@!%$+-0129xXfrpdb_ \n\t"/*\0é') + text[place + chooser.randint(0, 1) :]
    )


def _token(text: str, chooser: random.Random) -> str:
    """One word replaced by another one of the same text."""
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    old, new = chooser.choice(tokens), chooser.choice(tokens)[0]
    return text[: old.start()] + new + text[old.end() :]


def _line(text: str, chooser: random.Random) -> str:
    """A line left out, doubled, or moved."""
    lines = text.split("\n")
    place = chooser.randrange(len(lines))
    line = lines.pop(place)
    kind = chooser.randrange(3)
    if kind:
        lines.insert(chooser.randrange(len(lines) + 1), line)
    if kind == 2:
        lines.insert(place, line)
    return "\n".join(lines)


def _number(text: str, chooser: random.Random) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    found = chooser.choice(numbers)
    new = chooser.choice((int(found[0]) + 1, int(found[0]) - 1, 0, 31, 32, 2**31, 2**32 - 1, -1, 10**30))
    return text[: found.start()] + str(new) + text[found.end() :]


def _swap(text: str, chooser: random.Random) -> str:
    """A condition turned around, or a type's sign."""
    pairs = (("lt", "ge"), ("eq", "ne"), ("u32", "s32"), ("@", "@!"), ("gt", "lt"), ("add", "sub"), ("b32", "b64"))
    old, new = chooser.choice(pairs)
    places = [match.start() for match in re.finditer(re.escape(old), text)]
    if not places:
        return text
    place = chooser.choice(places)
    return text[:place] + new + text[place + len(old) :]


def _opcode(text: str, chooser: random.Random) -> str:
    return re.sub(
        r"\badd\b", chooser.choice(("addd", "frobnicate", "mul", "bra", "ret", "ld", "call", "brx")), text, count=1
    )
