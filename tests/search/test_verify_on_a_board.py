"""`edgeperf search --verify`: from the question to the measured front, on a simulated board behind a real sshd."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from edgeperf.cli import app
from edgeperf.datasets import load
from edgeperf.profilers import profile
from tests.profilers.campaigns import PLAN
from tests.profilers.fake_board import FakeBoard, ensure_sshd

pytestmark = pytest.mark.slow

DEVICE = "jetson-nano"
ASKED = f"search --space mobilenet-v1 --device {DEVICE} --seed 1 --population 8 --generations 2 --export 2"

Costs = list[dict[str, Any]]
Search = Callable[..., Result]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[FakeBoard]:
    ensure_sshd()
    simulated = FakeBoard(tmp_path / "board")
    simulated.power_on()
    yield simulated
    simulated.power_off()


@pytest.fixture
def costs() -> Costs:
    """What the exported networks cost on the simulated board, the most accurate first; a test may change it."""
    return [{"ms": 8.0, "mw": 4000.0}, {"ms": 2.0, "mw": 2000.0}]


@pytest.fixture
def search(board: FakeBoard, costs: Costs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Runs `edgeperf search --verify` against the board, with a short plan and made-up costs."""
    pytest.importorskip("keras")

    def export(recipe: Path, target: Path, *, batch_size: int) -> None:
        name = json.loads(recipe.read_text())["name"]
        cost = costs[exported(tmp_path / "out").index(name)]
        target.write_text(json.dumps({"name": name, "batch": batch_size, **cost}))

    on_the_board = partial(profile, ssh_config=board.ssh_config, root=str(board.root), plan=PLAN)
    monkeypatch.setattr("edgeperf.profilers.campaign.profile", on_the_board)
    monkeypatch.setattr("edgeperf.profilers.onnx_export.export", export)

    def run(*options: str) -> Result:
        command = [*ASKED.split(), "--out", str(tmp_path / "out"), "--verify", board.name, *options]
        return CliRunner().invoke(app, command, catch_exceptions=False)

    return run


def exported(out: Path) -> list[str]:
    """Networks whose models were saved, the most accurate first."""
    return [Path(line).stem for line in (out / "profile.txt").read_text().splitlines()]


def measured_front(out: Path) -> dict[str, dict[str, Any]]:
    points = json.loads((out / "front.json").read_text())["points"]
    return {point["network"]: point for point in points if "measured" in point}


def verification(out: Path) -> Any:
    return json.loads((out / "front.json").read_text())["summary"].get("verification")


def runs(board: FakeBoard) -> list[str]:
    """Networks that the board ran, in order."""
    return (board.state / "runs").read_text().splitlines()


def test_the_exported_networks_are_measured_and_stand_beside_their_predictions(
    search: Search, board: FakeBoard, costs: Costs, tmp_path: Path
) -> None:
    out, ended = tmp_path / "out", search()
    assert ended.exit_code == 0
    assert ended.stdout == f"{out / 'report.html'}\n"
    assert "2 networks measured" in ended.stderr

    front, off = measured_front(out), []
    for name, cost in zip(exported(out), costs, strict=True):
        found = front[name]["measured"]
        assert found[f"latency_ms@{DEVICE}"] == pytest.approx(cost["ms"], rel=0.01)
        assert found[f"power_mw@{DEVICE}"] == pytest.approx(cost["mw"], abs=40)
        assert found[f"energy_mj@{DEVICE}"] == pytest.approx(cost["ms"] * cost["mw"] / 1000, rel=0.02)
        predicted = {estimate["metric"]: estimate["value"] for estimate in front[name]["estimates"]}
        off.append(100 * abs(predicted["latency_ms"] - cost["ms"]) / cost["ms"])
    assert verification(out)["mape"]["latency_ms"] == pytest.approx(sum(off) / 2, rel=0.02)
    assert set(verification(out)["still_on_front"]) == set(exported(out))
    assert "Predicted and measured" in (out / "report.html").read_text()
    assert set(load(out / "measured").rows["family"]) == {"MobileNet-v1"}
    assert runs(board) == exported(out)
    assert board.orphans() == []


def test_a_network_that_fails_is_left_out_and_resuming_measures_nothing_again(
    search: Search, board: FakeBoard, costs: Costs, tmp_path: Path
) -> None:
    costs[0]["fault"] = "oom"
    out, first = tmp_path / "out", search()
    assert "1 networks measured" in first.stderr
    (out / "report.html").unlink()
    before = runs(board)
    again = search("--resume")
    assert again.exit_code == 0
    assert runs(board) == before
    assert list(measured_front(out)) == verification(out)["still_on_front"] == exported(out)[1:]
    assert "Predicted and measured" in (out / "report.html").read_text()


def test_where_nothing_could_be_measured_the_predicted_front_remains(
    search: Search, costs: Costs, tmp_path: Path
) -> None:
    for cost in costs:
        cost["fault"] = "crash"
    ended = search()
    assert ended.exit_code == 0
    assert "Nothing was measured" in ended.stderr
    assert verification(tmp_path / "out") is None
    assert (tmp_path / "out" / "report.html").is_file()
