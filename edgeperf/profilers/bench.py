"""A board, or this machine, ready to carry out one job after the other, through everything that boards do meanwhile.

A board that goes away is waited for, and the job tried again. What needs a person (a wrong host key, a full disk) is an
error with a message.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from edgeperf.errors import BoardError, InvalidInput
from edgeperf.profilers import naming, nvml, runtimes, sensors, state
from edgeperf.profilers.board import LEASE_S, Board, Facts, Job, OnPhase
from edgeperf.profilers.runtimes import Runtime
from edgeperf.profilers.sensors import Sensor
from edgeperf.profilers.transport import BoardBusy, BoardGone, Connection, Local, Ssh
from edgeperf.records import Device

T = TypeVar("T")
HOST_CPU = "host-cpu"
_CPU_ENV = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
"""Keeps frameworks off a GPU that the host may have."""
_GPU_ENV = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
"""Frameworks take GPU memory as they need it, so that what NVML shows is the network's."""
_CLEAN_UP_S = 15.0
_SAID_AGAIN_S = 300.0
_log = logging.getLogger(__name__)
"""Where nobody sets up logging, Python writes warnings to standard error."""


class GoneEachTime(BoardError):  # noqa: N818 - a state of the board, not only an error
    """The board went away whenever it carried out one job, and came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a device is reached and used.

    Attributes:
        device: name that the rows carry.
        runtime: ``"auto"``, ``"keras"`` or ``"trtexec"``.
        host_gpu: whether networks run on this host's NVIDIA GPU.
        sample_period_ms: wanted time between two readings of the power sensor.
        env: variables for what runs the network, e.g. KERAS_BACKEND.
        ssh_config: configuration file for ssh, where not the user's own.
        board_folder: for the agent's files on a board, relative to the user's home.
        root: where the device's file system begins; another folder for a simulated board.
        attempts: how often a job is tried on a board that goes away.
        patience_s: how long a board that is away is waited for.
    """

    device: str
    runtime: str = "auto"
    host_gpu: bool = False
    sample_period_ms: float
    env: Mapping[str, str] = field(default_factory=dict)
    ssh_config: Path | None = None
    board_folder: str = ".cache/edgeperf"
    root: str = "/"
    attempts: int = 3
    patience_s: float = 3600.0


def uses_host_gpu(device: str, *, on_board: bool, wanted: bool | None) -> bool:
    """Whether networks run on this host's NVIDIA GPU: as `wanted`, else where there is one that can be measured.

    Raises:
        InvalidInput: the device has no name; or without a board, that of a board or of a GPU that would not be measured
            here, and figures must not be filed under it.
    """
    if not device.strip():
        raise InvalidInput(
            f"{device!r} is no name for a device. Expected what its figures are to be filed under: for this machine's "
            f"CPU {HOST_CPU}, for a board its name in `edgeperf devices`, or a name of your own."
        )
    if on_board:
        return False
    missing = naming.why_no_gpu()
    on_gpu = wanted if wanted is not None else device != HOST_CPU and missing is None
    why_cpu = None if on_gpu else missing or "a run on the CPU was asked for"
    why_not = naming.why_not_here(device, why_cpu=why_cpu)
    if why_not is not None:
        raise InvalidInput(
            f"{device} is no name for this machine: {why_not}. Name the board with --board user@host, or measure this "
            f"machine under another name: {HOST_CPU} for its CPU."
        )
    return on_gpu


def environment(env: Mapping[str, str] | None, *, host_gpu: bool, on_board: bool) -> dict[str, str]:
    """The variables that keep frameworks on or off the host's GPU, then those of the user."""
    own = _GPU_ENV if host_gpu else {} if on_board else _CPU_ENV
    return {**own, **(env or {})}


