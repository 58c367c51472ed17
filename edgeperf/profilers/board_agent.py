"""Runs measurements on a board: standard library alone, Python 3.6 or later.

The host copies this file and `board_clock.py` to the board and starts one process of it per request. It talks JSON,
one object per line.

Host to agent, on standard input
    The first line is the request. Every later line, whatever it holds, says that the host is still there. When
    standard input closes, or nothing came for `lease_s`, the agent ends everything that it started and exits with 3.

    {"op": "inspect", "root": "/", "workdir": DIR}
    {"op": "measure", "root": "/", "workdir": DIR, "id": ID, "lease_s": 30, "idle_s": 30, "env": {NAME: VALUE},
     "sensor": {"argv": [...]} or {"files": {LABEL: PATH}, "period_s": 0.02} or null, "gpu_mhz": 900 or null,
     "steps": [{"name": NAME, "argv": [...], "timeout_s": 600, "sample": true, "collect": [FILE, ...]}, ...]}

    Steps run one after the other in DIR; the first that fails ends the measurement. `sample` asks for the sensor while
    the step runs; `collect` names files in DIR whose text goes into the recording. `gpu_mhz` asks for the GPU to be
    kept at a clock meanwhile; it is let go whatever becomes of the steps, by the next agent where this one is killed.

Agent to host, on standard output
    {"event": "hello", "protocol": 1, "python": "3.6.9", "sha256": OF_THIS_FILE}
    {"event": "phase", "name": "idle" or the step's, "t": SECONDS}
    {"event": "facts", ...}                             answers "inspect"; see `inspect`
    {"event": "done", "id": ID, "path": PATH, "sha256": OF_THE_RECORDING}
    {"event": "failed", "reason": "busy" or "clock" or "disk" or "request", "message": TEXT}

A recording is DIR/recordings/ID.json.gz, written whole or not at all; the host fetches and deletes it. It holds raw
lines with their time: nothing is interpreted here. All times are seconds of CLOCK_MONOTONIC, which no clock change
moves and which the steps' own processes share.
"""

# Python 3.6 runs this file; annotations that it would understand are those that newer ones have dropped.
# mypy: ignore-errors

import ctypes
import errno
import fcntl
import glob
import gzip
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time

PROTOCOL = 1
LINES_KEPT = 200000
LINE_LENGTH = 8000
LARGEST_FILE = 64 << 20
MARK = "EDGEPERF_WORKDIR"
FREE_MIB_NEEDED = 64
STATE_FILES = (
    "etc/nv_tegra_release",
    "etc/nvpmodel.conf",
    "proc/device-tree/model",
    "proc/meminfo",
    "proc/sys/kernel/random/boot_id",
    "proc/vmstat",
    "sys/class/devfreq/*/cur_freq",
    "sys/class/devfreq/*/max_freq",
    "sys/class/devfreq/*/min_freq",
    "sys/class/hwmon/hwmon*/oc*_event_cnt",
    "sys/class/thermal/cooling_device*/cur_state",
    "sys/class/thermal/cooling_device*/type",
    "sys/class/thermal/thermal_zone*/temp",
    "sys/class/thermal/thermal_zone*/type",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
)
SENSOR_FILES = (
    "sys/bus/i2c/drivers/ina3221x/*/iio:device*/rail_name_*",
    "sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/in*_label",
    "sys/class/powercap/intel-rapl:*/name",
)
TOOLS = ("tegrastats", "nvpmodel", "trtexec", "/usr/src/tensorrt/bin/trtexec", "nvprof", "/usr/local/cuda/bin/nvprof")
TOOLS += ("nsys", "/usr/local/cuda/bin/nsys")
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(Exception):
    """The host is gone, or asked to stop."""


class Refused(Exception):
    """The request cannot be carried out: a reason for programs, a message for people."""

    def __init__(self, reason, message):
        Exception.__init__(self, message)
        self.reason = reason


