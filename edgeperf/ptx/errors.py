"""What can go wrong between PTX text and a count."""

from __future__ import annotations

from edgeperf.errors import InvalidInput


class MalformedPtx(InvalidInput):
    """The text is not PTX: cut short, undeclared names, operands that cannot be read.

    Attributes:
        line: where, counted from 1.
    """

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        super().__init__(f"Malformed PTX at line {line}: {what}")


class Refused(InvalidInput):
    """The text is PTX, but its count cannot be known for certain; nothing is guessed.

    Attributes:
        line: the instruction that stands in the way, counted from 1.
        reason: why, in words.
    """

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"No exact count: line {line}: {reason}")