class Bench:
    """The board `target`, or this machine where it is None.

    Attributes:
        facts: what the agent found there.
        runtime: how networks run there.
        sensor: what records power there.

    Raises:
        BoardError: the board cannot be used.
    """

    def __init__(self, target: str | None, access: Access, *, workdir: Path) -> None:
        self._access = access
        connection: Connection = (
            Local(workdir)
            if target is None
            else Ssh(target, workdir=access.board_folder, config_file=access.ssh_config)
        )
        self._connection = connection
        self._board = Board(connection, root=access.root)
        self._survey()

    def record(self, job: Job, on_phase: OnPhase | None = None) -> tuple[dict[str, Any], str]:
        """The recording of a job, and where it still lies on the board.

        Raises:
            GoneEachTime: the board went away whenever it was tried.
            BoardError: a person is needed; for a board that stayed away, `BoardGone`.
            InvalidInput: the GPU's clock cannot be set as the job asks for.
        """
        for attempt in range(1, self._access.attempts + 1):
            try:
                return self._wait_for_turn(job, on_phase)
            except BoardGone as gone:
                self._survey()
                if attempt == self._access.attempts:
                    message = f"the board went away {attempt} times: {gone}"
                    raise GoneEachTime(message, command=gone.command, returncode=gone.returncode) from None
        raise ValueError("attempts must be at least 1")

    def forget(self, remote: str) -> None:
        """Deletes a recording from the board, once it is safe here."""
        try:
            self._board.forget(remote)
        except BoardGone:  # it stays there and is overwritten, never taken twice: the measurement is finished here
            return

    def device(self, files: Mapping[str, str] | None = None) -> Device:
        """What it is, by the state that was found in `files`, or when it was surveyed."""
        found, facts = self.facts.state if files is None else files, self.facts
        return Device(
            name=self._access.device,
            board=state.board_model(found) or f"{facts.machine}, {facts.cores} cores",
            power_mode=state.power_mode(found),
            clocks_locked=state.clocks_locked(found),
            runtime=self.runtime.name,
            os_release=state.os_release(found),
        )

    def identity(self) -> dict[str, str | None]:
        """What must not change within a campaign: which machine it is, and its system; None = not known."""
        found, facts = self.facts.state, self.facts
        host = f"{facts.machine}, {facts.cores} cores, {facts.processor or 'unknown processor'}"
        gpu = nvml.identity() if self._access.host_gpu else None
        machine = state.board_model(found) or (f"{host}, {gpu[0]}" if gpu else host)
        return {"machine": machine, "system": state.os_release(found)}

    def _wait_for_turn(self, job: Job, on_phase: OnPhase | None) -> tuple[dict[str, Any], str]:
        """The recording and its place, once an agent whose host has died lets the board go."""
        patience_s = min(self._access.patience_s, LEASE_S + _CLEAN_UP_S)
        return _patiently(lambda: self._board.measure(job, on_phase), BoardBusy, patience_s, self._connection.name)

    def _survey(self) -> None:
        """Waits for the board and looks what it has."""
        access = self._access
        self.facts: Facts = _patiently(self._board.prepare, BoardGone, access.patience_s, self._connection.name)
        self.runtime: Runtime = runtimes.choose(self.facts, access.runtime, python=self._connection.python)
        self.sensor: Sensor = sensors.choose(
            self.facts, root=access.root, period_ms=access.sample_period_ms, host_gpu=access.host_gpu
        )


def _patiently(action: Callable[[], T], passing: type[BoardError], patience_s: float, name: str) -> T:
    """What `action` returns once it no longer raises `passing`; what is waited for is logged at once and now and then.

    Raises:
        BoardError: it still did after `patience_s`, or it raised something else.
    """
    begin, pause_s, said, said_at = time.monotonic(), 2.0, "", 0.0
    since, until = (time.strftime("%H:%M:%S", time.localtime(time.time() + after)) for after in (0.0, patience_s))
    while True:
        try:
            found = action()
        except passing as problem:
            now = time.monotonic()
            if now + pause_s > begin + patience_s:
                raise
            why = _reason(problem)
            if why != said or now > said_at + _SAID_AGAIN_S:
                _log.warning("Waiting for %s since %s, until %s at the latest: %s", name, since, until, why)
                said, said_at = why, now
        else:
            if said:
                _log.warning("%s answers again.", name)
            return found
        time.sleep(pause_s)
        pause_s = min(60.0, 1.5 * pause_s)


def _reason(problem: BoardError) -> str:
    """The last line that ssh or the agent wrote; the whole message where they wrote none."""
    return (problem.stderr_tail.strip().splitlines() or [str(problem)])[-1]
