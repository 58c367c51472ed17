"""Stands in for nvidia-ml-py in a process that a test starts: a GPU at constant power, with an energy counter."""

import os
import time
from types import SimpleNamespace

POWER_MW = 61_000
NVML_CLOCK_SM = NVML_TEMPERATURE_GPU = 1


class NVMLError(Exception):
    """As in pynvml."""


def nvmlInit() -> None:  # noqa: N802 - NVML's own name
    if os.environ.get("FAKE_NVML") == "absent":
        raise NVMLError("Driver Not Loaded")


def nvmlShutdown() -> None:  # noqa: N802
    return


def nvmlDeviceGetHandleByIndex(index: int) -> int:  # noqa: N802
    return index


def nvmlDeviceGetName(_: int) -> str:  # noqa: N802
    return "Fake GPU"


def nvmlDeviceGetPowerUsage(_: int) -> int:  # noqa: N802
    return POWER_MW


def nvmlDeviceGetTotalEnergyConsumption(_: int) -> int:  # noqa: N802
    return int(POWER_MW * time.monotonic())


def nvmlDeviceGetMemoryInfo(_: int) -> SimpleNamespace:  # noqa: N802
    return SimpleNamespace(used=2 << 30)


def nvmlDeviceGetClockInfo(_: int, __: int) -> int:  # noqa: N802
    return 1980


def nvmlDeviceGetTemperature(_: int, __: int) -> int:  # noqa: N802
    return 41
