"""Finished measurements → the tables of a campaign: `measurements.csv` with every row, and a dataset of the labels.

`measurements.csv` holds one row per network, failures with their status included. `rows.csv` and `dataset.json` hold
the labels alone, in the form that `edgeperf.datasets` reads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edgeperf import __version__
from edgeperf.profilers.store import Finished, Store, write_atomically
from edgeperf.units import METRICS

_COLUMNS = (
    "latency_ms",
    "latency_method",
    "latency_spread",
    "power_mw",
    "power_rail",
    "power_quantum_mw",
    "power_period_ms",
    "idle_power_mw",
    "idle_loaded_power_mw",
    "energy_mj",
    "memory_mib",
    "memory_before_mib",
    "sampler_cpu_share",
)
_DEVICE_COLUMNS = ("board", "power_mode", "clocks_locked", "runtime", "os_release")


def write_tables(folder: Path, finished: Sequence[Finished]) -> Path | None:
    """Writes both tables; the dataset's folder, or None where no network gave a label."""
    write_atomically(folder / "measurements.csv", _csv([_wide_row(done) for done in finished]).encode())
    labels = [row for done in finished for row in _label_rows(done, folder)]
    if not labels:
        return None
    import pandas as pd

    from edgeperf.datasets import build

    build(pd.DataFrame(labels), provenance=_provenance(folder, finished)).save(folder)
    return folder


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["network"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _wide_row(done: Finished) -> dict[str, Any]:
    measurement = done.measurement
    return {
        "network": done.key,
        "model": done.model,
        "family": done.family,
        "input_size": done.input_size,
        "device": measurement.device.name,
        "status": measurement.status,
        **{name: getattr(measurement, name) for name in _COLUMNS},
        **{name: getattr(measurement.device, name) for name in _DEVICE_COLUMNS},
        "warnings": " | ".join(measurement.warnings),
    }


def _label_rows(done: Finished, folder: Path) -> Iterator[dict[str, Any]]:
    model_file = Store(folder).network_of(done)
    for metric in METRICS:
        value = getattr(done.measurement, metric)
        if value is not None:
            yield {
                "device": done.measurement.device.name,
                "model": done.model,
                "family": done.family,
                "network": done.key,
                "input_size": done.input_size,
                "metric": metric,
                "value": value,
                "model_file": model_file,
            }


def _provenance(folder: Path, finished: Sequence[Finished]) -> Any:
    from edgeperf.datasets import Provenance

    measurements = [done.measurement for done in finished if done.measurement.status == "ok"]
    boards = sorted({measurement.device.board for measurement in measurements})
    rails = sorted({measurement.power_rail for measurement in measurements if measurement.power_rail})
    methods = sorted({measurement.latency_method for measurement in measurements if measurement.latency_method})
    missing = sorted(
        {text for measurement in measurements for text in measurement.warnings if text.startswith("no power")}
    )
    return Provenance(
        name=folder.resolve().name,
        source=f"measured with edgeperf {__version__} on {', '.join(boards)}",
        licence="of whoever measured",
        label_origin="measured",
        meaning={
            "latency_ms": "; ".join(methods),
            "power_mw": f"rail {', '.join(rails)}" if rails else "not measured",
            "memory_mib": "peak while running, of the process" if _of_process(finished) else "peak of the whole board",
        },
        notes=tuple(missing),
    )


def _of_process(finished: Sequence[Finished]) -> bool:
    return any("memory is that of the process" in text for done in finished for text in done.measurement.warnings)