class Host:
    """The other end: says what happens, and notices when nobody listens any more."""

    def __init__(self, lease_s):
        self.lease_s = lease_s
        self.heard = time.monotonic()
        self.gone = False

    def listen(self):
        thread = threading.Thread(target=self._listen)
        thread.daemon = True
        thread.start()

    def _listen(self):
        while sys.stdin.readline():
            self.heard = time.monotonic()
        self.gone = True

    def check(self):
        if self.gone or time.monotonic() - self.heard > self.lease_s:
            raise Ended()

    def say(self, event, **fields):
        try:
            sys.stdout.write(json.dumps(dict(fields, event=event)) + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            raise Ended()


class Process:
    """A command with time-stamped lines of output, which never outlives the agent."""

    def __init__(self, argv, cwd, env):
        self.lines = []
        self.child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=_tie_to_parent,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.daemon = True
        self.reader.start()

    def _read(self):
        for line in iter(self.child.stdout.readline, b""):
            stamp = time.monotonic()
            if len(self.lines) < LINES_KEPT:
                self.lines.append((stamp, line[:LINE_LENGTH].decode("utf-8", "replace").rstrip("\r\n")))

    def wait(self, host, timeout_s):
        """Exit status, or None where it did not end in time."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            host.check()
            try:
                return self.child.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        return None

    def cpu_s(self):
        """Processor time that it used so far, in seconds; 0 once it has ended."""
        try:
            fields = read("/proc/%d/stat" % self.child.pid).rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
        except (OSError, IndexError):
            return 0.0

    def end(self):
        """Ends the command and everything that it started; asks first, then insists."""
        for sign, patience_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
            try:
                os.killpg(self.child.pid, sign)
            except OSError as problem:
                if problem.errno not in (errno.ESRCH, errno.EPERM):
                    raise
            try:
                self.child.wait(patience_s)
                break
            except subprocess.TimeoutExpired:
                continue
        try:
            os.killpg(self.child.pid, signal.SIGKILL)  # what the command itself had started
        except OSError:
            pass
        self.reader.join(2.0)


class Files:
    """Sensor files read at a steady period; a line is ``LABEL=VALUE`` for each file, ``LABEL=`` where unreadable."""

    def __init__(self, files, period_s):
        self.lines = []
        self.handles = [(label, open(path, "rb", buffering=0)) for label, path in sorted(files.items())]
        self.period_s = period_s
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._poll)
        self.thread.daemon = True
        self.thread.start()

    def _poll(self):
        due = time.monotonic()
        while not self.ending.is_set():
            stamp = time.monotonic()
            line = " ".join("%s=%s" % (label, _value(handle)) for label, handle in self.handles)
            if len(self.lines) < LINES_KEPT:
                self.lines.append((stamp, line))
            due = max(due + self.period_s, stamp)
            self.ending.wait(max(0.0, due - time.monotonic()))

    def cpu_s(self):
        return 0.0  # its thread's time is in the agent's own

    def end(self):
        self.ending.set()
        self.thread.join(2.0)
        for _label, handle in self.handles:
            handle.close()


def _value(handle):
    try:
        handle.seek(0)
        return ",".join(handle.read(128).decode("ascii", "replace").split())
    except OSError:
        return ""


def _tie_to_parent():
    """Runs in the new process: own group, dies with the agent, first choice when memory runs out."""
    os.setsid()
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass


def read(path):
    with open(path, "rb") as handle:
        return handle.read(LARGEST_FILE).decode("utf-8", "replace").replace("\0", "")


def read_matching(root, patterns):
    """Path below `root` -> text, for every readable file that a pattern matches."""
    found = {}
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            try:
                found[os.path.relpath(path, root)] = read(path)
            except OSError:
                continue
    return found


def state(root):
    """Raw facts that may change while a network runs: modes, clocks, temperatures, throttle counters, memory."""
    found = read_matching(root, STATE_FILES)
    try:
        done = subprocess.run(
            ["nvpmodel", "-q"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10
        )
        found["nvpmodel -q"] = done.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        pass
    return found


def inspect(request):
    """Facts for the host's choices: `state`, sensor names, tools found, recordings that wait to be fetched."""
    root, workdir = request["root"], request["workdir"]
    recordings = {}
    for path in glob.glob(os.path.join(workdir, "recordings", "*.json.gz")):
        recordings[os.path.basename(path)[: -len(".json.gz")]] = digest(path)
    return {
        "state": state(root),
        "sensors": read_matching(root, SENSOR_FILES),
        "tools": {tool: path for tool, path in ((tool, shutil.which(tool)) for tool in TOOLS) if path},
        "free_mib": shutil.disk_usage(workdir).free >> 20,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "processor": processor(request["root"]),
        "recordings": recordings,
    }


def processor(root):
    """What the kernel calls the first core; empty where it does not say."""
    for text in read_matching(root, ("proc/cpuinfo",)).values():
        for line in text.splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return ""


def digest(path):
    with open(path, "rb") as handle:
        return hashlib.sha256(handle.read()).hexdigest()


def sweep(workdir):
    """Ends what an earlier agent of this folder left behind when it was killed itself."""
    mark = ("%s=%s" % (MARK, workdir)).encode()
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(entry) != os.getpid() and mark in read_bytes(entry).split(b"\0"):
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            continue


def read_bytes(pid):
    with open("/proc/%s/environ" % pid, "rb") as handle:
        return handle.read()


def start_sensor(wanted, workdir, env):
    """The running sensor, or None and why there is none."""
    try:
        if wanted is None:
            return None, "no sensor was asked for"
        if "argv" in wanted:
            return Process(wanted["argv"], workdir, env), None
        return Files(wanted["files"], wanted["period_s"]), None
    except OSError as problem:
        return None, "the sensor did not start: %s" % problem


def watched(sensor_wanted, workdir, env, action):
    """Runs `action` while the sensor records: its result, the lines, why there are none, processor seconds used."""
    sensor, reason = start_sensor(sensor_wanted, workdir, env)
    before = time.process_time()
    try:
        result = action()
        used = time.process_time() - before + (sensor.cpu_s() if sensor else 0.0)
    finally:
        if sensor:
            sensor.end()
    return result, (list(sensor.lines) if sensor else []), reason, used


def run_step(step, request, env, host):
    """One step as it goes into the recording; `ok` says whether the next may run."""
    host.say("phase", name=step["name"], t=time.monotonic())
    workdir = request["workdir"]
    for name in step.get("collect", ()):  # a file of the network before must not be taken for this one's
        if os.path.exists(os.path.join(workdir, name)):
            os.unlink(os.path.join(workdir, name))
    begin = time.monotonic()

    def run():
        process = Process(step["argv"], workdir, env)
        try:
            return process.wait(host, step["timeout_s"]), process
        finally:
            process.end()

    wanted = request["sensor"] if step.get("sample") else None
    try:
        (status, process), lines, reason, used = watched(wanted, workdir, env, run)
        output = list(process.lines)
    except OSError as problem:  # the command itself is missing
        status, lines, reason, used = 127, [], None, 0.0
        output = [(begin, str(problem))]
    return {
        "name": step["name"],
        "argv": step["argv"],
        "begin": begin,
        "end": time.monotonic(),
        "returncode": status,
        "timed_out": status is None,
        "output": output,
        "sensor": lines,
        "sensor_error": reason if step.get("sample") else None,
        "sampler_cpu_s": used,
        "files": read_matching(workdir, step.get("collect", ())),
    }


def measure(request, host):
    """Carries the request out and keeps its recording; answers with where it lies."""
    workdir = request["workdir"]
    if shutil.disk_usage(workdir).free >> 20 < request.get("free_mib", FREE_MIB_NEEDED):
        raise Refused("disk", "less than %d MiB are free in %s" % (request.get("free_mib", FREE_MIB_NEEDED), workdir))
    env = dict(os.environ, **request.get("env", {}))
    env[MARK] = workdir
    before = state(request["root"])
    host.say("phase", name="idle", t=time.monotonic())

    def idle():
        end = time.monotonic() + request["idle_s"]
        while time.monotonic() < end:
            host.check()
            time.sleep(min(0.05, max(0.0, end - time.monotonic())))

    _result, idle_lines, idle_error, _used = watched(request["sensor"], workdir, env, idle)
    steps = []
    for step in request["steps"]:
        steps.append(run_step(step, request, env, host))
        if steps[-1]["returncode"] != 0:
            break
    return {
        "protocol": PROTOCOL,
        "id": request["id"],
        "agent_sha256": digest(os.path.abspath(__file__)),
        "state_before": before,
        "state_after": state(request["root"]),
        "idle": idle_lines,
        "idle_error": idle_error,
        "steps": steps,
    }


def keep(recording, workdir):
    """Writes the recording whole or not at all; its path."""
    folder = os.path.join(workdir, "recordings")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, recording["id"] + ".json.gz")
    with open(path + ".part", "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
            packed.write(json.dumps(recording).encode())
        raw.flush()
        os.fsync(raw.fileno())
    os.replace(path + ".part", path)
    return path


def lock(workdir):
    """Holds the board for this process alone; the lock ends with it."""
    handle = open(os.path.join(workdir, "agent.lock"), "w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Refused("busy", "another measurement runs in %s" % workdir)
    return handle


def serve(request, host):
    # Lies beside this file on the board; the package imports this module from elsewhere
    from board_clock import ClockInUse, ClockProblem, fixed_clock, let_go_of_killed_run

    workdir = request["workdir"] = os.path.abspath(os.path.expanduser(request["workdir"]))
    os.makedirs(workdir, exist_ok=True)
    if request["op"] == "inspect":
        let_go_of_killed_run(request["root"])
        host.say("facts", **inspect(request))
        return
    if request["op"] != "measure":
        raise Refused("request", "unknown op %r" % request["op"])
    held = lock(workdir)
    sweep(workdir)
    let_go_of_killed_run(request["root"])
    try:
        with fixed_clock(request.get("gpu_mhz"), request["root"]) as set_mhz:
            recording = measure(request, host)
    except ClockInUse as problem:
        raise Refused("busy", str(problem))
    except ClockProblem as problem:
        raise Refused("clock", str(problem))
    path = keep(dict(recording, gpu_mhz=set_mhz), workdir)
    host.say("done", id=request["id"], path=path, sha256=digest(path))
    held.close()


def main():
    def stop(_signal, _frame):
        for sign in ENDING_SIGNALS:  # one is enough: cleaning up must not be interrupted
            signal.signal(sign, signal.SIG_IGN)
        raise Ended()

    for sign in ENDING_SIGNALS:
        signal.signal(sign, stop)
    line = sys.stdin.readline()
    if not line:
        return 3
    request = json.loads(line)
    host = Host(request.get("lease_s", 30))
    try:
        host.say("hello", protocol=PROTOCOL, python=platform.python_version(), sha256=digest(os.path.abspath(__file__)))
        host.listen()
        serve(request, host)
    except Ended:
        return 3
    except Refused as refused:
        host.say("failed", reason=refused.reason, message=str(refused))
        return 1
    except OSError as problem:
        reason = "disk" if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) else "request"
        host.say("failed", reason=reason, message=str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
