"""A campaign's folder → one HTML page: what was measured, what went wrong, and a look at each recording.

Each network opens to its power over time, with the windows that were read, and its latencies run by run. Charts are
drawn only when opened, so that a campaign of hundreds of networks stays one quick page. It needs no connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.profilers import readings, recordings
from edgeperf.profilers.store import Finished, Store, write_atomically
from edgeperf.units import METRICS

_TEMPLATE = Path(__file__).with_name("page.html.jinja")
_LARGEST_TRACE = 800


def write_page(store: Store, finished: Sequence[Finished]) -> Path:
    """Writes `index.html`, and beside it the chart library once; the page's path."""
    import jinja2
    from plotly.offline import get_plotlyjs

    library = store.folder / "plotly.min.js"
    if not library.exists():
        write_atomically(library, get_plotlyjs().encode())
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        title=store.folder.resolve().name,
        metrics=list(METRICS.values()),
        rows=[_row(done) for done in finished],
        charts=json.dumps({done.key: _chart(store, done) for done in finished}).replace("<", "\\u003c"),
        failed=sum(done.measurement.status != "ok" for done in finished),
        noted=sum(bool(done.measurement.warnings) for done in finished),
    )
    path = store.folder / "index.html"
    write_atomically(path, html.encode())
    return path


def _row(done: Finished) -> dict[str, Any]:
    measurement = done.measurement
    spread = measurement.latency_spread
    return {
        "key": done.key,
        "status": measurement.status,
        "values": [metric.format(getattr(measurement, metric.name)) for metric in METRICS.values()],
        "spread": "" if spread is None else f"{spread:.1%}",
        "rail": measurement.power_rail or "",
        "method": measurement.latency_method or "",
        "warnings": measurement.warnings,
    }


def _chart(store: Store, done: Finished) -> Mapping[str, Any]:
    """Numbers for the charts of one network; empty where there is no recording."""
    kept = store.recording(done.key)
    if kept is None:
        return {}
    recording, sensor = kept
    measurement = done.measurement
    run = recordings.to_raw_run(
        recording, network=done.key, device=measurement.device, plan=measurement.plan, sensor=sensor
    )
    begin = run.sensor_lines[0][0] if run.sensor_lines else 0.0
    times, powers = _power(run.sensor, run.sensor_lines)
    return {
        "t": [round(time - begin, 3) for time in times],
        "power": powers,
        "windows": [[round(first - begin, 3), round(last - begin, 3)] for first, last, _ in run.windows],
        "latency": [round(time, 4) for time in run.latencies_ms],
    }


def _power(sensor: str, lines: readings.StampedLines) -> tuple[list[float], list[float]]:
    try:
        found = readings.read(sensor, lines).readings
    except InvalidInput:
        return [], []
    known = [(reading.t_s, reading.power_mw) for reading in found if reading.power_mw is not None]
    thinned = known[:: max(1, len(known) // _LARGEST_TRACE)]
    return [time for time, _ in thinned], [power for _, power in thinned]
