"""A board that is simulated behind a real sshd on loopback: its own PATH, file tree, state, and faults on demand."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake")
SSHD = "/usr/sbin/sshd"
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
PYTHON_3_6 = Path.home() / ".pyenv/versions/3.6.15/bin/python3.6"

FILES = {
    "etc/nv_tegra_release": "# R32 (release), REVISION: 7.1, GCID: 1, BOARD: t210ref, EABI: aarch64",
    "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=5W >\n",
    "proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit\0",
    "proc/meminfo": "MemTotal:        4059000 kB\nMemFree: 2500000 kB\nMemAvailable:    3000000 kB\n",
    "proc/sys/kernel/random/boot_id": "first-boot\n",
    "proc/vmstat": "oom_kill 0\n",
    "sys/class/devfreq/57000000.gpu/min_freq": "921600000\n",
    "sys/class/devfreq/57000000.gpu/max_freq": "921600000\n",
    "sys/class/devfreq/57000000.gpu/cur_freq": "921600000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq": "1479000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "1479000\n",
    "sys/class/thermal/cooling_device0/type": "gpu-balanced\n",
    "sys/class/thermal/cooling_device0/cur_state": "0\n",
}


def ensure_sshd() -> None:
    """Installs openssh-server where it is missing and that is possible; skips the test otherwise."""
    if Path(SSHD).exists() and shutil.which("ssh") and shutil.which("sftp"):
        return
    if os.getuid() != 0 or not shutil.which("apt-get"):
        pytest.skip("no openssh-server: install it, or run the tests as root on Debian so that they can")
    install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends openssh-server openssh-client"
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(["sh", "-c", install], capture_output=True, timeout=180, check=False)
    if not Path(SSHD).exists():
        pytest.skip("openssh-server could not be installed; is there a connection to a Debian mirror?")


class FakeBoard:
    """A Jetson Nano with JetPack 4.6, as far as the agent can tell."""

    def __init__(self, folder: Path, name: str = "nano") -> None:
        self.folder = folder
        self.name = name
        self.state = folder / "state"
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.home = folder / "home"
        self.workdir = self.home / ".cache/edgeperf"
        self.ssh_config = folder / "ssh_config"
        self._sshd: subprocess.Popen[bytes] | None = None
        for path in (self.state, self.root, self.bin, self.home):
            path.mkdir(parents=True)
        for name, text in FILES.items():
            self.write(name, text)
        self._install_tools()
        self._write_ssh_files()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fault(self, name: str) -> None:
        (self.state / name).touch()

    def _install_tools(self) -> None:
        python = PYTHON_3_6 if PYTHON_3_6.exists() else Path(sys.executable)
        self._script("python3", f'exec {python} "$@"')
        # Every board has a home and a PATH of its own, whatever the user's shell has made of them
        path = f"{self.bin}:/usr/local/bin:/usr/bin:/bin"
        self._script("login", f'cd {self.home}; PATH={path} exec sh -c "$SSH_ORIGINAL_COMMAND"')
        self._script("nvpmodel", "printf 'NV Power Mode: MAXN\\n0\\n'")
        for tool in ("tegrastats", "trtexec"):
            self._script(tool, f'exec {sys.executable} {FAKE / tool}.py "$@"')

    def _script(self, name: str, line: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def _write_ssh_files(self) -> None:
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        host_key = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\nPidFile {self.folder}/pid\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
            f"Subsystem sftp {SFTP_SERVER} -d {self.home}\nForceCommand {self.bin}/login\n"
            f"SetEnv FAKE_STATE={self.state} PYTHONPATH={FAKE}\n"
        )
        self.ssh_config.write_text(
            f"Host {self.name}\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.folder}/user_key\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        )

    def install_keras(self) -> None:
        """A board with TensorFlow and nvprof in the place of TensorRT."""
        (self.bin / "trtexec").unlink()
        self._script("python3", f'PYTHONPATH= exec {sys.executable} "$@"')
        self._script("nvprof", f'exec {sys.executable} {FAKE / "nvprof"}.py "$@"')

    def power_on(self) -> None:
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with (self.folder / "sshd.log").open("ab") as log:
            self._sshd = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "sshd.log").read_text())

    def power_off(self) -> None:
        """The power cord is pulled: every process of the board ends at once."""
        serving = self.sessions()  # known by their parent, so before it is gone
        if self._sshd is not None:
            self._sshd.kill()
            self._sshd.wait()
        for pid in (*serving, *self.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cut(self) -> int:
        """Cuts the connections that are open; how many there were."""
        sessions = self.sessions()
        for pid in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(sessions)

    def sessions(self) -> list[int]:
        """Processes of sshd that serve a connection."""
        if self._sshd is None:
            return []
        parents = {pid: _parent(pid) for pid in _pids()}
        served = [pid for pid, parent in parents.items() if parent == self._sshd.pid]
        return [*served, *(pid for pid, parent in parents.items() if parent in served and "sshd" in _command(pid))]

    def processes(self) -> list[int]:
        """Processes that run on the board, apart from sshd itself."""
        mark = f"FAKE_STATE={self.state}".encode()
        return [pid for pid in _pids() if mark in _environment(pid).split(b"\0") and "sshd" not in _command(pid)]

    def orphans(self, patience_s: float = 20.0) -> list[str]:
        """Commands that still run on the board after it has had time to clean up."""
        end = time.monotonic() + patience_s
        while self.processes() and time.monotonic() < end:
            time.sleep(0.1)
        return [_command(pid) for pid in self.processes()]


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _environment(pid: int) -> bytes:
    return _read(pid, "environ")


def _command(pid: int) -> str:
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0
