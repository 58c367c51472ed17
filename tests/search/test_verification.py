"""Measurements beside predictions."""

import json

import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from search import Limits, Question, run
from search.verification import verify
from tests.search.fakes import FakeSurrogates


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(
        Question(spaces=["mnasnet"], devices=["jetson-tx2"], seed=1, population=12),
        surrogates={"jetson-tx2": FakeSurrogates()}, limits=Limits(generations=5), progress=False,
        out=tmp_path_factory.mktemp("search"),
    )  # fmt: skip


def measurements(folder, points, factor, device="jetson-tx2"):
    """A dataset in which latency is `factor` times, and power exactly, what was predicted."""
    rows = []
    for point in points:
        predicted = {estimate.metric: estimate.value for estimate in point.estimates}
        for metric, value in (
            ("latency_ms", factor * predicted["latency_ms"]),
            ("power_mw", predicted["power_mw"]),
        ):
            rows.append(
                {"device": device, "model": point.network, "input_size": point.genes["input_size"], "metric": metric,
                 "value": value}
            )  # fmt: skip
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "rows.csv", index=False)
    (folder / "dataset.json").write_text(json.dumps({"format": 1, "name": "made up", "source": "a test"}))
    return folder


def test_errors_are_those_that_were_put_in(finished, tmp_path):
    data = measurements(tmp_path / "data", finished.points[:6], 1.25)
    found = verify(finished.report.parent, data)
    assert found.networks == 6
    assert found.mape["latency_ms"] == pytest.approx(20.0)
    assert found.mape["power_mw"] == pytest.approx(0.0)
    assert found.mape["energy_mj"] == pytest.approx(20.0)
    assert found.refitted == ()


def test_a_factor_on_all_keeps_the_front_and_a_slow_network_leaves_it(finished, tmp_path):
    points = finished.points[:6]
    same = verify(finished.report.parent, measurements(tmp_path / "same", points, 1.5))
    assert set(same.still_on_front) == {point.network for point in points}
    data = measurements(tmp_path / "slow", points, 1.5)
    rows = pd.read_csv(data / "rows.csv")
    slow = points[3].network
    rows.loc[(rows["model"] == slow) & (rows["metric"] == "latency_ms"), "value"] *= 100
    rows.to_csv(data / "rows.csv", index=False)
    assert slow not in verify(finished.report.parent, data).still_on_front


def test_the_report_shows_what_was_measured(finished, tmp_path):
    found = verify(finished.report.parent, measurements(tmp_path / "data", finished.points[:4], 1.25))
    page = found.report.read_text()
    assert "Predicted and measured" in page
    assert "(-20.0 %)" in page


def test_measurements_of_other_networks_say_what_to_measure(finished, tmp_path):
    data = measurements(tmp_path / "data", finished.points[:2], 1.0)
    rows = pd.read_csv(data / "rows.csv")
    rows["model"] = "something-else"
    rows["input_size"] = [224, 224, 192, 192]
    rows.to_csv(data / "rows.csv", index=False)
    with pytest.raises(InvalidInput, match="holds none of the front's"):
        verify(finished.report.parent, data)


def test_a_folder_without_a_search_is_told(tmp_path):
    with pytest.raises(InvalidInput, match="no finished search"):
        verify(tmp_path, tmp_path)
