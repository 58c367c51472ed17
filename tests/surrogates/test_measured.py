"""The shipped configuration on the measured tables: what the README claims, with some room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeperf.datasets import load
from edgeperf.surrogates import load as load_surrogates
from edgeperf.surrogates.configuration import configuration
from edgeperf.surrogates.evaluation import score_configuration
from edgeperf.surrogates.rows import Corpus, corpus

pytestmark = [pytest.mark.data, pytest.mark.slow]
BOARDS = ("jetson-nano", "jetson-tx2", "jetson-agx-xavier")
MOST = {"latency_ms": (5.0, 5.0), "power_mw": (5.0, 5.0), "energy_mj": (7.0, 8.0), "memory_mib": (9.0, 8.0)}


@pytest.fixture(scope="module")
def measured(shared_data: Path) -> Corpus:
    return corpus(load(shared_data / "bouzidi"))


@pytest.mark.parametrize("metric", list(MOST))
def test_errors_coverage_and_flags(measured: Corpus, metric: str) -> None:
    scores = []
    for board in BOARDS:
        training = measured.training(board, metric)
        scores += score_configuration(measured, training, configuration("best", board, metric))
    for split, most in zip(("NIS", "NCV"), MOST[metric], strict=True):
        chosen = [score for score in scores if score.split == split]
        assert all(score.mape <= (most if metric != "memory_mib" else 1.5 * most) for score in chosen)
        rows = sum(score.n for score in chosen)
        assert 84 <= sum(score.coverage90 * score.n for score in chosen) / rows <= 99
        assert sum(score.flagged * score.n for score in chosen) / rows <= 5


def test_shipped_files_are_what_the_tables_give(measured: Corpus) -> None:
    rows = measured.rows("jetson-tx2", "latency_ms")
    rows = rows.take(rows.has_graph)
    shipped = load_surrogates("jetson-tx2").predict_batch(rows.features, ["latency_ms"])["latency_ms"]
    training = measured.training("jetson-tx2", "latency_ms")
    refitted = configuration("best", "jetson-tx2", "latency_ms").fit(training).predict_rows(rows)
    np.testing.assert_allclose(shipped.value, refitted, rtol=1e-3)
