"""Files and command output that the agent read on a board → what they say of its mode, clocks and health.

Keys are paths below the board's root (``sys/class/devfreq/57000000.gpu/min_freq``) and ``nvpmodel -q``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from edgeperf.errors import InvalidInput
from edgeperf.profilers import nvpmodel

Files = Mapping[str, str]
_GPU_CLOCK = re.compile(r"sys/class/devfreq/([^/]*(?:gpu|gp10b|gv11b|ga10b|gb10b)[^/]*)/min_freq")
_CPU_CLOCK = re.compile(r"sys/devices/system/cpu/(cpu[0-9]+)/cpufreq/scaling_min_freq")
_RELEASE = re.compile(r"R([0-9]+) \(release\), REVISION: ([0-9.]+)")


def board_model(files: Files) -> str | None:
    """What the device tree calls the board, e.g. ``"NVIDIA Jetson Nano Developer Kit"``."""
    return files.get("proc/device-tree/model", "").strip() or None


def is_jetson(files: Files) -> bool:
    """Whether the machine is a Jetson, whose NVML answers no power query."""
    return "etc/nv_tegra_release" in files


def os_release(files: Files) -> str | None:
    """Jetson Linux release, e.g. ``"L4T 32.7.1"``."""
    found = _RELEASE.search(files.get("etc/nv_tegra_release", ""))
    return f"L4T {found[1]}.{found[2]}" if found else None


def power_mode(files: Files) -> str | None:
    """Name of the power mode; None where nvpmodel did not say."""
    try:
        return nvpmodel.parse_query(files.get("nvpmodel -q", "")).name
    except InvalidInput:
        return None


def slower_mode(files: Files) -> str | None:
    """The mode that is set, where the board has a faster one named MAXN; None where all is well or unknown."""
    fastest = nvpmodel.fastest(nvpmodel.parse_modes(files.get("etc/nvpmodel.conf", "")))
    current = power_mode(files)
    return current if fastest and current and current != fastest.name else None


def clocks_locked(files: Files) -> bool | None:
    """Whether lowest and highest frequency agree for GPU and CPUs; None where no file tells.

    >>> gpu = "sys/class/devfreq/57000000.gpu/"
    >>> clocks_locked({gpu + "min_freq": "76800000", gpu + "max_freq": "921600000"})
    False
    """
    pairs = list(_frequency_ranges(files))
    return all(low == high for _, low, high in pairs) if pairs else None


def unlocked(files: Files) -> tuple[str, ...]:
    """Names of the clocks that may change, with their range in MHz."""
    return tuple(f"{name} {low:.0f}-{high:.0f} MHz" for name, low, high in _frequency_ranges(files) if low != high)


def _frequency_ranges(files: Files) -> Iterator[tuple[str, float, float]]:
    for path, text in files.items():
        for pattern, per_mhz in ((_GPU_CLOCK, 1e6), (_CPU_CLOCK, 1e3)):
            found = pattern.fullmatch(path)
            highest = files.get(path.replace("min_freq", "max_freq"), "")
            if found and text.strip().isdecimal() and highest.strip().isdecimal():
                yield found[1], int(text) / per_mhz, int(highest) / per_mhz


def throttling(before: Files, after: Files) -> tuple[str, ...]:
    """What slowed the board down meanwhile: over-current events, and cooling states that rose."""
    found = []
    for path, text in after.items():
        is_counter, is_cooling = path.endswith("_event_cnt"), path.endswith("/cur_state")
        then, now = before.get(path, "").strip(), text.strip()
        if (is_counter or is_cooling) and then.isdecimal() and now.isdecimal() and int(now) > int(then):
            device = after.get(path.replace("cur_state", "type"), path).strip() if is_cooling else path
            found.append(f"{device} went from {then} to {now}")
    return tuple(found)


def rebooted(before: Files, after: Files) -> bool:
    """Whether the board started anew in between."""
    path = "proc/sys/kernel/random/boot_id"
    return path in before and path in after and before[path] != after[path]


def out_of_memory_kills(files: Files) -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    found = re.search(r"^oom_kill ([0-9]{1,18})$", files.get("proc/vmstat", ""), re.MULTILINE)
    return int(found[1]) if found else 0
