"""Models, a device and a folder → a dataset on disk: the queue of a campaign, which may be interrupted anywhere.

Each finished measurement is on disk before the next begins; a network that runs out of memory, takes too long or
crashes is a row with that status. What was interrupted goes on with `resume`: what is finished is not measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from edgeperf.profilers import cluster, page, recordings, results
from edgeperf.profilers.bench import Access, environment, uses_host_gpu
from edgeperf.profilers.board import OnPhase
from edgeperf.profilers.items import Item, expand
from edgeperf.profilers.progress import Bar, Progress
from edgeperf.profilers.reduce import reduce
from edgeperf.profilers.session import Session, Settings
from edgeperf.profilers.store import Finished, Store
from edgeperf.records import Plan

Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a campaign left behind.

    Attributes:
        finished: measurements with labels.
        failed: rows with another status than "ok".
        dataset: folder that `edgeperf.datasets.load` takes; None where no network gave a label.
        page: the HTML page with the traces.
    """

    finished: int
    failed: int
    dataset: Path | None
    page: Path


def profile(
    models: Sequence[str],
    *,
    device: str,
    out: Path,
    boards: Sequence[str] = (),
    plan: Plan | None = None,
    runtime: str = "auto",
    input_sizes: Sequence[int] = (),
    resume: bool = False,
    host_gpu: bool | None = None,
    env: Mapping[str, str] | None = None,
    ssh_config: Path | None = None,
    board_folder: str = ".cache/edgeperf",
    root: str = "/",
    patience_s: float = 3600.0,
    progress: Tell | None = None,
) -> Summary:
    """Measures networks on a device and keeps every measurement in `out`.

    Args:
        models: paths of model files, ``zoo:FAMILY``, ``zoo:FAMILY/VARIANT`` or ``zoo:all``.
        device: name that the rows carry, e.g. ``"jetson-tx2"`` or ``"host-cpu"``.
        out: folder of the campaign.
        boards: ssh targets; none measures this machine, several of a kind share the queue.
        plan: how each measurement is taken; the paper's protocol where None.
        runtime: ``"auto"``, ``"keras"`` or ``"trtexec"``.
        input_sizes: sizes in pixels to measure each network at; its own where empty.
        resume: go on with what is in `out`.
        host_gpu: without a board, whether networks run on this host's NVIDIA GPU; None: where there is one that can be
            measured and the device is not called ``"host-cpu"``.
        env: variables for what runs the networks, e.g. ``{"KERAS_BACKEND": "jax"}``.
        ssh_config: file for ``ssh -F``, where not the user's own configuration.
        board_folder: for the agent's files on a board, relative to the user's home.
        root: where the device's file system begins; another folder for a simulated board.
        patience_s: how long a board that went away is waited for.
        progress: called after each network and phase; None shows a bar on standard error.

    Returns:
        Counts, and where dataset and page lie. They are written on an interruption too.

    Raises:
        InvalidInput: a model or the folder cannot be used, or a board's name was given to this machine.
        IncompatibleData: `resume`, but the folder was begun with something else, on another machine or with another
            framework.
        BoardError: a board needs a person, or stayed away.
    """
    on_board, wanted = bool(boards), plan or Plan()
    gpu = uses_host_gpu(device, on_board=on_board, wanted=host_gpu)
    access = Access(
        device=device,
        runtime=runtime,
        host_gpu=gpu,
        sample_period_ms=wanted.sample_period_ms,
        env=environment(env, host_gpu=gpu, on_board=on_board),
        ssh_config=ssh_config,
        board_folder=board_folder,
        root=root,
        patience_s=patience_s,
    )
    settings = Settings(access=access, plan=wanted)
    queue, store = expand(models, input_sizes), Store(out)
    with store.locked():
        asked = {"device": device, "runtime": runtime, "host_gpu": gpu, "plan": wanted.to_dict(), "env": access.env}
        store.agree(asked, resume=resume)
        finished = store.keys()
        due = [item for item in queue if item.key not in finished]
        with _shown(progress) as tell:
            tell(Progress(done=len(queue) - len(due), total=len(queue)))
            try:
                _work(due, len(queue), boards, settings, store, tell)
            finally:
                summary = _write_results(store)
    return summary


def rederive(out: Path) -> Summary:
    """Labels of a campaign worked out anew from its recordings, as after a parser was mended."""
    store = Store(out)
    with store.locked():
        for done in list(store.finished()):
            kept, old = store.recording(done.key), done.measurement
            if kept is not None:
                recording, sensor = kept
                run = recordings.to_raw_run(
                    recording, network=old.network, device=old.device, plan=old.plan, sensor=sensor
                )
                store.save(replace(done, measurement=reduce(run)))
        return _write_results(store)


def _work(due: Sequence[Item], total: int, boards: Sequence[str], settings: Settings, store: Store, tell: Tell) -> None:
    done = total - len(due)

    def on_phase(phase: str) -> None:
        tell(Progress(done=done, total=total, phase=phase))

    for finished in _measured(due, boards, settings, store, on_phase):
        done += 1
        tell(Progress(done=done, total=total, last=finished))


def _measured(
    due: Sequence[Item], boards: Sequence[str], settings: Settings, store: Store, on_phase: OnPhase
) -> Iterator[Finished]:
    if len(boards) > 1 and due:
        yield from cluster.measure_on(boards, due, settings, store.folder)
    elif due:
        session = Session(boards[0] if boards else None, settings, store)
        for item in due:
            yield session.measure(item, on_phase)


def _write_results(store: Store) -> Summary:
    finished = list(store.finished())
    good = sum(done.measurement.status == "ok" for done in finished)
    return Summary(
        finished=good,
        failed=len(finished) - good,
        dataset=results.write_tables(store.folder, finished),
        page=page.write_page(store, finished),
    )


@contextmanager
def _shown(progress: Tell | None) -> Iterator[Tell]:
    """The caller's function, or a bar while the block runs."""
    if progress is not None:
        yield progress
        return
    bar = Bar()
    with bar.shown():
        yield bar
