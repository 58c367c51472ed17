from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profilers.fake_board import FakeBoard, ensure_sshd

LOGS = Path(__file__).parents[3] / "shared" / "logs"


@pytest.fixture
def fake_board(tmp_path: Path) -> Iterator[FakeBoard]:
    """A simulated Nano that is switched on; whatever ran on it ends with the test."""
    ensure_sshd()
    board = FakeBoard(tmp_path / "board")
    board.power_on()
    yield board
    board.power_off()


@pytest.fixture(scope="session")
def logs() -> Path:
    """Recordings of real boards, which are no part of the project."""
    if not LOGS.is_dir():
        pytest.skip(f"no recordings in {LOGS}")
    return LOGS
