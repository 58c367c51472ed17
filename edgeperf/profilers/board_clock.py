"""Keeps a GPU at one clock while the agent measures, and lets it go however that ends: a part of the agent.

Copied to the board beside `board_agent.py`, which imports it. Python 3.6 or later, standard library alone.

On a Jetson the limits of devfreq are written, elsewhere `nvidia-smi --lock-gpu-clocks` is run. The limits that were
there are noted in ROOT/dev/shm before the first change, and the note goes when they are there again. An agent that is
killed leaves the note behind: the next one restores them before it does anything else, so that limits of a killed run
are never taken for the board's own. A restart of the board forgets the note together with the limits.

The agent that set the clock holds a lock on the note: no other sets it meanwhile, and none takes the note for that of
a killed one.
"""

# Python 3.6 runs this file; annotations that it would understand are those that newer ones have dropped.
# mypy: ignore-errors

import contextlib
import fcntl
import glob
import json
import os
import signal
import subprocess

GPU_FOLDERS = ("*.gpu", "*.gp10b", "*.gv11b", "*.ga10b", "gpu-gpc-0")
"""Under sys/class/devfreq: Nano, TX2, AGX Xavier, Orin on JetPack 5, Orin on JetPack 6."""
DEVFREQ = "sys/class/devfreq"
NOTE = "dev/shm/edgeperf-gpu-clock.json"
LONGEST_NOTE = 4096
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
TOOL_LIMIT_S = 60


class ClockProblem(Exception):
    """The clock cannot be set, or its limits cannot be restored."""


class ClockInUse(ClockProblem):
    """Another measurement keeps the GPU at a clock."""


@contextlib.contextmanager
def fixed_clock(mhz, root):
    """Keeps the GPU at the nearest clock that it offers while the block runs; that clock in MHz. None leaves it alone.

    Raises ClockProblem where it cannot be set or let go.
    """
    if mhz is None:
        yield None
        return
    with own_note(root) as note:
        try:
            with explained("cannot be set to %g MHz" % mhz):
                restore(note, root)
                found = set_clock(mhz, note, root)
            yield found
        finally:
            with undisturbed(), explained("was set, and cannot be let go"):
                restore(note, root)


def let_go_of_killed_run(root):
    """Restores the limits that an agent noted and, killed, did not restore; leaves alone what is not this user's."""
    if os.path.exists(os.path.join(root, NOTE)):
        try:
            with own_note(root) as note, undisturbed():
                restore(note, root)
        except (ClockProblem, OSError):  # whoever wants the clock set is told; others measure at the clock that is
            pass


@contextlib.contextmanager
def undisturbed():
    """Holds signals that end the agent back until the block is over."""
    came = []
    handlers = {sign: signal.signal(sign, lambda number, _frame: came.append(number)) for sign in ENDING_SIGNALS}
    try:
        yield
    finally:
        for sign, handler in handlers.items():
            signal.signal(sign, handler)
    for sign in came[:1]:
        os.kill(os.getpid(), sign)


@contextlib.contextmanager
def explained(what):
    try:
        yield
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise ClockProblem("the GPU clock %s: %s" % (what, problem))


@contextlib.contextmanager
def own_note(root):
    """The note, locked, as a file descriptor; the file goes where it is empty at the end."""
    path = os.path.join(root, NOTE)
    with explained("cannot be set"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise ClockProblem("the GPU clock was set by a run of another user, who must let it go (%s)" % path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), os.stat(path)):  # it went before the lock was ours
                raise FileNotFoundError(path)
        except OSError:
            raise ClockInUse("another measurement keeps the GPU at a clock")
        try:
            yield handle
        finally:
            if read_note(handle) is None:
                os.unlink(path)
    finally:
        os.close(handle)


def read_note(note):
    try:
        return json.loads(os.pread(note, LONGEST_NOTE, 0).decode())
    except ValueError:  # empty: nothing was changed yet
        return None


def write_note(note, found):
    """Before the first change. One that is there holds the limits of the board itself, and is not overwritten."""
    if read_note(note) is None:
        os.pwrite(note, json.dumps(found).encode(), 0)


def restore(note, root):
    """Brings back the limits that the note holds, and empties it."""
    found = read_note(note)
    if found is None:
        return
    if "devfreq" in found:
        set_range(os.path.join(root, DEVFREQ, os.path.basename(found["devfreq"])), *found["hertz"])
    else:
        run_nvidia_smi("--reset-gpu-clocks")
    os.ftruncate(note, 0)


def set_clock(mhz, note, root):
    """Notes what is there and sets the clock; the one that is really set."""
    folders = [path for name in GPU_FOLDERS for path in glob.glob(os.path.join(root, DEVFREQ, name))]
    if not folders:
        return set_by_nvidia_smi(mhz, note)
    folder = folders[0]
    offered = [int(text) for text in read_text(folder, "available_frequencies").split()]
    wanted = min(offered, key=lambda hertz: abs(hertz - 1e6 * mhz))
    write_note(note, {"devfreq": os.path.basename(folder), "hertz": read_range(folder)})
    set_range(folder, wanted, wanted)
    least, most = read_range(folder)
    if least != most:
        raise ValueError("devfreq was told %g MHz and says %g to %g MHz" % (wanted / 1e6, least / 1e6, most / 1e6))
    return least / 1e6


def read_range(folder):
    return int(read_text(folder, "min_freq")), int(read_text(folder, "max_freq"))


def set_range(folder, least, most):
    """Writes the limits that differ, in the order in which the least never exceeds the highest."""
    steps = [("min_freq", least), ("max_freq", most)]
    if least > int(read_text(folder, "max_freq")):
        steps.reverse()
    for name, hertz in steps:
        if int(read_text(folder, name)) != hertz:
            with open(os.path.join(folder, name), "w") as limit:
                limit.write(str(hertz))


def read_text(folder, name):
    with open(os.path.join(folder, name)) as text:
        return text.read()


def set_by_nvidia_smi(mhz, note):
    try:
        said = run_nvidia_smi("--query-supported-clocks=gr", "--format=csv,noheader,nounits")
    except FileNotFoundError:
        raise ValueError("this machine has neither a Jetson's devfreq nor nvidia-smi")
    offered = {int(text) for text in said.split() if text.isdigit()} or {round(mhz)}
    wanted = min(offered, key=lambda clock: abs(clock - mhz))
    write_note(note, {"nvidia-smi": wanted})
    try:
        run_nvidia_smi("--lock-gpu-clocks=%d,%d" % (wanted, wanted))
    except OSError:
        os.ftruncate(note, 0)  # nothing was changed, and what may not lock may not reset either
        raise
    return float(wanted)


def run_nvidia_smi(*options):
    done = subprocess.run(
        ("nvidia-smi",) + options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TOOL_LIMIT_S
    )
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise OSError("nvidia-smi says: %s" % (said or "exit code %d" % done.returncode))
    return said
