"""Files: what is written comes back, what is hostile or old does not load."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from edgeperf.datasets import Dataset
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.surrogates import load, train
from edgeperf.surrogates.store import read

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def folder(paper_boards: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained physical surrogates of one board."""
    out = tmp_path_factory.mktemp("trained")
    train(paper_boards, out=out, seed=0, devices=["board-a"], algorithm="physical")
    return out


def test_training_writes_a_file_and_a_card_per_metric(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    for metric in ("latency_ms", "power_mw", "energy_mj", "memory_mib"):
        assert f"board-a.{metric}.edgeperf" in names
        card = (folder / f"board-a.{metric}.md").read_text()
        assert "rows of" in card
        assert "models that it was not fitted on" in card


def test_a_surrogate_predicts_the_same_after_a_round_trip(folder: Path, prepared: object) -> None:
    features = prepared.rows("board-a", "latency_ms").features  # type: ignore[attr-defined]
    first = load("board-a", folder).predict_batch(features)
    second = read(folder / "board-a.latency_ms.edgeperf").surrogate.predict(features)
    np.testing.assert_allclose(first["latency_ms"].value, second, rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["poly", "svr", "mlp", "rf", "xgboost"])
def test_each_of_the_five_algorithms_is_stored(
    algorithm: str, paper_boards: Dataset, prepared: object, tmp_path: Path
) -> None:
    (path,) = train(
        paper_boards, out=tmp_path, seed=0, devices=["board-a"], metrics=["latency_ms"], algorithm=algorithm
    )
    loaded = read(path)
    rows = prepared.rows("board-a", "latency_ms")  # type: ignore[attr-defined]
    from_columns = loaded.surrogate.predict_rows(rows)  # type: ignore[attr-defined]
    np.testing.assert_allclose(loaded.surrogate.predict(rows.features), from_columns)
    assert np.abs(from_columns / rows.value - 1).mean() < 0.5


def test_the_same_training_gives_the_same_bytes(folder: Path, paper_boards: Dataset, tmp_path: Path) -> None:
    (again,) = train(
        paper_boards, out=tmp_path, seed=0, devices=["board-a"], metrics=["memory_mib"], algorithm="physical"
    )
    assert again.read_bytes() == (folder / again.name).read_bytes()


def _altered(source: Path, target: Path, changes: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name, old.read(name)))
        for name in changes.keys() - set(old.namelist()):
            new.writestr(name, changes[name])
    return target


def _described(source: Path, **changes: object) -> bytes:
    with zipfile.ZipFile(source) as archive:
        return json.dumps({**json.loads(archive.read("surrogate.json")), **changes}).encode()


def test_another_format_is_refused_with_the_command_that_trains_again(folder: Path, tmp_path: Path) -> None:
    source = folder / "board-a.latency_ms.edgeperf"
    path = _altered(source, tmp_path / "new.edgeperf", {"surrogate.json": _described(source, format=99)})
    with pytest.raises(IncompatibleData, match=r"format is 99.*edgeperf train --data DIR --device board-a"):
        read(path)


def test_other_features_are_refused(folder: Path, tmp_path: Path) -> None:
    source = folder / "board-a.latency_ms.edgeperf"
    path = _altered(source, tmp_path / "f.edgeperf", {"surrogate.json": _described(source, feature_names=["macs"])})
    with pytest.raises(IncompatibleData, match="feature schema"):
        read(path)


class _Fires:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("fired"),))  # type: ignore[return-value]


def test_loading_executes_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = folder / "board-a.latency_ms.edgeperf"
    attacks = {
        "arrays.npz": pickle.dumps(_Fires()),
        "estimator.skops": pickle.dumps(_Fires()),
        "surrogate.json": pickle.dumps(_Fires()),
    }
    for member, payload in attacks.items():
        path = _altered(source, tmp_path / "attack.edgeperf", {member: payload})
        with pytest.raises(InvalidInput):
            read(path)
        assert not Path("fired").exists()


def test_an_estimator_of_a_foreign_type_is_refused(paper_boards: Dataset, tmp_path: Path) -> None:
    import skops.io

    (source,) = train(paper_boards, out=tmp_path, seed=0, devices=["board-a"], metrics=["latency_ms"], algorithm="poly")
    foreign = skops.io.dumps({"a": Path("x")})
    path = _altered(source, tmp_path / "foreign.edgeperf", {"estimator.skops": foreign})
    with pytest.raises(InvalidInput, match="types that no surrogate is made of"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x89PNG\r\n"])
def test_what_is_no_surrogate_gives_one_clear_message(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.edgeperf"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is no surrogate"):
        read(path)
    with pytest.raises(InvalidInput, match="No file"):
        read(tmp_path / "absent.edgeperf")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.edgeperf")), ids=lambda path: path.name)
def test_files_of_earlier_versions_still_predict_what_they_did(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    predicted = read(path).surrogate.predict(np.asarray(expected["features"]))
    np.testing.assert_allclose(predicted, expected["predicted"], rtol=1e-4)


def test_there_are_files_of_earlier_versions() -> None:
    assert len(list(FIXTURES.glob("*.edgeperf"))) >= 4
