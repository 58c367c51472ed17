"""The agent by itself: what it answers, what it leaves behind, and what its file may contain."""

from __future__ import annotations

import ast
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeperf.profilers.transport import AGENT, CLOCK, INFERENCE, OPERATIONS
from tests.profilers.fake_board import PYTHON_3_6

SLEEPER = (
    "import subprocess, sys, time; "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
)
LATER_THAN_3_6 = {
    *("removeprefix", "removesuffix", "monotonic_ns", "perf_counter_ns", "time_ns", "nullcontext", "prod", "isqrt"),
    *("cache", "cached_property", "fromisoformat", "dataclass", "get_running_loop", "bit_count", "pairwise"),
}
LATER_MODULES = {"dataclasses", "contextvars", "importlib.metadata", "zoneinfo", "graphlib", "tomllib"}
LATER_KEYWORDS = {"capture_output", "missing_ok", "text", "process_group", "dirs_exist_ok"}


class Agent:
    """One agent process and the events that it sent."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [python, str(AGENT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ask(self, **request: Any) -> None:
        assert self.process.stdin is not None
        common = {"root": "/", "workdir": str(self.folder), "idle_s": 0, "sensor": None, "lease_s": 20, "id": "one"}
        self.process.stdin.write(json.dumps({**common, **request}) + "\n")
        self.process.stdin.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, event: str) -> dict[str, Any]:
        return next(found for found in self.events() if found["event"] == event)

    def recording(self) -> dict[str, Any]:
        with gzip.open(self.until("done")["path"]) as stream:
            return dict(json.load(stream))

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait(20)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    started = Agent(tmp_path)
    yield started
    started.close()


def step(code: str, **more: Any) -> dict[str, Any]:
    return {"name": "run", "argv": [sys.executable, "-c", code], "timeout_s": 20, **more}


def left_behind(folder: Path) -> list[str]:
    """Commands of processes that the agent of `folder` started, once they had time to end."""
    mark = f"EDGEPERF_WORKDIR={folder}".encode()
    for _ in range(50):
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append((path / "cmdline").read_text())
            except OSError:
                continue
        if not found:
            return []
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("path", [AGENT, CLOCK, INFERENCE, OPERATIONS], ids=lambda path: path.name)
def test_the_files_for_the_board_are_python_3_6(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            assert node.attr not in LATER_THAN_3_6
        if isinstance(node, ast.ImportFrom):
            assert node.module != "__future__"
            assert node.module not in LATER_MODULES
        if isinstance(node, ast.Import):
            assert not {name.name for name in node.names} & LATER_MODULES
        if isinstance(node, ast.Call):
            assert not {keyword.arg for keyword in node.keywords} & LATER_KEYWORDS


def test_the_agent_needs_the_standard_library_alone() -> None:
    for path in (AGENT, CLOCK):
        tree = ast.parse(path.read_text())
        modules = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert modules <= sys.stdlib_module_names | {CLOCK.stem}


@pytest.mark.skipif(not PYTHON_3_6.exists(), reason="no Python 3.6 here")
def test_the_agent_measures_under_a_real_python_3_6(tmp_path: Path) -> None:
    agent = Agent(tmp_path, str(PYTHON_3_6))
    agent.ask(op="measure", steps=[step("print(40 + 2)")])
    assert agent.until("hello")["python"].startswith("3.6")
    assert agent.recording()["steps"][0]["output"][0][1] == "42"
    agent.close()
    done = subprocess.run([str(PYTHON_3_6), "-m", "py_compile", str(INFERENCE), str(OPERATIONS)], check=False)
    assert done.returncode == 0


def test_inspection_tells_what_the_machine_has(agent: Agent) -> None:
    agent.ask(op="inspect")
    facts = agent.until("facts")
    assert "MemTotal" in facts["state"]["proc/meminfo"]
    assert facts["recordings"] == {}


def test_a_recording_holds_stamped_lines_files_and_the_sensor(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "value").write_text("1234\n")
    code = "import time; print('begin', flush=True); time.sleep(0.3); open('out.txt', 'w').write('kept')"
    sensor = {"files": {"RAIL.mW": str(tmp_path / "value")}, "period_s": 0.02}
    (tmp_path / "out.txt").write_text("of the network before")
    steps = [step(code, sample=True, collect=["out.txt"])]
    begin = time.monotonic()
    agent.ask(op="measure", sensor=sensor, idle_s=0.2, steps=[{**steps[0], "argv": [*steps[0]["argv"]]}])
    recording = agent.recording()
    found = recording["steps"][0]
    assert found["returncode"] == 0
    assert begin < found["output"][0][0] < time.monotonic()
    assert len(recording["idle"]) >= 5
    assert {text for _, text in found["sensor"]} == {"RAIL.mW=1234"}
    stamps = [stamp for stamp, _ in found["sensor"]]
    assert stamps == sorted(stamps)


def test_the_first_step_that_fails_is_the_last(agent: Agent) -> None:
    agent.ask(op="measure", steps=[step("import sys; print('why'); sys.exit(7)"), step("print('never')")])
    steps = agent.recording()["steps"]
    assert [(found["returncode"], found["output"][0][1]) for found in steps] == [(7, "why")]


def test_a_missing_command_is_a_result(agent: Agent) -> None:
    agent.ask(op="measure", steps=[{"name": "run", "argv": ["/no/such/trtexec"], "timeout_s": 5}])
    found = agent.recording()["steps"][0]
    assert found["returncode"] == 127
    assert "trtexec" in found["output"][0][1]


def test_a_sensor_that_does_not_start_is_told_and_the_run_goes_on(agent: Agent) -> None:
    agent.ask(op="measure", sensor={"argv": ["/no/such/tegrastats"]}, steps=[step("print(1)", sample=True)])
    found = agent.recording()["steps"][0]
    assert found["returncode"] == 0
    assert "did not start" in found["sensor_error"]


def test_a_step_that_takes_too_long_is_ended_with_its_children(agent: Agent, tmp_path: Path) -> None:
    agent.ask(op="measure", steps=[step(SLEEPER, timeout_s=0.5)])
    assert agent.recording()["steps"][0]["timed_out"] is True
    assert left_behind(tmp_path) == []


def test_what_a_step_left_in_the_background_is_ended_with_it(agent: Agent, tmp_path: Path) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    code = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {stubborn!r}], stdout=-1).stdout.readline()"
    )
    agent.ask(op="measure", steps=[step(code)])
    assert agent.recording()["steps"][0]["returncode"] == 0
    assert left_behind(tmp_path) == []


def test_nothing_stays_when_the_host_goes(agent: Agent, tmp_path: Path) -> None:
    agent.ask(op="measure", sensor={"argv": ["sleep", "60"]}, steps=[step(SLEEPER, sample=True)])
    assert any(found["name"] == "run" for found in agent.events() if found["event"] == "phase")
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    assert agent.process.wait(20) == 3
    assert left_behind(tmp_path) == []


def test_nothing_stays_when_the_host_falls_silent(agent: Agent, tmp_path: Path) -> None:
    agent.ask(op="measure", lease_s=0.5, steps=[step(SLEEPER)])
    assert agent.process.wait(20) == 3
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_stays_when_the_agent_is_asked_to_end(agent: Agent, tmp_path: Path, sign: signal.Signals) -> None:
    agent.ask(op="measure", steps=[step(SLEEPER)])
    assert any(found["name"] == "run" for found in agent.events() if found["event"] == "phase")
    os.kill(agent.process.pid, sign)
    assert agent.process.wait(20) == 3
    assert left_behind(tmp_path) == []


def test_what_a_killed_agent_left_is_ended_by_the_next(agent: Agent, tmp_path: Path) -> None:
    agent.ask(op="measure", steps=[step(SLEEPER)])
    assert any(found["name"] == "run" for found in agent.events() if found["event"] == "phase")
    time.sleep(0.5)
    agent.process.kill()
    agent.process.wait()
    following = Agent(tmp_path)
    following.ask(op="measure", steps=[step("print(1)")])
    assert following.recording()["steps"][0]["returncode"] == 0
    following.close()
    assert left_behind(tmp_path) == []


def test_a_second_agent_is_refused(agent: Agent, tmp_path: Path) -> None:
    agent.ask(op="measure", steps=[step("import time; time.sleep(30)")])
    assert any(found["name"] == "run" for found in agent.events() if found["event"] == "phase")
    second = Agent(tmp_path)
    second.ask(op="measure", steps=[])
    assert second.until("failed")["reason"] == "busy"
    second.close()


def test_too_little_space_is_refused(agent: Agent) -> None:
    agent.ask(op="measure", free_mib=1 << 40, steps=[])
    assert agent.until("failed")["reason"] == "disk"
