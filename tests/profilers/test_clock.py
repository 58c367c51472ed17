"""The GPU's clock on a made-up devfreq folder and with a made-up nvidia-smi."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from edgeperf.profilers.transport import INFERENCE, OPERATIONS

OFFERED = (76_800_000, 460_800_000, 921_600_000)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The file for the board as a module, beside the one that it imports."""
    monkeypatch.syspath_prepend(str(INFERENCE.parent))
    spec = importlib.util.spec_from_file_location("board_operations", OPERATIONS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "board_inference")
    return module


@pytest.fixture
def devfreq(tmp_path: Path) -> Path:
    folder = tmp_path / "sys/class/devfreq/57000000.gpu"
    folder.mkdir(parents=True)
    (folder / "available_frequencies").write_text(" ".join(map(str, OFFERED)) + "\n")
    (folder / "min_freq").write_text(f"{OFFERED[0]}\n")
    (folder / "max_freq").write_text(f"{OFFERED[1]}\n")
    return folder


def limits(folder: Path) -> tuple[int, int]:
    return int((folder / "min_freq").read_text()), int((folder / "max_freq").read_text())


@pytest.mark.parametrize(("asked", "nearest"), [(900.0, OFFERED[2]), (10.0, OFFERED[0]), (450.0, OFFERED[1])])
def test_a_jetson_is_kept_at_the_nearest_clock_and_let_go(
    child: ModuleType, devfreq: Path, tmp_path: Path, asked: float, nearest: int
):
    with child.fixed_clock(asked, str(tmp_path)):
        assert limits(devfreq) == (nearest, nearest)
    assert limits(devfreq) == OFFERED[:2]


def test_the_clock_is_let_go_after_a_failure_too(child: ModuleType, devfreq: Path, tmp_path: Path):
    with pytest.raises(ZeroDivisionError), child.fixed_clock(900.0, str(tmp_path)):
        raise ZeroDivisionError
    assert limits(devfreq) == OFFERED[:2]


def test_no_clock_is_no_change(child: ModuleType, devfreq: Path, tmp_path: Path):
    with child.fixed_clock(None, str(tmp_path)):
        assert limits(devfreq) == OFFERED[:2]


def test_elsewhere_nvidia_smi_locks_and_resets(child: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = nvidia_smi(tmp_path, monkeypatch, "exit 0")
    with child.fixed_clock(1200.0, str(tmp_path)):
        assert told() == ["--lock-gpu-clocks=1200,1200"]
    assert told()[1:] == ["--reset-gpu-clocks"]


def test_without_the_right_to_it_one_message_says_so(
    child: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    nvidia_smi(tmp_path, monkeypatch, "echo 'Insufficient Permissions'; exit 4")
    with (
        pytest.raises(SystemExit, match=r"cannot be set: Insufficient Permissions.*root"),
        child.fixed_clock(1200.0, str(tmp_path)),
    ):
        pass
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with (
        pytest.raises(SystemExit, match="neither a Jetson's devfreq nor nvidia-smi"),
        child.fixed_clock(1200.0, str(tmp_path)),
    ):
        pass


def nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> Callable[[], list[str]]:
    """Puts a program of that name on the path; returns what it was called with so far."""
    calls, program = folder / "calls", folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1" >> {calls}\n{ending}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return lambda: calls.read_text().split()
