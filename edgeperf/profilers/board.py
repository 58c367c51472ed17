"""One board: what it is, and recordings of jobs that ran on it.

A job is carried out by one agent process (`edgeperf.profilers.board_agent`). While it runs, this side says at short
intervals that it is still there; should it die, the agent ends everything and exits. A recording stays on the board
until this side has it and says so: `Board.measure` first looks whether the board holds it already.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgeperf.errors import BoardError, EdgePerfError, InvalidInput
from edgeperf.profilers.conversation import Conversation
from edgeperf.profilers.transport import AGENT, CLOCK, INFERENCE, OPERATIONS, BoardBusy, BoardGone, Connection

OnPhase = Callable[[str], None]
LEASE_S = 30.0
"""How long an agent goes on without a sign of its host."""
_ANSWER_LIMIT_S = 60.0
_HOST_GONE, _TIMED_OUT = 3, 124
_ADVICE = {
    "busy": "Somebody else measures there: wait until they have finished.",
    "disk": "The board's disk is full: free some space there.",
    "request": "Is the agent's folder writable there?",
}
_CLOCK_ADVICE = (
    "Measure as a user with the right to write devfreq's limits (without devfreq: to run nvidia-smi "
    "--lock-gpu-clocks), as a rule root, or leave out --gpu-clock."
)
_LARGEST_RECORDING = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the agent found on the board; see `edgeperf.profilers.state` for what the files mean.

    Attributes:
        state: path below the root → text.
        sensors: the same, for names of sensors.
        tools: program → where it lies.
        recordings: id → digest of recordings that wait to be fetched.
        python: version of the interpreter that runs the agent.
        processor: name of the first core; empty where the kernel does not say.
    """

    state: Mapping[str, str]
    sensors: Mapping[str, str]
    tools: Mapping[str, str]
    recordings: Mapping[str, str]
    machine: str
    cores: int
    free_mib: int
    python: str
    processor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the agent shall do for one network.

    Attributes:
        id: names the recording; the same job has the same id.
        files: name in the work folder → file here that is copied there first.
        steps: commands, see the agent's docstring.
        sensor: what records power, see there; None for nothing.
        timeout_s: of all steps together.
        gpu_mhz: clock to keep the GPU at meanwhile; None leaves it alone.
    """

    id: str
    files: Mapping[str, Path]
    steps: tuple[Mapping[str, Any], ...]
    sensor: Mapping[str, Any] | None
    idle_s: float
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    gpu_mhz: float | None = None


class Board:
    """A machine with the agent on it.

    Args:
        connection: how to reach it.
        root: where its file system begins; another folder for a board that is simulated.
    """

    def __init__(self, connection: Connection, *, root: str = "/") -> None:
        self.connection = connection
        self._root = root

    def prepare(self) -> Facts:
        """Copies the agent there and asks it what the board is.

        Raises:
            BoardError: the board cannot be used, or (`BoardGone`) does not answer.
        """
        self.connection.put({path.name: path for path in (AGENT, CLOCK, INFERENCE, OPERATIONS)})
        answers = self._ask({"op": "inspect"}, _ANSWER_LIMIT_S, None)
        facts = answers["facts"]
        known = {name: facts[name] for name in Facts.__dataclass_fields__ if name in facts}
        return Facts(**known, python=answers["hello"]["python"])

    def measure(self, job: Job, on_phase: OnPhase | None = None) -> tuple[dict[str, Any], str]:
        """The recording of a job, and where it still lies on the board.

        Raises:
            BoardError: the agent failed, or refused (`BoardBusy`), or the board went away (`BoardGone`).
            InvalidInput: the GPU's clock cannot be set there; nothing was run.
        """
        waiting = self.prepare().recordings
        if job.id in waiting:
            remote = f"{self.connection.workdir}/recordings/{job.id}.json.gz"
            return self._fetch(remote, waiting[job.id]), remote
        self.connection.put(job.files)
        request = {
            "op": "measure",
            "id": job.id,
            "lease_s": LEASE_S,
            "idle_s": job.idle_s,
            "env": dict(job.env),
            "sensor": job.sensor,
            "gpu_mhz": job.gpu_mhz,
            "steps": [dict(step) for step in job.steps],
        }
        done = self._ask(request, job.timeout_s + 2 * job.idle_s + _ANSWER_LIMIT_S, on_phase)["done"]
        return self._fetch(done["path"], done["sha256"]), done["path"]

    def forget(self, remote: str) -> None:
        """Deletes a recording from the board, once it is safe here."""
        self.connection.remove(remote)

    def _fetch(self, remote: str, sha256: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="edgeperf-fetch-") as folder:
            local = Path(folder) / "recording.json.gz"
            self.connection.get(remote, local)
            if hashlib.sha256(local.read_bytes()).hexdigest() != sha256:
                raise BoardGone("A recording arrived damaged.", command=f"sftp get {remote}", returncode=None)
            with gzip.open(local) as stream:
                recording: dict[str, Any] = json.loads(stream.read(_LARGEST_RECORDING))
        return recording

    def _ask(self, request: dict[str, Any], limit_s: float, on_phase: OnPhase | None) -> dict[str, Any]:
        """The agent's events by name, the last of each."""
        line = json.dumps({"root": self._root, "workdir": self.connection.workdir, **request})
        events: dict[str, Any] = {}
        with Conversation(self.connection.start_agent(deadline_s=limit_s)) as conversation:
            for event in conversation.events(line, limit_s):
                events[event["event"]] = event
                if event["event"] == "phase" and on_phase:
                    on_phase(event["name"])
        if not events.keys() & {"done", "facts"}:
            raise self._explain(events.get("failed"), conversation)
        return events

    def _explain(self, failed: Mapping[str, str] | None, conversation: Conversation) -> EdgePerfError:
        name, returncode = self.connection.name, conversation.returncode
        if failed and failed["reason"] == "clock":
            return InvalidInput(f"{name}: {failed['message']}. {_CLOCK_ADVICE}")
        if failed:
            message = f"{name}: {failed['message']}. {_ADVICE[failed['reason']]}"
            kind = BoardBusy if failed["reason"] == "busy" else BoardError
            return kind(message, command=AGENT.name, returncode=returncode)
        if returncode in (None, _HOST_GONE, _TIMED_OUT):
            return BoardGone(f"The agent on {name} was cut off.", command=AGENT.name, returncode=returncode)
        return self.connection.explain(returncode, conversation.stderr, AGENT.name)
