"""What goes wrong during a campaign on a real sshd: nothing finished is lost or doubled, nothing is left running."""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from edgeperf.errors import BoardError
from edgeperf.profilers.progress import Progress
from edgeperf.profilers.store import Store
from edgeperf.profilers.transport import BoardBusy, BoardGone
from edgeperf.records import Measurement
from tests.profilers.campaigns import COSTS, PLAN, SIZES, run
from tests.profilers.fake_board import FakeBoard

FIRST = "MobileNet-v1-0.25_96"
ROOT = Path(__file__).parents[2]


def once_at(phase: str, action: Callable[[], object]) -> Callable[[Progress], None]:
    """A progress function that acts when a network first reaches a phase."""
    done: list[object] = []

    def tell(progress: Progress) -> None:
        if progress.phase.endswith(phase) and not done:
            done.append(None)
            action()

    return tell


def measurements(out: Path) -> dict[str, Measurement]:
    return {done.key: done.measurement for done in Store(out).finished()}


def assert_truth(out: Path, sizes: tuple[int, ...]) -> None:
    found = measurements(out)
    assert len(found) == len(sizes)
    for key, measurement in found.items():
        assert measurement.status == "ok"
        assert measurement.power_mw == pytest.approx(COSTS[key]["mw"], abs=40)


def test_a_wrong_host_key_says_what_to_do(fake_board: FakeBoard, tmp_path: Path) -> None:
    known = fake_board.folder / "known_hosts"
    other = (fake_board.folder / "user_key.pub").read_text()
    known.write_text(f"[127.0.0.1]:{fake_board.port} {other}")
    with pytest.raises(BoardError, match=r"host key is unknown or has changed.*connect once by hand") as caught:
        run(tmp_path / "out", fake_board.folder)
    assert not isinstance(caught.value, BoardGone)
    assert fake_board.processes() == []


def test_a_key_that_the_board_does_not_know_says_what_to_do(fake_board: FakeBoard, tmp_path: Path) -> None:
    (fake_board.folder / "authorized_keys").write_text("")
    with pytest.raises(BoardError, match="ssh-copy-id nano"):
        run(tmp_path / "out", fake_board.folder)


def test_failures_are_rows_with_a_status_and_the_campaign_goes_on(fake_board: FakeBoard, tmp_path: Path) -> None:
    costs = {key: {"fault": fault} for key, fault in zip(COSTS, ("oom", "crash"), strict=False)}
    summary = run(tmp_path, fake_board.folder, costs=costs, input_sizes=SIZES[:2])
    found = measurements(tmp_path)
    assert [measurement.status for measurement in found.values()] == ["crashed", "oom"]
    assert "Cuda failure" in found[FIRST].warnings[0]
    assert all(measurement.latency_ms is None for measurement in found.values())
    assert (summary.finished, summary.failed, summary.dataset) == (0, 2, None)


@pytest.mark.slow
def test_a_child_that_hangs_is_ended_with_all_that_it_started(fake_board: FakeBoard, tmp_path: Path) -> None:
    plan = replace(PLAN, timeout_s=3.0)
    run(tmp_path, fake_board.folder, costs={FIRST: {"fault": "hang"}}, plan=plan, input_sizes=SIZES[:2])
    assert [found.status for found in measurements(tmp_path).values()] == ["ok", "timeout"]
    assert fake_board.orphans() == []


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["idle", "build", "latency", "run"])
def test_a_cut_connection_is_taken_up_again(fake_board: FakeBoard, tmp_path: Path, phase: str) -> None:
    cuts: list[int] = []
    run(
        tmp_path,
        fake_board.folder,
        input_sizes=SIZES[:2],
        progress=once_at(phase, lambda: cuts.append(fake_board.cut())),
    )
    assert cuts[0] > 0
    assert_truth(tmp_path, SIZES[:2])
    assert fake_board.orphans() == []


@pytest.mark.slow
def test_a_board_that_reboots_is_waited_for_and_its_lost_clock_lock_is_noticed(
    fake_board: FakeBoard, tmp_path: Path
) -> None:
    def reboot() -> None:
        fake_board.power_off()
        fake_board.write("proc/sys/kernel/random/boot_id", "second-boot\n")
        fake_board.write("sys/class/devfreq/57000000.gpu/min_freq", "76800000\n")
        fake_board.power_on()

    run(tmp_path, fake_board.folder, input_sizes=SIZES[:2], progress=once_at("run", reboot))
    assert_truth(tmp_path, SIZES[:2])
    assert all("jetson_clocks" in " ".join(found.warnings) for found in measurements(tmp_path).values())


@pytest.mark.slow
def test_a_board_that_stays_away_ends_the_campaign_and_resume_goes_on(fake_board: FakeBoard, tmp_path: Path) -> None:
    with pytest.raises(BoardGone):
        run(tmp_path, fake_board.folder, patience_s=3.0, progress=once_at("160: run", fake_board.power_off))
    before = {path: path.read_bytes() for path in (tmp_path / "measurements").iterdir()}
    assert len(before) == 2
    fake_board.power_on()
    run(tmp_path, fake_board.folder)
    assert_truth(tmp_path, SIZES)
    assert all(path.read_bytes() == content for path, content in before.items())


