"""The common form: checks, splits, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgeperf.datasets import Provenance, build, import_table, load, shared_data
from edgeperf.datasets.dataset import long_form, read_rows
from edgeperf.datasets.splits import family_of
from edgeperf.errors import IncompatibleData, InvalidInput

HERE = Provenance(name="mine", source="test")


def _rows(**changed: object) -> pd.DataFrame:
    rows = pd.DataFrame(
        {
            "device": "board",
            "model": [f"Net-{i}" for i in range(6)],
            "input_size": 64,
            "metric": "latency_ms",
            "value": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        }
    )
    return rows.assign(**changed)


def test_what_is_absent_is_derived() -> None:
    rows = build(_rows(), provenance=HERE).rows
    assert set(rows["split"]) == {"train"}
    assert rows["network"].iloc[0] == "Net-0@64"
    assert set(rows["family"]) == {"Net"}
    assert rows["flops"].isna().all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"value": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0]}, r"value is no number in row 1 \(board Net-1"),
        ({"value": ["1", "fast", "3", "4", "5", "6"]}, r"value is no number in row 1"),
        ({"value": [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]}, r"latency_ms = -2 cannot be right in row 1"),
        ({"metric": "power_mw", "value": 3.5}, "watts need a factor of 1000"),
        ({"metric": "memory_mib", "value": 2.0e9}, "bytes need a division"),
        ({"metric": "speed"}, "unknown metric 'speed'"),
        ({"split": "NIX"}, "unknown split 'NIX'"),
        ({"input_size": 0}, "input_size outside"),
        ({"model": "Net-0"}, "repeated measurements of the same network differ by more than a factor of 2"),
    ],
)
def test_rows_that_cannot_be_right_are_named(changed: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build(_rows(**changed), provenance=HERE)


def test_missing_columns_and_no_rows_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"missing column\(s\) value"):
        build(_rows().drop(columns="value"), provenance=HERE)
    with pytest.raises(InvalidInput, match="holds no rows"):
        build(_rows().head(0), provenance=HERE)


def test_only_five_rows_are_listed() -> None:
    with pytest.raises(InvalidInput, match="and 1 more"):
        build(_rows(value=-1.0), provenance=HERE)


def test_a_dataset_survives_a_round_trip(tmp_path: Path) -> None:
    first = build(_rows(split=["train"] * 4 + ["NIS", "NCV"]), provenance=HERE)
    first.save(tmp_path / "d")
    second = load(tmp_path / "d")
    assert second.sha256() == first.sha256()
    assert second.provenance == HERE
    pd.testing.assert_frame_equal(first.rows, second.rows, check_dtype=False)


def test_columns_per_metric_become_rows(tmp_path: Path) -> None:
    wide = pd.DataFrame({"model": ["a", "b"], "latency_ms": [1.0, 2.0], "power_mw": [900.0, None]})
    rows = long_form(wide)
    assert sorted(zip(rows["model"], rows["metric"], rows["value"], strict=True)) == [
        ("a", "latency_ms", 1.0), ("a", "power_mw", 900.0), ("b", "latency_ms", 2.0),
    ]  # fmt: skip
    path = tmp_path / "t.csv"
    wide.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_rows(path), rows)


def test_a_missing_target_lists_what_there_is() -> None:
    dataset = build(_rows(), provenance=HERE)
    with pytest.raises(InvalidInput, match=r"no power_mw of board. It has: board latency_ms"):
        dataset.target("board", "power_mw")


def test_folders_that_hold_no_dataset_say_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No folder"):
        load(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="it is empty"):
        load(tmp_path)
    with pytest.raises(InvalidInput, match="Unknown table 'imagenet'"):
        import_table("imagenet", tmp_path, tmp_path)
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(InvalidInput, match="no JSON"):
        load(tmp_path)
    (tmp_path / "dataset.json").write_text('{"format": 7}')
    with pytest.raises(IncompatibleData, match="format is not 1"):
        load(tmp_path)


def test_a_file_that_is_no_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InvalidInput, match="no CSV table"):
        read_rows(path)
    path.write_text("")
    with pytest.raises(InvalidInput, match="no CSV table"):
        read_rows(path)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("MobileNet1.0-v2", "MobileNet-v2"), ("MobileNet-small0.75-v3", "MobileNet-v3"), ("ResNet-101V2", "ResNetV2"),
        ("SEResNext-50", "SEResNeXt"), ("SEResNet-18", "SEResNet"), ("InceptionResNetV2", "Inception"),
        ("ShuffleNet1.5-v2", "ShuffleNet-v2"), ("Basic_3", "synthetic"), ("VGG-16", "VGG"), ("own_7", "own"),
    ],
)  # fmt: skip
def test_families(model: str, family: str) -> None:
    assert family_of(model) == family


def test_the_place_of_the_tables_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEPERF_DATA", str(tmp_path))
    assert shared_data() == tmp_path
    monkeypatch.setenv("EDGEPERF_DATA", str(tmp_path / "absent"))
    assert shared_data() is None
