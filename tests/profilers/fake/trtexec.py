"""Stands in for trtexec: the "network" in the ONNX file says how long it takes, what it draws, and how it fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STATE = Path(os.environ.get("FAKE_STATE", ""))


def say(text: str, level: str = "I") -> None:
    sys.stdout.write(f"[11/21/2026-10:00:00] [{level}] {text}\n")
    sys.stdout.flush()


def option(name: str) -> str | None:
    return next((word.partition("=")[2] for word in sys.argv if word.startswith(f"--{name}=")), None)


def costs(onnx: Path) -> dict:
    """What a test wrote in the place of the ONNX file; the same for every real file."""
    try:
        return json.loads(onnx.read_text())
    except ValueError:
        return {"name": "real", "ms": 5.0, "mw": 2400.0}


def fail(network: dict) -> None:
    fault = network.get("fault")
    if fault == "oom":
        say("[TRT] Cuda failure: out of memory", "E")
        sys.exit(1)
    if fault == "crash":
        say("Assertion failed: unsupported layer", "E")
        sys.exit(134)
    if fault == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=False)


def main() -> None:
    sys.stdout.write("&&&& RUNNING TensorRT.trtexec [TensorRT v8201] # trtexec\n")
    if option("onnx"):
        network = costs(Path(option("onnx") or ""))
        Path(option("saveEngine") or "").write_text(json.dumps(network))
        return
    network = json.loads(Path(option("loadEngine") or "").read_text())
    fail(network)
    if option("exportTimes"):
        count = int(option("iterations") or 0)
        times = [{"startInMs": n, "computeMs": network["ms"] * (1 + 0.01 * (n % 3 - 1))} for n in range(count)]
        Path(option("exportTimes") or "").write_text(json.dumps(times))
        say("=== Performance summary ===")
        return
    say("Starting inference")
    (STATE / "load").write_text(str(network["mw"]))
    (STATE / "runs").open("a").write(network["name"] + "\n")
    try:
        time.sleep(float(option("duration") or 0))
    finally:
        (STATE / "load").unlink(missing_ok=True)
    say("=== Performance summary ===")
    say(f"GPU Compute Time: min = {network['ms']} ms, max = {network['ms']} ms, mean = {network['ms']} ms")


if __name__ == "__main__":
    main()
