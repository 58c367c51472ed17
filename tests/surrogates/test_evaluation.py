"""Scores: their arithmetic, their protocol, and errors on broken input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgeperf.datasets import Dataset, build
from edgeperf.errors import InvalidInput
from edgeperf.surrogates import evaluate, train
from edgeperf.surrogates.rows import Corpus
from edgeperf.surrogates.scores import correlations, mean_interval, percentage_errors
from edgeperf.surrogates.validation import held_out_groups


def test_one_row_per_device_metric_algorithm_and_split(paper_boards: Dataset, tmp_path: Path) -> None:
    csv = tmp_path / "predictions.csv"
    scores = evaluate(
        paper_boards, devices=["board-b"], metrics=["latency_ms"], algorithms=["poly", "best"], predictions=csv
    )
    wanted = [(algorithm, split) for algorithm in ("poly", "best") for split in ("NIS", "NCV")]
    assert [(s.algorithm, s.split) for s in scores] == wanted
    table = pd.read_csv(csv)
    assert list(table.columns) == [
        "device", "metric", "algorithm", "split", "model", "input_size", "measured", "predicted", "low", "high",
        "in_range",
    ]  # fmt: skip
    for score in scores:
        rows = table[(table["algorithm"] == score.algorithm) & (table["split"] == score.split)]
        assert len(rows) == score.n
        errors = 100 * (rows["predicted"] / rows["measured"] - 1).abs()
        assert score.mape == pytest.approx(errors.mean())
        assert score.mape_low < score.mape < score.mape_high
        inside = rows["measured"].between(rows["low"], rows["high"])
        assert score.coverage90 == pytest.approx(100 * inside.mean())


def test_the_physical_surrogate_beats_the_five(paper_boards: Dataset) -> None:
    scores = evaluate(paper_boards, devices=["board-a"], metrics=["latency_ms"], algorithms=["poly", "rf", "physical"])
    mean = {name: np.mean([s.mape for s in scores if s.algorithm == name]) for name in ("poly", "rf", "physical")}
    assert mean["physical"] < min(mean["poly"], mean["rf"])


@pytest.mark.parametrize("protocol", ["model", "input_size"])
def test_no_group_stands_on_both_sides(prepared: Corpus, protocol: str) -> None:
    training = prepared.training("board-a", "power_mw")
    seen = []
    for held in held_out_groups(training, protocol, folds=4, seed=0):
        kept = training.without(protocol, held)
        for rows in (*kept.by_metric.values(), *(r for other in kept.elsewhere for r in other.by_metric.values())):
            assert not set(getattr(rows, protocol)) & held
        seen.extend(held)
    assert sorted(seen) == sorted(set(getattr(training.rows, protocol)))


def test_test_rows_never_train(prepared: Corpus) -> None:
    training = prepared.training("board-a", "energy_mj")
    for rows in training.by_metric.values():
        assert set(rows.split) == {"train"}


def test_errors_and_their_interval() -> None:
    errors = percentage_errors(np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 3.0]))
    np.testing.assert_allclose(errors, [10, 0, 25])
    low, high = mean_interval(errors)
    assert low <= errors.mean() <= high


def test_correlations_do_not_exist_for_constants() -> None:
    assert correlations(np.ones(4), np.arange(4.0)) == (None, None)
    assert correlations(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])) == (pytest.approx(1), pytest.approx(1))


def _without_tests(dataset: Dataset) -> Dataset:
    return build(dataset.rows.assign(split="train"), provenance=dataset.provenance, root=dataset.root)


def test_broken_input_gives_one_clear_message(paper_boards: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no test rows"):
        evaluate(_without_tests(paper_boards))
    with pytest.raises(InvalidInput, match="Unknown metric 'speed'"):
        evaluate(paper_boards, metrics=["speed"])
    with pytest.raises(InvalidInput, match="Unknown algorithm 'magic'"):
        evaluate(paper_boards, algorithms=["magic"])
    with pytest.raises(InvalidInput, match=r"no rows of 'board-z'.*board-a"):
        evaluate(paper_boards, devices=["board-z"])
    with pytest.raises(InvalidInput, match="has none of what is asked for"):
        train(paper_boards, out=tmp_path, seed=0, devices=["board-z"])


def test_a_constant_target_is_refused(paper_boards: Dataset, tmp_path: Path) -> None:
    rows = paper_boards.rows
    constant = rows[rows["metric"] == "latency_ms"].assign(value=5.0)
    dataset = build(constant, provenance=paper_boards.provenance, root=paper_boards.root)
    for algorithm in ("poly", "physical"):
        with pytest.raises(InvalidInput, match=r"All .* are 5; there is nothing to learn"):
            train(dataset, out=tmp_path, seed=0, algorithm=algorithm)


def test_one_row_is_refused(paper_boards: Dataset, tmp_path: Path) -> None:
    rows = paper_boards.rows
    one = rows[rows["metric"] == "latency_ms"].head(1)
    dataset = build(one, provenance=paper_boards.provenance, root=paper_boards.root)
    with pytest.raises(InvalidInput, match=r"1 training row\(s\)"):
        train(dataset, out=tmp_path, seed=0, algorithm="physical")


def test_power_alone_says_that_latency_is_needed(paper_boards: Dataset, tmp_path: Path) -> None:
    rows = paper_boards.rows
    dataset = build(rows[rows["metric"] == "power_mw"], provenance=paper_boards.provenance, root=paper_boards.root)
    with pytest.raises(InvalidInput, match="also learns from latency_ms"):
        train(dataset, out=tmp_path, seed=0, algorithm="physical")
