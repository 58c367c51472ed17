"""One network on one board → its measurement, on disk.

A network that makes the board go away each time becomes a row with the status "gone".
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeperf.errors import IncompatibleData, InvalidInput, MissingExtra
from edgeperf.network import read_network
from edgeperf.profilers import onnx_export, recordings, runtimes
from edgeperf.profilers.bench import Access, Bench, GoneEachTime
from edgeperf.profilers.board import Job, OnPhase
from edgeperf.profilers.items import Item
from edgeperf.profilers.recipes import to_config
from edgeperf.profilers.reduce import reduce
from edgeperf.profilers.store import Finished, Store
from edgeperf.records import Measurement, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all networks of a campaign share.

    Attributes:
        access: how the device is reached and used.
        plan: how each measurement is taken.
    """

    access: Access
    plan: Plan


class Session:
    """A board, or this machine where `target` is None, ready to measure one network after the other.

    Raises:
        BoardError: the board cannot be used.
        IncompatibleData: it is another one than measured so far.
    """

    def __init__(self, target: str | None, settings: Settings, store: Store) -> None:
        self._plan, self._env = settings.plan, settings.access.env
        self._store = store
        self._bench = Bench(target, settings.access, workdir=store.folder / ".work")
        store.same(**self._bench.identity())

    def measure(self, item: Item, on_phase: OnPhase | None = None) -> Finished:
        """The measurement, on disk.

        Raises:
            BoardError: a person is needed; for a board that stayed away, `BoardGone`.
            MissingExtra: ONNX cannot be written.
            IncompatibleData: another framework ran it than measured so far.
        """
        tell = None if on_phase is None else lambda phase: on_phase(f"{item.key}: {phase}")
        with tempfile.TemporaryDirectory(prefix="edgeperf-job-") as folder:
            try:
                size, job = self._job(item, Path(folder))
            except MissingExtra:  # concerns every network
                raise
            except InvalidInput as problem:
                return self._failure(item, item.input_size or 0, "crashed", f"it was not measured: {problem}")
            try:
                recording, remote = self._bench.record(job, tell)
            except GoneEachTime as gone:
                return self._failure(item, size, "gone", str(gone))
            try:
                self._store.same(framework=recordings.framework(recording))
            except IncompatibleData:
                self._bench.forget(remote)  # asked again, it must be measured again
                raise
            finished = self._finish(item, size, recording)
            self._bench.forget(remote)
            return finished

    def _finish(self, item: Item, size: int, recording: Mapping[str, Any]) -> Finished:
        sensor = self._bench.sensor
        self._store.keep_recording(item.key, recording, sensor)
        run = recordings.to_raw_run(
            recording,
            network=item.key,
            device=self._bench.device(recording["state_before"]),
            plan=self._plan,
            sensor=sensor,
        )
        finished = _row(item, size, reduce(run))
        self._store.save(finished)
        return finished

    def _failure(self, item: Item, size: int, status: Any, message: str) -> Finished:
        measurement = Measurement(
            network=item.key, device=self._bench.device(), plan=self._plan, status=status, warnings=(message,)
        )
        finished = _row(item, size, measurement)
        self._store.save(finished)
        return finished

    def _job(self, item: Item, folder: Path) -> tuple[int, Job]:
        """Input size and job of an item; files are made in `folder`."""
        onnx, plan, runtime, sensor = folder / "model.onnx", self._plan, self._bench.runtime, self._bench.sensor
        if item.is_onnx and item.path is not None:
            shutil.copyfile(item.path, onnx)
            content, size = onnx.read_bytes(), read_network(item.path).input_shape[0]
        else:
            network, recipe = item.load()
            content, size = json.dumps(recipe).encode(), network.input_shape[0]
            (folder / "recipe.json").write_bytes(content)
            self._store.keep_network(item, to_config(recipe))
        job_id = f"{item.key}-{self._fingerprint(content)}"
        if runtime.name == "trtexec":
            if not item.is_onnx:
                onnx_export.export(folder / "recipe.json", onnx, batch_size=plan.batch_size)
            return size, runtimes.trtexec_job(job_id, onnx, runtime=runtime, sensor=sensor, plan=plan)
        if item.is_onnx:
            raise InvalidInput("ONNX files run under TensorRT only, which this device lacks. Pass the Keras model")
        return size, runtimes.keras_job(
            job_id, folder / "recipe.json", folder, runtime=runtime, sensor=sensor, plan=plan, env=self._env
        )

    def _fingerprint(self, content: bytes) -> str:
        """Tells recordings of this network under this plan from those of others, should a board still hold some."""
        asked = repr((self._plan, self._bench.runtime, self._bench.sensor, sorted(self._env.items())))
        return hashlib.sha256(content + asked.encode() + str(self._store.folder.resolve()).encode()).hexdigest()[:16]


def _row(item: Item, size: int, measurement: Measurement) -> Finished:
    return Finished(key=item.key, model=item.model, family=item.family, input_size=size, measurement=measurement)
