"""Options of `edgeperf search` that contradict each other: one message, before anything is searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_errors import SEARCH, complaint


def refused(edgeperf: Run, out: Path, *options: str) -> str:
    """The message of a search that must not begin."""
    message = complaint(edgeperf, *SEARCH, "--out", out, *options)
    assert not out.exists()
    return message


@pytest.mark.parametrize("source", ["guess", "published.txt"])
def test_an_unknown_source_of_accuracies_lists_the_known(edgeperf: Run, tmp_path: Path, source: str) -> None:
    message = refused(edgeperf, tmp_path / "out", "--accuracy", source)
    assert source in message
    assert "published, score, or a Python file" in message


@pytest.mark.parametrize("source", ["published", "score"])
def test_a_scheduler_has_nothing_to_do_without_a_training(edgeperf: Run, tmp_path: Path, source: str) -> None:
    message = refused(edgeperf, tmp_path / "out", "--accuracy", source, "--scheduler", "tcp://127.0.0.1:8786")
    assert f"the accuracy source {source} trains nothing" in message


def test_verifying_without_exporting_says_how_to_export(edgeperf: Run, tmp_path: Path) -> None:
    assert "--export" in refused(edgeperf, tmp_path / "out", "--verify", "user@nano")
