"""A board that does not answer: it is said at once what is waited for, until when and why."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from edgeperf.profilers import bench
from edgeperf.profilers.bench import Access, Bench
from edgeperf.profilers.board import Board, Facts
from edgeperf.profilers.transport import BoardGone

ROOT = Path(__file__).parents[2]
FACTS = Facts(state={}, sensors={}, tools={}, recordings={}, machine="aarch64", cores=4, free_mib=9000, python="3.8")
REFUSED, AWAY = "ssh: connect to host nano port 22: Connection refused", "ssh: No route to host"


class Clock:
    """Time that passes in sleep alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(bench.time, "sleep", self.sleep)
        monkeypatch.setattr(bench.time, "monotonic", lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tails: list[str], *, patience_s: float = 3600.0) -> None:
    """Connects with a board whose ssh says one of `tails` after the other, and then answers."""
    answers = iter(tails)

    def prepare(_: Board) -> Facts:
        for tail in answers:
            raise BoardGone("nano does not answer.", command="ssh nano", returncode=255, stderr_tail=tail)
        return FACTS

    monkeypatch.setattr(Board, "prepare", prepare)
    access = Access(device="jetson-nano", sample_period_ms=1.0, patience_s=patience_s)
    Bench("nano", access, workdir=tmp_path)


def test_a_wait_is_told_at_once_then_now_and_then_and_at_its_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    Clock(monkeypatch)
    connect(monkeypatch, tmp_path, [REFUSED] * 20)
    first, *others, last = caplog.messages
    clock = r"\d\d:\d\d:\d\d"
    assert re.fullmatch(f"Waiting for nano since {clock}, until {clock} at the latest: {REFUSED}", first)
    assert 1 <= len(others) <= 4
    assert set(others) == {first}
    assert last == "nano answers again."


def test_another_reason_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    Clock(monkeypatch)
    connect(monkeypatch, tmp_path, [REFUSED, REFUSED, f"some greeting\n{AWAY}", ""])
    reasons = [message.partition("latest: ")[2] for message in caplog.messages[:-1]]
    assert reasons == [REFUSED, AWAY, "nano does not answer. The command `ssh nano` ended with exit code 255."]


def test_no_wait_is_told_where_the_board_answers_or_patience_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    Clock(monkeypatch)
    connect(monkeypatch, tmp_path, [])
    with pytest.raises(BoardGone, match="Connection refused"):
        connect(monkeypatch, tmp_path, [REFUSED], patience_s=1.0)
    assert caplog.messages == []


@pytest.mark.parametrize("command", ["operations", "profile"])
def test_the_command_line_says_on_standard_error_that_it_waits(command: str, tmp_path: Path) -> None:
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"#!/bin/sh\necho '{AWAY}' >&2\nexit 255\n")
    ssh.chmod(0o755)
    wanted = ["zoo:mobilenet-v1/MobileNet v1 0.25", "--device", "my-board", "--board", "nano", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "edgeperf", command, *wanted],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{ssh.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    limit = threading.Timer(60.0, process.kill)
    limit.start()
    line = process.stderr.readline()
    limit.cancel()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert line.startswith("Waiting for nano since ")
    assert line.endswith(f"at the latest: {AWAY}\n")
