"""One network on one board → its measurement, through everything that boards are known to do meanwhile.

A board that goes away is waited for, and the network tried again; a network that makes it go away each time becomes a
row with the status "gone". What needs a person (a wrong host key, a full disk) ends the campaign with a message.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from edgeperf.errors import BoardError, InvalidInput, MissingExtra
from edgeperf.network import read_network
from edgeperf.profilers import onnx_export, recordings, runtimes, sensors, state
from edgeperf.profilers.board import LEASE_S, Board, Facts, Job, OnPhase
from edgeperf.profilers.items import Item
from edgeperf.profilers.recipes import to_config
from edgeperf.profilers.reduce import reduce
from edgeperf.profilers.runtimes import Runtime
from edgeperf.profilers.sensors import Sensor
from edgeperf.profilers.store import Finished, Store
from edgeperf.profilers.transport import BoardBusy, BoardGone, Connection, Local, Ssh
from edgeperf.records import Device, Measurement, Plan

T = TypeVar("T")
_CLEAN_UP_S = 15.0
GPU_ENV = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
"""Frameworks take GPU memory as they need it, so that what NVML shows is the network's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all networks of a campaign share.

    Attributes:
        device: name that the rows carry.
        plan: how each measurement is taken.
        runtime: ``"auto"``, ``"keras"`` or ``"trtexec"``.
        host_gpu: whether networks run on this host's NVIDIA GPU.
        env: variables for what runs the network, e.g. KERAS_BACKEND.
        ssh_config: configuration file for ssh, where not the user's own.
        board_folder: for the agent's files on a board, relative to the user's home.
        root: where the device's file system begins; another folder for a simulated board.
        attempts: how often a network is tried on a board that goes away.
        patience_s: how long a board that is away is waited for.
    """

    device: str
    plan: Plan
    runtime: str = "auto"
    host_gpu: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    ssh_config: Path | None = None
    board_folder: str = ".cache/edgeperf"
    root: str = "/"
    attempts: int = 3
    patience_s: float = 3600.0


class Session:
    """A board, or this machine where `target` is None, ready to measure one network after the other.

    Raises:
        BoardError: the board cannot be used.
    """

    def __init__(self, target: str | None, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        connection: Connection = (
            Local(store.folder / ".work")
            if target is None
            else Ssh(target, workdir=settings.board_folder, config_file=settings.ssh_config)
        )
        self._connection = connection
        self._board = Board(connection, root=settings.root)
        self._survey(self._wait_for_board())

    def measure(self, item: Item, on_phase: OnPhase | None = None) -> Finished:
        """The measurement, on disk.

        Raises:
            BoardError: a person is needed; for a board that stayed away, `BoardGone`.
            MissingExtra: ONNX cannot be written.
        """
        tell = None if on_phase is None else lambda phase: on_phase(f"{item.key}: {phase}")
        with tempfile.TemporaryDirectory(prefix="edgeperf-job-") as folder:
            try:
                size, job = self._job(item, Path(folder))
            except MissingExtra:  # concerns every network
                raise
            except InvalidInput as problem:
                return self._failure(item, item.input_size or 0, "crashed", f"it was not measured: {problem}")
            return self._run(item, size, job, tell)

    def _run(self, item: Item, size: int, job: Job, on_phase: OnPhase | None) -> Finished:
        for attempt in range(self._settings.attempts):
            try:
                recording, remote = self._wait_for_turn(job, on_phase)
            except BoardGone as gone:
                self._survey(self._wait_for_board())
                if attempt + 1 == self._settings.attempts:
                    return self._failure(item, size, "gone", f"the board went away {attempt + 1} times: {gone}")
                continue
            finished = self._finish(item, size, recording)
            self._forget(remote)
            return finished
        raise ValueError("attempts must be at least 1")

    def _wait_for_board(self) -> Facts:
        return _patiently(self._board.prepare, BoardGone, self._settings.patience_s)

    def _wait_for_turn(self, job: Job, on_phase: OnPhase | None) -> tuple[dict[str, Any], str]:
        """The recording and its place, once an agent whose host has died lets the board go."""
        patience_s = min(self._settings.patience_s, LEASE_S + _CLEAN_UP_S)
        return _patiently(lambda: self._board.measure(job, on_phase), BoardBusy, patience_s)

    def _finish(self, item: Item, size: int, recording: Mapping[str, Any]) -> Finished:
        self._store.keep_recording(item.key, recording, self._sensor)
        run = recordings.to_raw_run(
            recording,
            network=item.key,
            device=_device(self._settings.device, self._runtime, recording["state_before"], self._facts),
            plan=self._settings.plan,
            sensor=self._sensor,
        )
        finished = _row(item, size, reduce(run))
        self._store.save(finished)
        return finished

    def _failure(self, item: Item, size: int, status: Any, message: str) -> Finished:
        device = _device(self._settings.device, self._runtime, self._facts.state, self._facts)
        measurement = Measurement(
            network=item.key, device=device, plan=self._settings.plan, status=status, warnings=(message,)
        )
        finished = _row(item, size, measurement)
        self._store.save(finished)
        return finished

    def _survey(self, facts: Facts) -> None:
        settings = self._settings
        self._facts = facts
        self._runtime: Runtime = runtimes.choose(facts, settings.runtime, python=self._connection.python)
        self._sensor: Sensor = sensors.choose(
            facts, root=settings.root, period_ms=settings.plan.sample_period_ms, host_gpu=settings.host_gpu
        )

    def _job(self, item: Item, folder: Path) -> tuple[int, Job]:
        """Input size and job of an item; files are made in `folder`."""
        onnx, plan = folder / "model.onnx", self._settings.plan
        if item.is_onnx and item.path is not None:
            shutil.copyfile(item.path, onnx)
            content, size = onnx.read_bytes(), read_network(item.path).input_shape[0]
        else:
            network, recipe = item.load()
            content, size = json.dumps(recipe).encode(), network.input_shape[0]
            (folder / "recipe.json").write_bytes(content)
            self._store.keep_network(item, to_config(recipe))
        job_id = f"{item.key}-{self._fingerprint(content)}"
        if self._runtime.name == "trtexec":
            if not item.is_onnx:
                onnx_export.export(folder / "recipe.json", onnx, batch_size=plan.batch_size)
            return size, runtimes.trtexec_job(job_id, onnx, runtime=self._runtime, sensor=self._sensor, plan=plan)
        if item.is_onnx:
            raise InvalidInput("ONNX files run under TensorRT only, which this device lacks. Pass the Keras model")
        env = {**(GPU_ENV if self._settings.host_gpu else {}), **self._settings.env}
        return size, runtimes.keras_job(
            job_id, folder / "recipe.json", folder, runtime=self._runtime, sensor=self._sensor, plan=plan, env=env
        )

    def _fingerprint(self, content: bytes) -> str:
        """Tells recordings of this network under this plan from those of others, should a board still hold some."""
        asked = repr((self._settings.plan, self._runtime, self._sensor, sorted(self._settings.env.items())))
        return hashlib.sha256(content + asked.encode() + str(self._store.folder.resolve()).encode()).hexdigest()[:16]

    def _forget(self, remote: str) -> None:
        try:
            self._board.forget(remote)
        except BoardGone:  # it stays there and is overwritten, never taken twice: the measurement is finished here
            return


def _patiently(action: Callable[[], T], passing: type[BoardError], patience_s: float) -> T:
    """What `action` returns once it no longer raises `passing`.

    Raises:
        BoardError: it still did after `patience_s`, or it raised something else.
    """
    end, pause_s = time.monotonic() + patience_s, 2.0
    while True:
        try:
            return action()
        except passing:
            if time.monotonic() + pause_s > end:
                raise
        time.sleep(pause_s)
        pause_s = min(60.0, 1.5 * pause_s)


def _row(item: Item, size: int, measurement: Measurement) -> Finished:
    return Finished(key=item.key, model=item.model, family=item.family, input_size=size, measurement=measurement)


def _device(name: str, runtime: Runtime, files: Mapping[str, str], facts: Facts) -> Device:
    return Device(
        name=name,
        board=state.board_model(files) or f"{facts.machine}, {facts.cores} cores",
        power_mode=state.power_mode(files),
        clocks_locked=state.clocks_locked(files),
        runtime=runtime.name,
        os_release=state.os_release(files),
    )
