"""What each layer costs → where time and energy go and how close each layer is to the roofline, as one SVG file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.layer_table import LayerCost, LayerTable
from edgeperf.report.svg import Anchor, axes, document, text, write_whole
from edgeperf.units import METRICS

WIDTH, HEIGHT = 900, 280
LEFT, RIGHT, TOP, BOTTOM = 110, 870, 40, 235
MARGIN = 20
HEADING_LINE, NOTE_LINE = 22, 15
HEADING_CHARACTERS, NOTE_CHARACTERS = 95, 150
"""What fits into a line of each size."""
COLOURS = {"compute": "#b04a1f", "memory": "#1f5fb0", "launch": "#777"}
"""By what bounds a layer."""
NAMED = 5
NAME_WIDTH, NAME_HEIGHT = 130, 11
"""Closer than this, names would cover each other."""
GRID = "#ddd"
BOLD = 'font-weight="bold"'
HALO = 'paint-order="stroke" stroke="white" stroke-width="3"'
"""Keeps names readable across bars."""
Place = Callable[[float], float]


def write_layers_plot(table: LayerTable, path: Path) -> Path:
    """Writes a heading and three panels: latency per layer, energy per layer where it is known, and the roofline.

    Returns:
        `path`.

    Raises:
        InvalidInput: no layer of the network takes any time, or no file can be written there.
    """
    running = [layer for layer in table.layers if layer.latency_ms > 0]
    if not running:
        raise InvalidInput(f"No layer of {table.network} takes any time; there is nothing to draw.")
    latency = [layer.latency_ms for layer in running]
    panels = [_bars(f"Latency per {table.one_pass}", "latency_ms", latency, running)]
    if table.energy_mj is not None:
        energy = [layer.energy_mj or 0.0 for layer in running]
        panels.append(_bars(f"{table.energy_label} per {table.one_pass}", "energy_mj", energy, running))
    panels.append(_roofline(table, [layer for layer in running if layer.operations]))
    heading, below = _heading(table)
    placed = [f'<g transform="translate(0 {below + HEIGHT * place})">{panel}</g>' for place, panel in enumerate(panels)]
    drawn = document([heading, *placed], title=table.heading, width=WIDTH, height=below + len(panels) * HEIGHT)
    return write_whole(path, drawn)


def _heading(table: LayerTable) -> tuple[str, int]:
    """What the plot is of and the table's note, and how far down they reach."""
    lines = [(line, HEADING_LINE, f'{BOLD} font-size="15"') for line in wrap(table.heading, HEADING_CHARACTERS)]
    lines += [(line, NOTE_LINE, 'font-size="11"') for line in wrap(table.note, NOTE_CHARACTERS)]
    parts, down = [], 5
    for line, height, style in lines:
        down += height
        parts.append(text(MARGIN, down, line, style=f'class="heading" {style}'))
    return "".join(parts), down + 10


def _bars(label: str, metric: str, values: Sequence[float], layers: Sequence[LayerCost]) -> str:
    """One bar per layer in network order; the longest are named."""
    top, step, form = max(values) or 1.0, (RIGHT - LEFT) / len(layers), METRICS[metric].format
    parts = [
        (
            f'<text x="{MARGIN}" y="22" {BOLD}>{escape(label)}, layer by layer in network order; '
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
        parts.append(text(across, down, layers[index].name, side, f'font-size="9" {HALO}'))
    return "".join(parts)


def _legend() -> str:
    return " or ".join(f'<tspan fill="{colour}">{bound}</tspan>' for bound, colour in COLOURS.items())


def _roofline(table: LayerTable, layers: Sequence[LayerCost]) -> str:
    """Speed of each layer over its arithmetic intensity, under the roof, both logarithmic."""
    peak, bandwidth = table.peak_gflops, table.bandwidth_gb_s
    ridge = peak / bandwidth
    speeds = [layer.operations / layer.latency_ms / 1e6 for layer in layers]
    intensities = [*(layer.intensity for layer in layers), ridge / 2, 2 * ridge]
    across, down = _decades(intensities), _decades([*speeds, 1.2 * peak])
    to_x, to_y = _logarithmic(across, LEFT, RIGHT), _logarithmic(down, BOTTOM, TOP)
    begin = max(across[0], down[0] / bandwidth)
    roof = f"M{to_x(begin):.1f} {to_y(begin * bandwidth):.1f}L{to_x(ridge):.1f} {to_y(peak):.1f}H{RIGHT}"
    title = f"Roofline: speed of each layer in GFLOP/s, at most {peak:,.0f} GFLOP/s and {bandwidth:,.0f} GB/s"
    parts = [
        text(MARGIN, 22, title, style=BOLD),
        *_ticks(across, down, to_x, to_y),
        axes(LEFT, TOP, RIGHT, BOTTOM),
        text(RIGHT, BOTTOM + 36, "floating-point operations per byte", "end"),
        f'<path class="roof" d="{roof}" fill="none" stroke="black"/>',
    ]
    for layer, speed in zip(layers, speeds, strict=True):
        place = f'cx="{to_x(layer.intensity):.1f}" cy="{to_y(speed):.1f}" r="3.5" fill-opacity="0.6"'
        parts.append(
            f'<circle class="layer" {place} fill="{COLOURS[layer.bound]}">'
            f"<title>{escape(f'{layer.name} ({layer.kind}): {speed:.3g} GFLOP/s')}</title></circle>"
        )
    return "".join(parts)


def _decades(values: Sequence[float]) -> tuple[float, ...]:
    """The powers of ten from below the least to above the largest value; two or more."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return tuple(10.0**power for power in range(low, max(high, low + 1) + 1))


def _ticks(across: Sequence[float], down: Sequence[float], to_x: Place, to_y: Place) -> Iterator[str]:
    """A thin line and a label at each power of ten of both axes."""
    for value in across:
        yield f'<path d="M{to_x(value):.1f} {TOP}V{BOTTOM}" stroke="{GRID}"/>'
        yield text(to_x(value), BOTTOM + 16, _power_of_ten(value), "middle")
    for value in down:
        yield f'<path d="M{LEFT} {to_y(value):.1f}H{RIGHT}" stroke="{GRID}"/>'
        yield text(LEFT - 8, to_y(value) + 4, _power_of_ten(value), "end", 'class="speed"')


def _power_of_ten(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _logarithmic(values: Sequence[float], begin: float, end: float) -> Place:
    """Where a value lies between `begin` and `end`, which stand for the least and the largest of `values`."""
    low, high = math.log(min(values)), math.log(max(values))
    return lambda value: begin + (end - begin) * (math.log(value) - low) / (high - low or 1.0)
