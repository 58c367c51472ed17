"""Several boards of a kind → one queue that they share, through Dask: one worker per board, one resource per worker.

The resource keeps two networks off one board. What a worker finishes is on disk before it says so; a network whose
worker died is given to another, which first looks whether it is finished already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# mypy: disable-error-code="no-untyped-call"
# Dask's own functions carry no annotations.
from edgeperf.errors import BoardError, MissingExtra
from edgeperf.profilers.items import Item
from edgeperf.profilers.session import Session, Settings
from edgeperf.profilers.store import Finished, Store

_RESOURCE = "board"
_sessions: dict[str, Session] = {}
"""In a worker's process: its board, once connected."""


def measure_on(boards: Sequence[str], items: Sequence[Item], settings: Settings, folder: Path) -> Iterator[Finished]:
    """Measurements as they are finished.

    Raises:
        MissingExtra: Dask is not installed.
        BoardError: boards failed and left networks undone; raised when all others are done.
    """
    try:
        from distributed import Client, Nanny, Scheduler, SpecCluster, as_completed
    except ImportError:
        raise MissingExtra("Measuring on several boards at once", "cluster") from None
    workers = {
        board: {"cls": Nanny, "options": {"nthreads": 1, "resources": {_RESOURCE: 1}, "dashboard_address": None}}
        for board in boards
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": None, "host": "127.0.0.1", "port": 0}}
    problems: list[BoardError] = []
    with SpecCluster(workers=workers, scheduler=scheduler, name="edgeperf") as cluster, Client(cluster) as client:
        futures = [
            client.submit(_measure, item, settings, folder, key=item.key, resources={_RESOURCE: 1}, retries=0)
            for item in items
        ]
        for future in as_completed(futures):
            try:
                yield future.result()
            except BoardError as problem:
                problems.append(problem)
    if problems:
        raise problems[0]


def _measure(item: Item, settings: Settings, folder: Path) -> Finished:
    """Runs in a worker, whose name is its board."""
    from distributed import get_worker

    board: Any = get_worker().name
    store = Store(folder)
    earlier = store.get(item.key)
    if earlier is not None:
        return earlier
    if board not in _sessions:
        _sessions[board] = Session(board, settings, store)
    return _sessions[board].measure(item)
