"""A campaign's progress on a terminal: a bar with the time that is left, and a line for each network with remarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgeperf.profilers.store import Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a campaign stands.

    Attributes:
        done: networks that are finished, those of earlier calls included.
        total: networks in the queue.
        last: the one that was just finished; None where only the phase changed.
        phase: what the device is doing; empty between networks.
    """

    done: int
    total: int
    last: Finished | None = None
    phase: str = ""


class Bar:
    """Shows `Progress` on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        self._rich = Rich(
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
        )
        self._said: set[str] = set()
        self._task = self._rich.add_task("connecting")

    def __call__(self, progress: Progress) -> None:
        """Takes the news."""
        self._rich.update(self._task, completed=progress.done, total=progress.total, description=progress.phase)
        if progress.last is not None:
            self._say(progress.last)

    def _say(self, finished: Finished) -> None:
        """Prints remarks, each text once: what holds for the device is not repeated for every network."""
        remarks = [text for text in finished.measurement.warnings if text not in self._said]
        self._said.update(remarks)
        if remarks:
            line = f"{finished.key}: {'; '.join(remarks)}"
            self._rich.console.print(line, style="dim", markup=False, highlight=False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draws the bar while the block runs."""
        with self._rich:
            yield
