"""A user's training function → accuracies, each trained once and kept.

The function stands in a Python file of the user's, ``accuracy(model, genes)``: it gets an untrained Keras model and its
genes, trains and tests it, and gives the accuracy in percent. Every result is on disk before the next one is awaited,
so a search that ends early, or whose workers die, trains nothing twice. With a scheduler's address the models are built
and trained by Dask workers, which need edgeperf installed and a space of the user's own at the same path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput, MissingExtra
from edgeperf.zoo import Genes
from search.accuracy import Accuracies
from search.space import Candidate, space

Array = npt.NDArray[np.float64]


class TrainedAccuracy:
    """Trains candidates that were not trained before."""

    def __init__(
        self,
        file: Path,
        cache: Path,
        *,
        scheduler: str | None = None,
        on_trained: Callable[[str, float], None] = lambda _name, _accuracy: None,
    ) -> None:
        """Reads the file and what was trained before.

        Args:
            file: the user's Python file.
            cache: file of results, one JSON object per line; made if there is none.
            scheduler: address of a Dask scheduler; trains here where None.
            on_trained: called with each candidate's name and accuracy as it arrives.

        Raises:
            InvalidInput: the file defines no ``accuracy``, or the cache cannot be read.
        """
        self._source = _read_source(file)
        self._file, self._cache, self._scheduler = file, cache, scheduler
        self._on_trained = on_trained
        self._known = _read_cache(cache)

    @property
    def description(self) -> str:
        """What it is."""
        return f"Accuracy after training by {self._file.name}."

    def __call__(self, candidates: Sequence[Candidate], features: Array) -> Accuracies:  # noqa: ARG002 - the protocol
        """Accuracies of the candidates; those that are not known yet are trained.

        Raises:
            InvalidInput: the user's function failed or gave no percentage; the message names the network.
        """
        new = {candidate.name: candidate for candidate in candidates if candidate.name not in self._known}
        train = self._trained_here if self._scheduler is None else self._trained_by_workers
        for name, found in train(list(new.values())):
            self._keep(name, _percentage(found, name, self._file))
        value = np.array([self._known[candidate.name] for candidate in candidates])
        return Accuracies(value=value, low=value, high=value, provenance=tuple("trained" for _ in candidates))

    def _trained_here(self, candidates: Sequence[Candidate]) -> Iterator[tuple[str, Any]]:
        for candidate in candidates:
            yield candidate.name, train_candidate(self._source, str(self._file), _home(candidate), candidate.genes)

    def _trained_by_workers(self, candidates: Sequence[Candidate]) -> Iterator[tuple[str, Any]]:
        """Results in the order in which they arrive; a worker that dies has its networks trained by another."""
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise MissingExtra("Training on several machines", "cluster") from None
        with Client(self._scheduler) as client:  # type: ignore[no-untyped-call]
            futures = {
                client.submit(
                    train_candidate, self._source, str(self._file), _home(candidate), dict(candidate.genes),
                    key=f"train-{candidate.name}", retries=2, pure=False,
                ): candidate.name
                for candidate in candidates
            }  # fmt: skip
            for future in as_completed(list(futures)):  # type: ignore[no-untyped-call]
                yield futures[future], future.result()

    def _keep(self, name: str, accuracy: float) -> None:
        with self._cache.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"network": name, "accuracy": accuracy}) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
        self._known[name] = accuracy
        self._on_trained(name, accuracy)


def train_candidate(source: str, file: str, home: str, genes: Genes) -> Any:
    """What the user's function gives for one network, which is built here; runs on a worker where there are any.

    Raises:
        InvalidInput: the function failed.
    """
    function = _function(source, file)
    candidate = Candidate(family=space([home]).families[0], genes=genes)
    model = candidate.family.keras_model(genes)
    try:
        return function(model, dict(genes))
    except Exception as error:  # a user's code may raise anything
        raise InvalidInput(f"{file} failed for {candidate.name}: {type(error).__name__}: {error}.") from error


def _home(candidate: Candidate) -> str:
    """What names the candidate's family on any machine: the zoo's name, or the path of the user's file."""
    return str(getattr(candidate.family, "path", candidate.family.name))


def _percentage(found: Any, name: str, file: Path) -> float:
    try:
        accuracy = float(found)
    except (TypeError, ValueError):
        accuracy = float("nan")
    if not 0.0 <= accuracy <= 100.0:
        raise InvalidInput(f"{file} gave {found!r} for {name}; expected its accuracy in percent, from 0 to 100.")
    return accuracy


def _read_source(file: Path) -> str:
    if not file.is_file():
        raise InvalidInput(f"No such file: {file}. Expected a Python file that defines accuracy(model, genes).")
    source = file.read_text(encoding="utf-8")
    _function(source, str(file))
    return source


def _function(source: str, file: str) -> Callable[[Any, Mapping[str, Any]], Any]:
    namespace: dict[str, Any] = {"__name__": "edgeperf_user_training", "__file__": file}
    try:
        exec(compile(source, file, "exec"), namespace)  # noqa: S102 - the user's own file, named by the user
    except Exception as error:  # a user's code may raise anything
        raise InvalidInput(f"{file} cannot be run: {type(error).__name__}: {error}.") from error
    function = namespace.get("accuracy")
    if not callable(function):
        raise InvalidInput(
            f"{file} must define accuracy(model, genes), which trains and gives the accuracy in percent."
        )
    found: Callable[[Any, Mapping[str, Any]], Any] = function
    return found


def _read_cache(cache: Path) -> dict[str, float]:
    """Results by name; a last line that a kill cut short is dropped."""
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        return {}
    known: dict[str, float] = {}
    lines = cache.read_text(encoding="utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            known[row["network"]] = float(row["accuracy"])
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InvalidInput(f"{cache}, line {number} is no result of a training; remove that line.") from None
            _cut(cache, lines[:-1])
    return known


def _cut(cache: Path, lines: Sequence[str]) -> None:
    partial = cache.with_name(f"{cache.name}.partial")
    partial.write_text("".join(lines), encoding="utf-8")
    partial.replace(cache)
