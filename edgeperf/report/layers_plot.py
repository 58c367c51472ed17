"""What each layer costs → where time and energy go and how close each layer is to the roofline, as one SVG file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.shares import LayerCost, LayerTable
from edgeperf.report.svg import Anchor, axes, document, text, write_whole
from edgeperf.units import METRICS

WIDTH, HEIGHT = 900, 280
LEFT, RIGHT, TOP, BOTTOM = 70, 880, 40, 235
COLOURS = {"compute": "#b04a1f", "memory": "#1f5fb0", "launch": "#777"}
"""By what bounds a layer."""
NAMED = 5
NAME_WIDTH, NAME_HEIGHT = 130, 11
"""Closer than this, names would cover each other."""
BOLD = 'font-weight="bold"'
Place = Callable[[float], float]


def write_layers_plot(table: LayerTable, path: Path) -> Path:
    """Writes three panels: latency per layer, energy per layer where it is known, and the roofline.

    Returns:
        `path`.

    Raises:
        InvalidInput: no layer of the network takes any time, or no file can be written there.
    """
    running = [layer for layer in table.layers if layer.latency_ms > 0]
    if not running:
        raise InvalidInput(f"No layer of {table.network} takes any time; there is nothing to draw.")
    panels = [_bars("latency_ms", [layer.latency_ms for layer in running], running)]
    if table.energy_mj is not None:
        panels.append(_bars("energy_mj", [layer.energy_mj or 0.0 for layer in running], running))
    panels.append(_roofline(table, [layer for layer in running if layer.operations]))
    placed = [f'<g transform="translate(0 {HEIGHT * place})">{panel}</g>' for place, panel in enumerate(panels)]
    title = f"{table.network} on {table.device}. {table.note}"
    return write_whole(path, document(placed, title=title, width=WIDTH, height=len(panels) * HEIGHT))


def _bars(metric: str, values: Sequence[float], layers: Sequence[LayerCost]) -> str:
    """One bar per layer in network order; the longest are named."""
    top, step, form = max(values) or 1.0, (RIGHT - LEFT) / len(layers), METRICS[metric].format
    parts = [
        (
            f'<text x="{LEFT}" y="22" {BOLD}>{escape(METRICS[metric].label)} per layer, in network order; '
            f"bound by {_legend()}</text>"
        ),
        axes(LEFT, TOP, RIGHT, BOTTOM),
        text(LEFT - 8, TOP + 4, form(top), "end"),
        text(LEFT - 8, BOTTOM, "0", "end"),
    ]
    for index, (layer, value) in enumerate(zip(layers, values, strict=True)):
        tall = (BOTTOM - TOP) * value / top
        place = f'x="{LEFT + index * step:.1f}" y="{BOTTOM - tall:.1f}" width="{max(0.5, 0.9 * step):.1f}"'
        parts.append(
            f'<rect class="layer" {place} height="{tall:.1f}" fill="{COLOURS[layer.bound]}">'
            f"<title>{escape(f'{layer.name} ({layer.kind}): {form(value)}')}</title></rect>"
        )
    taken: list[tuple[float, float]] = []
    for index in sorted(range(len(layers)), key=lambda index: -values[index])[:NAMED]:
        across, down = LEFT + (index + 0.5) * step, BOTTOM - (BOTTOM - TOP) * values[index] / top - 3
        side: Anchor = "end" if index > len(layers) / 2 else "start"
        while any(abs(across - x) < NAME_WIDTH and abs(down - y) < NAME_HEIGHT for x, y in taken):
            down += NAME_HEIGHT
        taken.append((across, down))
        parts.append(text(across, down, layers[index].name, side, 'font-size="9"'))
    return "".join(parts)


def _legend() -> str:
    return " or ".join(f'<tspan fill="{colour}">{bound}</tspan>' for bound, colour in COLOURS.items())


def _roofline(table: LayerTable, layers: Sequence[LayerCost]) -> str:
    """Speed of each layer over its arithmetic intensity, under the roof, both logarithmic."""
    peak, bandwidth = table.peak_gflops, table.bandwidth_gb_s
    ridge = peak / bandwidth
    speeds = [layer.operations / layer.latency_ms / 1e6 for layer in layers]
    intensities = [*(layer.intensity for layer in layers), ridge / 2, 2 * ridge]
    across = _logarithmic(intensities, LEFT, RIGHT)
    down = _logarithmic([*speeds, 1.2 * peak], BOTTOM, TOP)
    begin = max(min(intensities), min([*speeds, peak]) / bandwidth)
    roof = f"M{across(begin):.1f} {down(begin * bandwidth):.1f}L{across(ridge):.1f} {down(peak):.1f}H{RIGHT}"
    parts = [
        text(LEFT, 22, f"Roofline: {peak:,.0f} GFLOP/s, {bandwidth:,.0f} GB/s", style=BOLD),
        axes(LEFT, TOP, RIGHT, BOTTOM),
        text(LEFT - 8, down(peak), f"{peak:,.0f}", "end"),
        text(LEFT - 8, TOP - 8, "GFLOP/s", "end"),
        text(RIGHT, BOTTOM + 36, "floating-point operations per byte", "end"),
        f'<path class="roof" d="{roof}" fill="none" stroke="black"/>',
    ]
    low, high = (math.floor(math.log10(limit(intensities))) for limit in (min, max))
    parts += [
        text(across(10.0**power), BOTTOM + 16, f"{10.0**power:g}", "middle") for power in range(low + 1, high + 1)
    ]
    for layer, speed in zip(layers, speeds, strict=True):
        place = f'cx="{across(layer.intensity):.1f}" cy="{down(speed):.1f}" r="3.5" fill-opacity="0.6"'
        parts.append(
            f'<circle class="layer" {place} fill="{COLOURS[layer.bound]}">'
            f"<title>{escape(f'{layer.name} ({layer.kind}): {speed:.3g} GFLOP/s')}</title></circle>"
        )
    return "".join(parts)


def _logarithmic(values: Sequence[float], begin: float, end: float) -> Place:
    """Where a value lies between `begin` and `end`, which stand for the least and the largest of `values`."""
    low, high = math.log(min(values)), math.log(max(values))
    return lambda value: begin + (end - begin) * (math.log(value) - low) / (high - low or 1.0)
