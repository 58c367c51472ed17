"""A board's address → files copied to and from it, and the agent started on it.

Over ssh, the system's own `ssh` and `sftp` do the work, so that the user's configuration, jump hosts, agent and known
hosts apply. Host keys are strict, nothing ever asks for a password, and one connection carries everything. `Local`
does the same on this machine.

Two kinds of failure are told apart: a `BoardGone` may pass by itself (no route, no answer, connection cut), any other
`BoardError` needs a person (unknown host key, no permission, missing Python).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgeperf.errors import BoardError, InvalidInput

AGENT = Path(__file__).with_name("board_agent.py")
CLOCK = Path(__file__).with_name("board_clock.py")
INFERENCE = Path(__file__).with_name("board_inference.py")
OPERATIONS = Path(__file__).with_name("board_operations.py")
COPY_TIMEOUT_S = 300.0
CONNECT_TIMEOUT_S = 10
_CUT_OFF = frozenset({None, 255, 128 + signal.SIGHUP, 128 + signal.SIGKILL, 128 + signal.SIGTERM})
"""Exit codes of ssh without a connection, and of an agent that was killed, as when a board shuts down."""
_CONNECTION_LOST = re.compile(r"connection (?:closed|reset|lost|timed out)|lost connection|broken pipe", re.IGNORECASE)
_COMMAND_MISSING = 127
_HOST_KEY_ADVICE = (
    "The board's host key is unknown or has changed. On the board, print it with "
    "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`; then connect once by hand with `ssh {target}` and compare."
)
_PERSON_NEEDED = {
    "Host key verification failed": _HOST_KEY_ADVICE,
    "REMOTE HOST IDENTIFICATION HAS CHANGED": _HOST_KEY_ADVICE,
    "Permission denied": "The board refuses the key. Copy yours there with `ssh-copy-id {target}`.",
    "Could not resolve hostname": "No such host. Check the name, or give it an entry in ~/.ssh/config.",
    "Bad configuration option": "ssh cannot read its configuration.",
    "No space left": "The board's disk is full. Free some space there.",
}


class BoardGone(BoardError):  # noqa: N818 - a state of the board, not only an error
    """The board does not answer now, and may answer later."""


class BoardBusy(BoardError):  # noqa: N818 - as above
    """Another measurement runs there, perhaps one whose host has just died."""


class Connection(Protocol):
    """A machine on which the agent can run."""

    name: str
    workdir: str
    python: str

    def put(self, files: Mapping[str, Path]) -> None:
        """Copies files into the work folder, under the names that are the keys; each appears whole."""

    def get(self, remote: str, local: Path) -> None:
        """Copies one file from the absolute path `remote`."""

    def remove(self, remote: str) -> None:
        """Deletes one file."""

    def start_agent(self, *, deadline_s: float) -> subprocess.Popen[bytes]:
        """The agent, waiting for its request on standard input; ended by force after `deadline_s`."""

    def explain(self, returncode: int | None, stderr: str, command: str) -> BoardError:
        """What went wrong when the agent ended without an answer."""


class Local:
    """This machine.

    Args:
        workdir: folder for the agent's files.
    """

    def __init__(self, workdir: Path) -> None:
        self.name = "this machine"
        self.workdir = str(workdir.resolve())
        self.python = sys.executable
        workdir.mkdir(parents=True, exist_ok=True)

    def put(self, files: Mapping[str, Path]) -> None:
        """Copies files into the work folder, under the names that are the keys; each appears whole."""
        for name, path in files.items():
            part = Path(self.workdir) / f"{name}.part"
            shutil.copyfile(path, part)
            part.replace(Path(self.workdir) / name)

    def get(self, remote: str, local: Path) -> None:
        """Copies one file from the absolute path `remote`."""
        shutil.copyfile(remote, local)

    def remove(self, remote: str) -> None:
        """Deletes one file."""
        Path(remote).unlink(missing_ok=True)

    def start_agent(self, *, deadline_s: float) -> subprocess.Popen[bytes]:
        """The agent, waiting for its request on standard input; ended by force after `deadline_s`."""
        command = [
            "timeout",
            "--kill-after=10",
            str(int(deadline_s)),
            self.python,
            str(Path(self.workdir) / AGENT.name),
        ]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.workdir
        )

    def explain(self, returncode: int | None, stderr: str, command: str) -> BoardError:
        """What went wrong when the agent ended without an answer."""
        return BoardError("The agent failed.", command=command, returncode=returncode, stderr_tail=stderr[-2000:])


class Ssh:
    """A board behind ssh.

    Args:
        target: as for `ssh`: a host, ``user@host``, or a name of the user's configuration.
        workdir: folder on the board, relative to the user's home.
        config_file: read instead of the user's configuration, as with ``ssh -F``.
        python: interpreter on the board.
    """

    def __init__(
        self,
        target: str,
        *,
        workdir: str = ".cache/edgeperf",
        config_file: Path | None = None,
        python: str = "python3",
    ) -> None:
        if not target or target.startswith("-") or any(character.isspace() for character in target):
            raise InvalidInput(f"{target!r} is no board. Expected user@host, or a name of your ssh configuration.")
        self.name = target
        self.workdir = workdir
        self.python = python
        own = ["-F", str(config_file)] if config_file else []
        self._options = [*own, *_options(_socket_folder())]

    def put(self, files: Mapping[str, Path]) -> None:
        """Copies files into the work folder, under the names that are the keys; each appears whole."""
        self._run(["ssh", *self._options, self.name, f"mkdir -p {shlex.quote(self.workdir)}"])
        lines = []
        for name, path in files.items():
            remote = f"{self.workdir}/{name}"
            # sftp renames over an existing file only where the server knows the POSIX extension, as OpenSSH does
            lines += [
                f"put {_quote(str(path))} {_quote(remote + '.part')}",
                f"rename {_quote(remote + '.part')} {_quote(remote)}",
            ]
        self._sftp(lines)

    def get(self, remote: str, local: Path) -> None:
        """Copies one file from the absolute path `remote`."""
        self._sftp([f"get {_quote(remote)} {_quote(str(local))}"])

    def remove(self, remote: str) -> None:
        """Deletes one file."""
        self._sftp([f"rm {_quote(remote)}"])

    def start_agent(self, *, deadline_s: float) -> subprocess.Popen[bytes]:
        """The agent, waiting for its request on standard input; ended by force after `deadline_s`."""
        agent = shlex.quote(f"{self.workdir}/{AGENT.name}")
        remote = f"exec timeout --kill-after=10 {int(deadline_s)} {shlex.quote(self.python)} {agent}"
        command = ["ssh", *self._options, self.name, remote]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def explain(self, returncode: int | None, stderr: str, command: str) -> BoardError:
        """What went wrong when the agent, ssh or sftp ended without an answer."""
        tail = "\n".join(stderr.strip().splitlines()[-5:])
        for text, advice in _PERSON_NEEDED.items():
            if text in stderr:
                message = advice.format(target=self.name)
                return BoardError(message, command=command, returncode=returncode, stderr_tail=tail)
        if returncode == _COMMAND_MISSING:
            message = f"{self.name} lacks {self.python} or `timeout`. Install Python 3.6 or later and coreutils there."
            return BoardError(message, command=command, returncode=returncode, stderr_tail=tail)
        if returncode in _CUT_OFF or _CONNECTION_LOST.search(stderr):
            return BoardGone(f"{self.name} does not answer.", command=command, returncode=returncode, stderr_tail=tail)
        message = f"{self.name} cannot do what was asked for."
        return BoardError(message, command=command, returncode=returncode, stderr_tail=tail)

    def _sftp(self, lines: Sequence[str]) -> None:
        self._run(["sftp", "-q", *self._options, "-b", "-", self.name], "\n".join(lines) + "\n")

    def _run(self, command: list[str], text: str = "") -> None:
        shown = shlex.join([command[0], self.name, *text.splitlines()[:1]])
        try:
            done = subprocess.run(
                command,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COPY_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BoardGone(f"{self.name} stopped answering.", command=shown, returncode=None) from None
        if done.returncode != 0:
            raise self.explain(done.returncode, done.stderr, shown)


def _options(sockets: Path) -> list[str]:
    wanted = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ConnectTimeout": CONNECT_TIMEOUT_S,
        "ServerAliveInterval": 5,
        "ServerAliveCountMax": 3,
        "ControlMaster": "auto",
        "ControlPath": f"{sockets}/%C",
        "ControlPersist": 30,
    }
    return [part for name, value in wanted.items() for part in ("-o", f"{name}={value}")]


def _socket_folder() -> Path:
    """A folder of this user alone, with a path short enough for a socket."""
    folder = Path(tempfile.gettempdir()) / f"edgeperf-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise InvalidInput(f"{folder} belongs to somebody else, or others may enter it. Remove it, or set TMPDIR.")
    return folder


def _quote(path: str) -> str:
    """`path` for a line of sftp's batch, which knows quotes and backslashes."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
