"""The script for NVIDIA GPUs, on a GPU that is not there: NVML is a fake, and the network runs on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.profilers import chrome_trace, kernels

ROOT = Path(__file__).parents[2]
FAKE = Path(__file__).with_name("fake")


def gpu_campaign(out: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/gpu_campaign.py", "--backend", "jax", "--out", str(out), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(FAKE), **env}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def rows(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.read_text().splitlines() if line.endswith("}")]


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    done = gpu_campaign(tmp_path / "gpu.jsonl", FAKE_NVML="absent")
    assert done.returncode != 0
    assert "No GPU to measure: NVML does not start (Driver Not Loaded)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_it_measures_what_is_missing_and_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    out = tmp_path / "gpu.jsonl"
    models = ["zoo:mobilenet-v1/MobileNet v1 0.25", "--input-size", "32", "--input-size", "64"]
    first = gpu_campaign(out, *models[:3], "--minutes", "5")
    assert first.returncode == 0, first.stderr
    (row,) = rows(out)
    assert (row["status"], row["power_mw"], row["power_rail"]) == ("ok", 61_000, "GPU board (NVML)")
    assert row["latency_ms"] is not None
    assert float(str(row["energy_mj"])) > 0
    assert float(str(row["training_step_ms"])) > 0
    assert row["memory_mib"] == 2048
    assert row["kernel_sum_ms"] is None  # nothing ran on a GPU, and that is no 0
    with out.open("a") as stream:
        stream.write('{"network": "cut o')
    second = gpu_campaign(out, *models, "--minutes", "5")
    assert second.returncode == 0, second.stderr
    assert [found["network"] for found in rows(out)] == ["MobileNet-v1-0.25_32", "MobileNet-v1-0.25_64"]
    assert rows(out)[0] == row


@pytest.mark.slow
def test_it_begins_nothing_that_it_has_no_time_for(tmp_path: Path) -> None:
    done = gpu_campaign(tmp_path / "gpu.jsonl", "zoo:mobilenet-v1", "--minutes", "0.2")
    assert "4 networks are left" in done.stdout
    assert not (tmp_path / "gpu.jsonl").exists()


def event(**fields: object) -> dict[str, object]:
    return {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 1, **fields}


def test_kernels_of_a_torch_trace() -> None:
    events = [
        event(cat="kernel", name="sgemm", dur=1500),
        event(cat="kernel", name="bias", dur=500),
        event(cat="gpu_memcpy", name="Memcpy HtoD", dur=900),
        event(cat="cpu_op", name="aten::conv2d", dur=9000),
    ]
    found = chrome_trace.parse_kernels(json.dumps({"traceEvents": events}))
    assert kernels.total_ms(found) == pytest.approx(2.0)


def test_kernels_of_a_jax_trace() -> None:
    names = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}},
        {"ph": "M", "pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 7, "tid": 2, "name": "thread_name", "args": {"name": "Stream of thoughts"}},
    ]
    events = [
        event(name="fusion_1", dur=1500),
        event(name="MemcpyD2H", dur=700),
        event(name="fusion_1", dur=1500, tid=3),
        event(name="python", dur=9000, pid=7),
        {},
    ]
    found = chrome_trace.parse_kernels(json.dumps({"traceEvents": [*names, *events]}))
    assert kernels.total_ms(found) == pytest.approx(1.5)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traceEvents": 3}', '{"traceEvents": [1]}'])
def test_other_files_are_an_error(text: str) -> None:
    with pytest.raises(InvalidInput, match="traceEvents"):
        chrome_trace.parse_kernels(text)
