"""What a user names as the source of accuracies → that source."""

from __future__ import annotations

from pathlib import Path

from edgeperf.errors import InvalidInput
from search.accuracy import AccuracySource, published_accuracy

TRAININGS = "trainings.jsonl"
"""File of finished trainings in a search's directory."""


def accuracy_source(name: str, *, out: Path, scheduler: str | None = None) -> AccuracySource:
    """The source of that name.

    Args:
        name: ``published`` for published ImageNet results and predictions in between; ``score`` for a training-free
            score; or the path of a Python file that defines ``accuracy(model, genes)``.
        out: directory of the search, which keeps the results of trainings.
        scheduler: address of a Dask scheduler whose workers train.

    Raises:
        InvalidInput: there is no such source, or only a user's own training can be spread over workers.
    """
    if name.endswith(".py"):
        from search.trained_accuracy import TrainedAccuracy

        return TrainedAccuracy(Path(name), out / TRAININGS, scheduler=scheduler)
    if scheduler is not None:
        raise InvalidInput(f"A scheduler spreads trainings; the accuracy source {name} trains nothing.")
    if name == "published":
        return published_accuracy()
    if name == "score":
        from search.scored_accuracy import ScoredAccuracy

        return ScoredAccuracy()
    raise InvalidInput(
        f"Unknown accuracy source {name!r}. Known: published, score, or a Python file that defines "
        "accuracy(model, genes)."
    )
