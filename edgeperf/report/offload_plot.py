"""Local or offloaded → a plot over bandwidth, as one SVG file that needs nothing to be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.ptx.offload import Decision, Link, Task, curve
from edgeperf.report.svg import document, write_whole
from edgeperf.units import METRICS

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 45
POINTS = 160
LOCAL, OFFLOADED, MARK = "#b04a1f", "#1f5fb0", "#555"


def write_offload_plot(
    task: Task, link: Link, path: Path, *, lowest_mbit_s: float = 0.5, highest_mbit_s: float = 500.0
) -> Path:
    """Writes two panels over bandwidth, latency and the device's energy, each with the place where the answer turns.

    Returns:
        `path`.

    Raises:
        InvalidInput: the range of bandwidths is empty, or no file can be written there.
    """
    if not 0 < lowest_mbit_s < highest_mbit_s:
        raise InvalidInput(f"Expected 0 < lowest < highest bandwidth, not {lowest_mbit_s} and {highest_mbit_s} Mbit/s.")
    ratio = highest_mbit_s / lowest_mbit_s
    points = curve(task, link, [lowest_mbit_s * ratio ** (step / (POINTS - 1)) for step in range(POINTS)])
    panels = (
        _panel("latency_ms", points, task.local_latency_ms, lambda point: point.offloaded_latency_ms, 0),
        _panel("energy_mj", points, task.local_energy_mj, lambda point: point.offloaded_energy_mj, HEIGHT),
    )
    turns = (points[0].faster_from_mbit_s, points[0].cheaper_from_mbit_s)
    marks = [_turn(turn, points, HEIGHT * place) for place, turn in enumerate(turns)]
    title = "Local or offloaded, over bandwidth"
    return write_whole(path, document((*panels, *marks), title=title, width=WIDTH, height=2 * HEIGHT))


def _across(bandwidth: float, points: Sequence[Decision]) -> float:
    """Horizontal place of a bandwidth, on a logarithmic scale."""
    lowest, highest = points[0].bandwidth_mbit_s, points[-1].bandwidth_mbit_s
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(bandwidth / lowest) / math.log(highest / lowest)


def _panel(
    metric: str, points: Sequence[Decision], local: float, value: Callable[[Decision], float], offset: int
) -> str:
    """Axes, the local level and the offloaded curve of one quantity."""
    top = 1.05 * max(local, sorted(map(value, points))[len(points) * 3 // 4])

    def down(number: float) -> float:
        return offset + TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(number, top) / top)

    line = " ".join(f"{_across(point.bandwidth_mbit_s, points):.1f},{down(value(point)):.1f}" for point in points)
    floor = offset + HEIGHT - BOTTOM
    ticks = "".join(
        f'<text x="{_across(10.0**power, points):.1f}" y="{floor + 18}" text-anchor="middle">{10.0**power:g}</text>'
        for power in range(-3, 7)
        if points[0].bandwidth_mbit_s <= 10.0**power <= points[-1].bandwidth_mbit_s
    )
    levels = "".join(
        f'<text x="{LEFT - 8}" y="{down(level):.1f}" text-anchor="end">{escape(METRICS[metric].format(level))}</text>'
        for level in (local, top / 1.05)
    )
    return (
        f'<text x="{LEFT}" y="{offset + 22}" font-weight="bold">{escape(METRICS[metric].label)}: '
        f'<tspan fill="{LOCAL}">local</tspan> or <tspan fill="{OFFLOADED}">offloaded</tspan></text>'
        f'<path d="M{LEFT} {offset + TOP}V{floor}H{WIDTH - RIGHT}" fill="none" stroke="black"/>{ticks}{levels}'
        f'<text x="{WIDTH - RIGHT}" y="{floor + 36}" text-anchor="end">bandwidth, Mbit/s</text>'
        f'<path d="M{LEFT} {down(local):.1f}H{WIDTH - RIGHT}" stroke="{LOCAL}" stroke-width="2"/>'
        f'<polyline points="{line}" fill="none" stroke="{OFFLOADED}" stroke-width="2"/>'
    )


def _turn(turn: float | None, points: Sequence[Decision], offset: int) -> str:
    """The bandwidth from which on offloading wins, where it lies in the plot; a sentence where there is none."""
    if turn is None or not points[0].bandwidth_mbit_s < turn < points[-1].bandwidth_mbit_s:
        always = turn is not None and turn <= points[0].bandwidth_mbit_s
        says = "offloading wins everywhere here" if always else "the device wins everywhere here"
        return f'<text x="{WIDTH - RIGHT}" y="{offset + 22}" text-anchor="end" fill="{MARK}">{says}</text>'
    across = _across(turn, points)
    return (
        f'<path class="turn" d="M{across:.1f} {offset + TOP}V{offset + HEIGHT - BOTTOM}" stroke="{MARK}" '
        f'stroke-dasharray="4 3"/><text x="{across + 5:.1f}" y="{offset + TOP + 10}" fill="{MARK}">'
        f"offloading wins from {turn:.3g} Mbit/s</text>"
    )
