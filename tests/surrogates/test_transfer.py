"""From one board to another by few measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeperf.datasets import Dataset, build
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.surrogates import adapt, advise, load, train
from edgeperf.surrogates.rows import Corpus
from edgeperf.surrogates.transfer import transfer


@pytest.fixture(scope="module")
def source(paper_boards: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("source")
    train(paper_boards, out=out, seed=0, devices=["board-a"], metrics=["latency_ms", "power_mw"], algorithm="physical")
    return out


def _few(dataset: Dataset, device: str, count: int, seed: int = 0) -> Dataset:
    rows = dataset.rows[dataset.rows["device"] == device]
    networks = np.random.default_rng(seed).permutation(rows["network"].unique())[:count]
    chosen = rows[rows["network"].isin(networks)]
    return build(chosen, provenance=dataset.provenance, root=dataset.root)


def test_ten_measurements_beat_one_factor(source: Path, prepared: Corpus) -> None:
    trained = load("board-a", source).trained["latency_ms"]
    rows = prepared.rows("board-b", "latency_ms")
    ours, factor = [], []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(rows))
        known, others = rows.take(order[:10]), rows.take(order[10:])
        moved = transfer(trained.surrogate, known.features, known.value).surrogate
        ours.append(np.abs(moved.predict(others.features) / others.value - 1).mean())
        scale = np.exp(np.log(known.value / trained.surrogate.predict(known.features)).mean())
        factor.append(np.abs(scale * trained.surrogate.predict(others.features) / others.value - 1).mean())
    assert np.mean(ours) < 0.65 * np.mean(factor)


def test_left_out_errors_are_those_of_a_fit_without_the_row(source: Path, prepared: Corpus) -> None:
    trained = load("board-a", source).trained["latency_ms"]
    rows = prepared.rows("board-b", "latency_ms").take(np.arange(0, 140, 12))
    fitted = transfer(trained.surrogate, rows.features, rows.value)
    for place in (0, 5):
        kept = np.arange(len(rows)) != place
        alone = rows.take(~kept)
        # The offset is fitted on all rows, so the two differ by what one row moves it.
        without = transfer(trained.surrogate, rows.features[kept], rows.value[kept]).surrogate
        error = np.log(alone.value / without.predict(alone.features))[0]
        assert fitted.left_out[place] == pytest.approx(error, abs=0.03)


def test_adapt_writes_a_surrogate_for_the_other_board(source: Path, paper_boards: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "board-b.latency_ms.edgeperf"
    adapted = adapt(
        source / "board-a.latency_ms.edgeperf", _few(paper_boards, "board-b", 20), device="board-b", out=out
    )
    assert adapted.rows == 20
    assert adapted.left_out_mape < adapted.source_mape
    assert load("board-b", tmp_path).trained["latency_ms"].algorithm == "physical transferred from board-a"
    assert out.with_suffix(".md").is_file()


def test_adapt_says_what_is_missing(source: Path, paper_boards: Dataset, tmp_path: Path) -> None:
    surrogate = source / "board-a.latency_ms.edgeperf"
    with pytest.raises(InvalidInput, match=r"3 measurement\(s\).*Most telling"):
        adapt(surrogate, _few(paper_boards, "board-b", 3), device="board-b", out=tmp_path / "x.edgeperf")
    with pytest.raises(IncompatibleData, match="board-a"):
        adapt(surrogate, paper_boards, device="board-a", out=tmp_path / "x.edgeperf")
    with pytest.raises(InvalidInput, match="has no latency_ms of nowhere"):
        adapt(surrogate, paper_boards, device="nowhere", out=tmp_path / "x.edgeperf")


def test_advice_spreads_over_the_networks(source: Path) -> None:
    networks = load("board-a", source).trained["latency_ms"].measured
    names = advise(networks, count=6)
    assert len(set(names)) == 6
    chosen = networks.points[[networks.names.index(name) for name in names]]
    gaps = np.linalg.norm(chosen[:, None] - chosen[None], axis=2)[np.triu_indices(6, 1)]
    at_random = networks.points[np.random.default_rng(0).permutation(len(networks.names))[:6]]
    assert gaps.min() > np.linalg.norm(at_random[:, None] - at_random[None], axis=2)[np.triu_indices(6, 1)].min()


def test_advice_leaves_out_what_is_known(source: Path, prepared: Corpus) -> None:
    networks = load("board-a", source).trained["latency_ms"].measured
    first = advise(networks, count=3)
    rows = prepared.training("board-a", "latency_ms").rows
    known = rows.take(np.isin(rows.network, first))
    assert not set(first) & set(advise(networks, count=5, known=known.features))
