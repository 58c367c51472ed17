"""A device's name and the machine at hand → whether the figures of that machine may be filed under the name."""

from __future__ import annotations

from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.hardware import GpuSpec, gpu
from edgeperf.profilers import nvml

_TEGRA = Path("/etc/nv_tegra_release")


def is_jetson() -> bool:
    """Whether this machine is a Jetson."""
    return _TEGRA.exists()


def why_no_gpu() -> str | None:
    """Why no GPU of this machine can be measured; None where one can."""
    return None if is_jetson() else nvml.why_missing()


def why_not_here(device: str, *, why_cpu: str | None) -> str | None:
    """Why figures of this machine are not those of that device; None where nothing speaks against it.

    Names of boards and GPUs are held against what is here; any other name is the user's own and says nothing.

    Args:
        device: the name.
        why_cpu: why networks would run on the CPU; None where they run on the GPU.
    """
    sheet = _data_sheet(device)
    jetson = device.lower().startswith("jetson") or (sheet is not None and sheet.integrated)
    if sheet is None and not jetson:
        return None
    if jetson != is_jetson():
        return "it is no Jetson" if jetson else "it is a Jetson"
    if why_cpu is not None:
        return f"its CPU would be measured, since {why_cpu}"
    here = None if jetson else nvml.identity()
    if here is None or sheet is None:
        return None
    title, capability = here
    same = capability == sheet.compute_capability and _data_sheet(title) in (None, sheet)
    return None if same else f"its GPU is {title}, of compute capability {capability}"


def cpu_remark(device: str) -> str:
    """What to tell who measures this machine's CPU under a name of their own."""
    why = why_no_gpu() or "a run on the CPU was asked for"
    return f"The CPU of this machine is measured, under the name {device}; no GPU, since {why}."


def _data_sheet(name: str) -> GpuSpec | None:
    try:
        return gpu(name)
    except InvalidInput:
        return None
