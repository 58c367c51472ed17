"""Power, energy and memory of the host's first NVIDIA GPU, one line per reading: ``python -m edgeperf.profilers.nvml``.

Power of data-centre cards is an average over 25 to 100 ms, so a network is looped for seconds; where the card counts
energy, the counter is read too and gives the energy of one inference. What the card does not answer is left out of the
line. On a Jetson NVML initialises and then answers nothing: look for /etc/nv_tegra_release first.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgeperf.units import BYTES_PER_MIB

PERIOD_S = 0.02
FILTER_MS = 100.0
_TEGRA = Path("/etc/nv_tegra_release")
_SET_UP = "install a driver, and edgeperf's extra: pip install 'edgeperf[nvml]'"


def why_missing() -> str | None:
    """Why NVML gives no power on this machine, and what to do; None where it does."""
    if _TEGRA.exists():
        return "this is a Jetson, where NVML answers no power query; use tegrastats"
    try:
        with_power = any("power_mw" in line for line in lines(count=1, period_s=0.0))
    except ImportError:
        return f"the Python package nvidia-ml-py is missing: {_SET_UP}"
    except Exception as problem:  # noqa: BLE001 - pynvml's errors share no base with anything that is importable without it
        return f"NVML does not start ({problem}): {_SET_UP}"
    return None if with_power else "the GPU answers no power query through NVML"


def identity() -> tuple[str, str] | None:
    """Name and compute capability of the host's first GPU, as ``("NVIDIA L4", "8.9")``; None where NVML tells none."""
    try:
        with _first_gpu() as (pynvml, handle):
            major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
            return str(pynvml.nvmlDeviceGetName(handle)), f"{major}.{minor}"
    except Exception:  # noqa: BLE001 - as in `why_missing`, which says why
        return None


def lines(*, count: int | None = None, period_s: float = PERIOD_S) -> Iterator[str]:
    """Readings as lines, `count` of them or for ever.

    Raises:
        ImportError: nvidia-ml-py is not installed.
        pynvml.NVMLError: there is no driver or no GPU.
    """
    with _first_gpu() as (pynvml, handle):
        queries = _queries(pynvml, handle)
        given = 0
        while count is None or given < count:
            yield " ".join(f"{name}={value}" for name, value in _answers(pynvml, queries))
            given += 1
            time.sleep(period_s)


@contextmanager
def _first_gpu() -> Iterator[tuple[Any, Any]]:
    """The library and its handle of the GPU."""
    pynvml: Any = importlib.import_module("pynvml")
    pynvml.nvmlInit()
    try:
        yield pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
    finally:
        pynvml.nvmlShutdown()


def _queries(library: Any, handle: Any) -> dict[str, Callable[[], float]]:
    return {
        "power_mw": lambda: library.nvmlDeviceGetPowerUsage(handle),
        "energy_mj": lambda: library.nvmlDeviceGetTotalEnergyConsumption(handle),
        "memory_mib": lambda: library.nvmlDeviceGetMemoryInfo(handle).used / BYTES_PER_MIB,
        "gpu_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
        "temperature_c": lambda: library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU),
    }


def _answers(library: Any, queries: dict[str, Callable[[], float]]) -> Iterator[tuple[str, float]]:
    for name, query in queries.items():
        try:
            yield name, query()
        except library.NVMLError:  # this card does not tell, which the missing field says
            continue


def main() -> None:
    """Print readings until the pipe closes or the process is ended."""
    for line in lines():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
