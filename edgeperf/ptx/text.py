"""PTX text → positions, lines and brackets, with comments and strings blanked out."""

from __future__ import annotations

import bisect
import re

from edgeperf.ptx.errors import MalformedPtx

MAX_CHARACTERS = 64 * 1024**2

NAME = r"[%$_A-Za-z][\w$]*"
"""What PTX allows as a name of a register, label, parameter, variable or kernel."""

_COMMENT_OR_STRING = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BRACE = re.compile("[{}]")


_NOT_NEWLINE = re.compile(r"[^\n]")


def _blank(match: re.Match[str]) -> str:
    """As long as before, so that positions stay."""
    kept = _NOT_NEWLINE.sub(" ", match[0])
    return kept if match[0][0] == "/" else f'"{kept[2:]}"'


def words(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(words("u32 s32"))
    ['s32', 'u32']
    """
    return frozenset(text.split())


class Text:
    """One PTX text.

    Attributes:
        text: with comments and the contents of strings blanked out; positions are those of the original.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise MalformedPtx(1, f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read")
        if "\0" in text:
            raise MalformedPtx(1, "the text holds a NUL character")
        self.text = _COMMENT_OR_STRING.sub(_blank, text)
        self._newlines = [match.start() for match in re.finditer("\n", self.text)]

    def line(self, position: int) -> int:
        """The line of a position, counted from 1."""
        return bisect.bisect_left(self._newlines, position) + 1

    def after_blanks(self, position: int) -> int:
        """The first position from there on that is no white space."""
        while position < len(self.text) and self.text[position].isspace():
            position += 1
        return position

    def find(self, character: str, position: int) -> int:
        """The next place of a character.

        Raises:
            MalformedPtx: there is none.
        """
        found = self.text.find(character, position)
        if found < 0:
            raise MalformedPtx(self.line(position), f"the text ends where {character!r} is expected")
        return found

    def closing_brace(self, opening: int) -> int:
        """The place of the brace that closes the one at `opening`.

        Raises:
            MalformedPtx: there is none.
        """
        depth = 0
        for match in _BRACE.finditer(self.text, opening):
            depth += 1 if match[0] == "{" else -1
            if depth == 0:
                return match.start()
        raise MalformedPtx(self.line(opening), "the brace that opens here is never closed")

    def unreadable(self, position: int, end: int | None = None) -> MalformedPtx:
        """The error that quotes what stands at a position."""
        position = self.after_blanks(position)
        quoted = self.text[position : end or position + 60].split("\n", 1)[0].strip()
        return MalformedPtx(self.line(position), f"cannot read {quoted[:60]!r}")
