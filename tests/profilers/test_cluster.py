"""Several boards that share one queue, each in a Dask worker of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keras
import pytest

from edgeperf.profilers import profile
from edgeperf.profilers.progress import Progress
from edgeperf.profilers.store import Store
from tests.profilers.campaigns import PLAN
from tests.profilers.fake_board import FakeBoard, ensure_sshd

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def two_boards(tmp_path: Path) -> Iterator[tuple[FakeBoard, FakeBoard]]:
    ensure_sshd()
    boards = FakeBoard(tmp_path / "first", "nano-1"), FakeBoard(tmp_path / "second", "nano-2")
    for board in boards:
        board.power_on()
    yield boards
    for board in boards:
        board.power_off()


def model_file(folder: Path, name: str) -> str:
    model = keras.Sequential([keras.Input((16, 16, 3)), keras.layers.Conv2D(4, 3)], name=name)
    (folder / f"{name}.json").write_text(model.to_json())
    return str(folder / f"{name}.json")


def test_boards_share_the_queue_and_no_board_runs_two_networks_at_once(
    two_boards: tuple[FakeBoard, FakeBoard], tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    first, second = two_boards
    config = tmp_path / "ssh_config"
    config.write_text(first.ssh_config.read_text() + second.ssh_config.read_text())
    models = [model_file(tmp_path, f"net-{n}") for n in range(4)]
    seen: list[Progress] = []
    summary = profile(
        models,
        device="jetson-nano",
        boards=["nano-1", "nano-2"],
        out=tmp_path / "out",
        plan=PLAN,
        ssh_config=config,
        root=str(first.root),
        progress=seen.append,
    )
    assert (summary.finished, summary.failed) == (4, 0)
    assert sorted(done.key for done in Store(tmp_path / "out").finished()) == [f"net-{n}" for n in range(4)]
    assert [progress.done for progress in seen] == [0, 1, 2, 3, 4]
    shares = [(board.state / "runs").read_text().count("\n") for board in two_boards]
    assert sum(shares) == 4
    assert min(shares) >= 1
