"""What went wrong → one message: what happened, what was expected, what to do.

Every error that edgeperf raises on purpose derives from `EdgePerfError`. The command line prints its text and ends with
its `exit_code`; nothing else ever reaches a user without a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence


class EdgePerfError(Exception):
    """Base of all errors that edgeperf raises on purpose."""

    exit_code = 1


class InvalidInput(EdgePerfError, ValueError):  # noqa: N818 - the name a user reads, fixed by the design
    """The user's input cannot be used; the message says what was expected instead."""

    exit_code = 2


class UnsupportedLayer(InvalidInput):
    """A network holds layers that edgeperf cannot read; all of them are listed at once.

    Attributes:
        offenders: (layer name, kind) of every layer that is not supported, in network order.
    """

    def __init__(self, network: str, offenders: Sequence[tuple[str, str]], advice: str) -> None:
        self.network = network
        self.offenders = tuple(offenders)
        listed = ", ".join(f"{name} ({kind})" for name, kind in self.offenders)
        super().__init__(f"{network} has {len(self.offenders)} unsupported layer(s): {listed}. {advice}")


class IncompatibleData(InvalidInput):
    """Two pieces of data do not belong together; the message names the field and both values."""


class MissingExtra(InvalidInput):
    """An optional dependency is not installed.

    Attributes:
        extra: name of the extra that holds it, as in ``pip install edgeperf[extra]``.
    """

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional dependency. Install it with: pip install 'edgeperf[{extra}]'")


class BoardError(EdgePerfError):
    """A command on a board failed.

    Attributes:
        command: what was run on the board.
        returncode: its exit status; None where it did not end by itself.
        stderr_tail: the last lines of its standard error.
    """

    def __init__(self, message: str, *, command: str, returncode: int | None, stderr_tail: str = "") -> None:
        self.command = command
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        ending = "did not end" if returncode is None else f"ended with exit code {returncode}"
        detail = f"\n{stderr_tail}" if stderr_tail else ""
        super().__init__(f"{message} The command `{command}` {ending}.{detail}")
