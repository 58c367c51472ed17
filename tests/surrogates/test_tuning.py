"""Tuning: seeded, resumable, never outside the paper's ranges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import pytest

from edgeperf.datasets import Dataset
from edgeperf.surrogates import train
from edgeperf.surrogates.algorithms import ALGORITHMS
from edgeperf.surrogates.configuration import DEFAULTS, configuration
from edgeperf.surrogates.paper import PAPER_FEATURES
from edgeperf.surrogates.rows import Corpus
from edgeperf.surrogates.store import read
from edgeperf.surrogates.tuning import select_features, tune

TARGETS = [
    (device, metric)
    for device in ("jetson-nano", "jetson-tx2", "jetson-agx-xavier")
    for metric in ("latency_ms", "power_mw", "energy_mj", "memory_mib")
]


def test_the_same_seed_tries_the_same(prepared: Corpus) -> None:
    training = prepared.training("board-a", "latency_ms")
    first, second = (tune("poly", training, trials=6, seed=3) for _ in range(2))
    assert first.configuration == second.configuration
    assert first.cv_mape == second.cv_mape


def test_an_interrupted_study_goes_on(prepared: Corpus, tmp_path: Path) -> None:
    training = prepared.training("board-a", "latency_ms")
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    tune("poly", training, trials=3, seed=0, storage=storage)
    tune("poly", training, trials=5, seed=0, storage=storage)
    (summary,) = optuna.get_all_study_summaries(storage)
    assert summary.n_trials == 5


def test_tuning_is_never_worse_than_the_default(prepared: Corpus) -> None:
    training = prepared.training("board-b", "power_mw")
    one, more = (tune("poly", training, trials=trials, seed=0) for trials in (1, 8))
    assert more.cv_mape <= one.cv_mape


def test_selection_keeps_features_of_the_paper_in_some_order(prepared: Corpus) -> None:
    chosen = select_features(prepared.training("board-a", "latency_ms"), seed=0)
    assert chosen
    assert set(chosen) <= set(PAPER_FEATURES)
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_defaults_lie_in_the_papers_ranges(name: str) -> None:
    suggested = ALGORITHMS[name].suggest(optuna.trial.FixedTrial(DEFAULTS[name]))
    assert suggested == DEFAULTS[name]


@pytest.mark.parametrize(("device", "metric"), TARGETS)
def test_every_shipped_target_has_tuned_parameters(device: str, metric: str) -> None:
    for name in ALGORITHMS:
        found = configuration(name, device, metric)
        assert found.selected
        assert ALGORITHMS[name].suggest(optuna.trial.FixedTrial(dict(found.params))) == found.params
    assert configuration("best", device, metric).params


def test_train_tunes_and_keeps_the_study(paper_boards: Dataset, tmp_path: Path) -> None:
    (path,) = train(
        paper_boards, out=tmp_path, seed=1, devices=["board-a"], metrics=["memory_mib"], algorithm="poly", trials=3
    )
    assert (tmp_path / "studies.db").is_file()
    card = read(path).card
    assert card["seed"] == 1
    assert np.isfinite(card["cv_mape"]["model"])
