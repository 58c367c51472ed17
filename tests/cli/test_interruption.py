"""Ctrl-C: one message, exit code 130, no traceback, and what is finished stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MODEL = "zoo:mobilenet-v1/MobileNet v1 0.25"


def test_an_interrupted_campaign_says_so_and_keeps_what_is_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "edgeperf", "profile", MODEL, "--device", "host-cpu", "--out", str(tmp_path)]
    wanted = ["--input-size", "32", "--input-size", "64", "--idle-s", "0", "--timed-runs", "2", "--repeats", "1"]
    process = subprocess.Popen(
        [*command, *wanted], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 120
    while not list((tmp_path / "measurements").glob("*.json")) and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all that the command started
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.endswith("edgeperf: interrupted; finished work is kept.\n")
    assert "Traceback" not in errors
    assert output == ""
    assert [path.name for path in (tmp_path / "measurements").iterdir()] == ["MobileNet-v1-0.25_32.json"]
    assert "MobileNet-v1-0.25_32" in (tmp_path / "rows.csv").read_text()
