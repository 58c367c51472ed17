"""One request to a running agent → the events that it answers with, while this side says that it is still there."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator
from typing import Any

HEARTBEAT_S = 5.0
GOODBYE_S = 15.0
_LONGEST_ERROR = 65536


class Conversation:
    """A context manager around the agent's process; leaving it ends the agent, and with it all that it started.

    Attributes:
        returncode: exit status, known once the events are over; None where it had to be ended.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._errors = b""
        self.returncode: int | None = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._say_goodbye()

    @property
    def stderr(self) -> str:
        """What the agent, or ssh, wrote beside the events."""
        return self._errors.decode(errors="replace")

    def events(self, request: str, limit_s: float) -> Iterator[dict[str, Any]]:
        """Events as they come, until the agent ends or `limit_s` is over."""
        end = time.monotonic() + limit_s
        self._write(request.encode() + b"\n")
        for line in self._lines(end):
            try:
                event = json.loads(line)
            except json.JSONDecodeError:  # a login message, or a line that a cut connection left
                continue
            if isinstance(event, dict) and "event" in event:
                yield event
        if time.monotonic() < end:
            self._say_goodbye()

    def _lines(self, end: float) -> Iterator[bytes]:
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            raise ValueError("the agent's output is not piped")
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while selector.get_map() and time.monotonic() < end:
                ready = selector.select(min(HEARTBEAT_S, max(0.0, end - time.monotonic())))
                self._write(b"\n")
                for key, _ in ready:
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stderr:
                        self._errors = (self._errors + chunk)[-_LONGEST_ERROR:]
                    else:
                        *lines, rest = (rest + chunk).split(b"\n")
                        yield from lines

    def _write(self, line: bytes) -> None:
        if self._process.stdin is None:
            raise ValueError("the agent's input is not piped")
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:  # it has ended; its output says why
            return

    def _say_goodbye(self) -> None:
        """Closes the agent's input, upon which it cleans up and exits; then insists."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(OSError):  # what was not yet written has no reader any more
                self._process.stdin.close()
        try:
            self.returncode = self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
