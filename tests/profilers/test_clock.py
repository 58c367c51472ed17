"""The GPU's clock on a made-up devfreq folder and with a made-up nvidia-smi: set, and let go whatever happens."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeperf.profilers.board_clock import NOTE, ClockInUse, ClockProblem, fixed_clock, let_go_of_killed_run
from tests.profilers.test_agent import Agent

OFFERED = (76_800_000, 460_800_000, 921_600_000)
OWN = OFFERED[:2]
SLEEP = {"name": "run", "argv": [sys.executable, "-c", "import time; time.sleep(60)"], "timeout_s": 30}


@pytest.fixture
def devfreq(tmp_path: Path) -> Path:
    folder = tmp_path / "sys/class/devfreq/57000000.gpu"
    folder.mkdir(parents=True)
    (folder / "available_frequencies").write_text(" ".join(map(str, OFFERED)) + "\n")
    (folder / "min_freq").write_text(f"{OWN[0]}\n")
    (folder / "max_freq").write_text(f"{OWN[1]}\n")
    return folder


def limits(folder: Path) -> tuple[int, int]:
    return int((folder / "min_freq").read_text()), int((folder / "max_freq").read_text())


@pytest.mark.parametrize(("asked", "nearest"), [(900.0, OFFERED[2]), (10.0, OFFERED[0]), (450.0, OFFERED[1])])
def test_a_jetson_is_kept_at_the_nearest_clock_and_let_go(devfreq: Path, tmp_path: Path, asked: float, nearest: int):
    with fixed_clock(asked, str(tmp_path)) as found:
        assert limits(devfreq) == (nearest, nearest)
        assert found == nearest / 1e6
    assert limits(devfreq) == OWN
    assert not (tmp_path / NOTE).exists()


def test_the_clock_is_let_go_after_a_failure_too(devfreq: Path, tmp_path: Path):
    with pytest.raises(ZeroDivisionError), fixed_clock(900.0, str(tmp_path)):
        raise ZeroDivisionError
    assert limits(devfreq) == OWN
    assert not (tmp_path / NOTE).exists()


def test_no_clock_is_no_change(devfreq: Path, tmp_path: Path):
    with fixed_clock(None, str(tmp_path)) as found:
        assert found is None
        assert limits(devfreq) == OWN


def test_two_measurements_do_not_set_the_clock_at_once(devfreq: Path, tmp_path: Path):
    with fixed_clock(10.0, str(tmp_path)):
        with pytest.raises(ClockInUse), fixed_clock(900.0, str(tmp_path)):
            pass
        let_go_of_killed_run(str(tmp_path))
        assert limits(devfreq) == (OFFERED[0], OFFERED[0])
    assert limits(devfreq) == OWN


def test_a_clock_that_devfreq_does_not_take_is_a_problem_and_changes_nothing(devfreq: Path, tmp_path: Path):
    (devfreq / "max_freq").unlink()
    with pytest.raises(ClockProblem, match=r"cannot be set to 900 MHz: .*max_freq"), fixed_clock(900.0, str(tmp_path)):
        pass
    assert int((devfreq / "min_freq").read_text()) == OWN[0]


def begun(folder: Path, root: Path) -> Agent:
    """An agent in the midst of a measurement at the lowest clock."""
    agent = Agent(folder)
    agent.ask(op="measure", root=str(root), gpu_mhz=10.0, steps=[SLEEP])
    assert any(found["name"] == "run" for found in agent.events() if found["event"] == "phase")
    return agent


def test_the_clock_is_let_go_when_a_step_takes_too_long(devfreq: Path, tmp_path: Path):
    agent = Agent(tmp_path / "work")
    agent.ask(op="measure", root=str(tmp_path), gpu_mhz=10.0, steps=[{**SLEEP, "timeout_s": 0.5}])
    recording = agent.recording()
    assert (recording["steps"][0]["timed_out"], recording["gpu_mhz"]) == (True, OFFERED[0] / 1e6)
    assert recording["state_before"]["sys/class/devfreq/57000000.gpu/max_freq"].strip() == str(OFFERED[0])
    agent.close()
    assert limits(devfreq) == OWN


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, None], ids=["SIGTERM", "SIGHUP", "host gone"])
def test_the_clock_is_let_go_when_the_agent_ends_early(devfreq: Path, tmp_path: Path, sign: signal.Signals | None):
    agent = begun(tmp_path / "work", tmp_path)
    assert limits(devfreq) == (OFFERED[0], OFFERED[0])
    if sign is None:
        assert agent.process.stdin is not None
        agent.process.stdin.close()
    else:
        os.kill(agent.process.pid, sign)
    assert agent.process.wait(20) == 3
    agent.close()
    assert limits(devfreq) == OWN


@pytest.mark.parametrize("wanted", [{"op": "inspect"}, {"op": "measure"}, {"op": "measure", "gpu_mhz": 900.0}])
def test_the_clock_that_a_killed_agent_left_is_let_go_by_the_next(
    devfreq: Path, tmp_path: Path, wanted: dict[str, Any]
):
    killed = begun(tmp_path / "work", tmp_path)
    killed.process.kill()
    killed.close()
    assert limits(devfreq) == (OFFERED[0], OFFERED[0])
    following = Agent(tmp_path / "elsewhere")
    following.ask(root=str(tmp_path), steps=[], **wanted)
    assert {"facts", "done"} & {found["event"] for found in following.events()}
    following.close()
    assert limits(devfreq) == OWN
    assert not (tmp_path / NOTE).exists()


def test_a_signal_while_the_clock_is_let_go_is_heeded_afterwards(
    devfreq: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(text: str) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        return int(text)

    def stop(_signal: int, _frame: object) -> None:
        raise ZeroDivisionError

    earlier = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(ZeroDivisionError), fixed_clock(900.0, str(tmp_path)):
            monkeypatch.setattr("edgeperf.profilers.board_clock.int", interrupted, raising=False)
    finally:
        signal.signal(signal.SIGTERM, earlier)
    assert limits(devfreq) == OWN


def test_elsewhere_nvidia_smi_locks_the_nearest_and_resets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = nvidia_smi(tmp_path, monkeypatch, '[ "$2" ] && printf "1980\\n1215\\n1200\\n1200\\n"; exit 0')
    with fixed_clock(1205.0, str(tmp_path)) as found:
        assert told()[1:] == ["--lock-gpu-clocks=1200,1200"]
        assert found == 1200.0
    assert told()[2:] == ["--reset-gpu-clocks"]


def test_without_the_right_to_it_one_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = nvidia_smi(tmp_path, monkeypatch, 'case "$1" in --lock*) echo "Insufficient Permissions"; exit 4; esac')
    with pytest.raises(ClockProblem, match=r"to 1200 MHz: .*Insufficient Perm"), fixed_clock(1200.0, str(tmp_path)):
        pass
    assert told()[-1] == "--lock-gpu-clocks=1200,1200"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ClockProblem, match="neither a Jetson's devfreq nor nvidia-smi"):
        fixed_clock(1200.0, str(tmp_path)).__enter__()


def nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> Callable[[], list[str]]:
    """Puts a program of that name on the path; returns what it was called with so far."""
    calls, program = folder / "calls", folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1" >> {calls}\n{ending}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return lambda: calls.read_text().split()