@pytest.mark.slow
def test_a_network_that_takes_the_board_down_each_time_becomes_a_row(fake_board: FakeBoard, tmp_path: Path) -> None:
    def tell(progress: Progress) -> None:
        if progress.phase.endswith(f"{FIRST}: run"):
            fake_board.cut()

    run(tmp_path, fake_board.folder, input_sizes=SIZES[:2], progress=tell)
    found = measurements(tmp_path)
    assert (found[FIRST].status, found["MobileNet-v1-0.25_128"].status) == ("gone", "ok")
    run(tmp_path, fake_board.folder, input_sizes=SIZES[:2])
    assert_truth(tmp_path, SIZES[:2])


@pytest.mark.slow
def test_a_full_disk_says_so_and_resume_goes_on_when_there_is_space(fake_board: FakeBoard, tmp_path: Path) -> None:
    fake_board.fault("disk_full")
    with pytest.raises(BoardError, match="disk is full"):
        run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    (fake_board.state / "disk_full").unlink()
    run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    assert_truth(tmp_path, SIZES[:1])


@pytest.mark.slow
def test_without_tegrastats_power_is_none_with_the_reason(fake_board: FakeBoard, tmp_path: Path) -> None:
    (fake_board.bin / "tegrastats").unlink()
    run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    found = measurements(tmp_path)[FIRST]
    assert (found.status, found.power_mw, found.energy_mj) == ("ok", None, None)
    assert found.latency_ms == pytest.approx(2.0, rel=0.01)
    assert "neither tegrastats nor an INA3221" in found.warnings[0]


@pytest.mark.slow
def test_without_tegrastats_the_sensor_is_read_in_sysfs(fake_board: FakeBoard, tmp_path: Path) -> None:
    (fake_board.bin / "tegrastats").unlink()
    folder = "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0"
    for channel, (rail, milliwatts) in enumerate({"POM_5V_IN": 4000, "POM_5V_GPU": 1520, "POM_5V_CPU": 300}.items()):
        fake_board.write(f"{folder}/rail_name_{channel}", f"{rail}\n")
        fake_board.write(f"{folder}/in_power{channel}_input", f"{milliwatts}\n")
    run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    found = measurements(tmp_path)[FIRST]
    assert (found.power_mw, found.power_rail) == (1520, "POM_5V_GPU")
    assert found.memory_mib == pytest.approx((4059000 - 3000000) / 1024)


@pytest.mark.slow
def test_a_jumping_clock_changes_no_label(fake_board: FakeBoard, tmp_path: Path) -> None:
    fake_board.fault("jumping_clock")
    run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    assert_truth(tmp_path, SIZES[:1])


def test_a_board_that_somebody_else_measures_on_is_left_alone(fake_board: FakeBoard, tmp_path: Path) -> None:
    fake_board.workdir.mkdir(parents=True)
    with (fake_board.workdir / "agent.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BoardBusy, match="another measurement runs"):
            run(tmp_path, fake_board.folder, input_sizes=SIZES[:1], patience_s=1.0)
    assert measurements(tmp_path) == {}


@pytest.mark.slow
def test_a_board_whose_other_host_has_died_is_waited_for(fake_board: FakeBoard, tmp_path: Path) -> None:
    fake_board.workdir.mkdir(parents=True)
    with (fake_board.workdir / "agent.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(5.0, fcntl.flock, (lock.fileno(), fcntl.LOCK_UN)).start()
        run(tmp_path, fake_board.folder, input_sizes=SIZES[:1])
    assert_truth(tmp_path, SIZES[:1])


def kill_and_resume(board: FakeBoard, out: Path, times: int) -> None:
    """Starts a campaign and kills it, `times` times at random moments; then lets it finish."""
    chance = random.Random(5)  # noqa: S311 - repeatable moments, no secret
    command = [sys.executable, "-m", "tests.profilers.campaigns", str(out), str(board.folder)]
    seen: dict[Path, str] = {}
    for _ in range(times):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 9.0))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for path in (out / "measurements").glob("*.json"):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            assert seen.setdefault(path, digest) == digest, "a finished measurement was made again"
        assert all(path.exists() for path in seen), "a finished measurement was lost"
        if len(seen) == len(SIZES):  # done: begin anew, so that the other kills meet work too
            seen.clear()
            for path in out.rglob("*.json*"):
                path.unlink()
    assert board.orphans() == []
    run(out, board.folder)
    assert_truth(out, SIZES)
    assert board.orphans() == []


@pytest.mark.slow
def test_the_host_process_may_be_killed_at_fifty_random_moments(fake_board: FakeBoard, tmp_path: Path) -> None:
    kill_and_resume(fake_board, tmp_path / "out", times=50)
