"""Estimates and measurements of one network on several devices → one table that says what is what.

Three kinds of number are told apart: measured; predicted by a surrogate inside the range of its training data;
extrapolated, which is a surrogate outside that range, or a data-sheet ratio from a board that has a surrogate to one
that has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from edgeperf.errors import InvalidInput
from edgeperf.hardware import GPUS, gpu
from edgeperf.records import Estimate, Measurement
from edgeperf.units import METRICS

Origin = Literal["measured", "predicted", "extrapolated"]

_ORDER: dict[Origin, int] = {"measured": 0, "predicted": 1, "extrapolated": 2}

EXTRAPOLATION_FACTOR: Mapping[str, float] = {"latency_ms": 1.7, "power_mw": 4.0}
"""Half-width, as a factor, of the interval of a data-sheet ratio. It covers at least nine in ten networks when each of
three Jetson boards is predicted from another one (benchmarks/results/ptx_cross_gpu_boards.json, ``interval``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One metric of one network on one device.

    Attributes:
        origin: where the number comes from.
        low: lower end of the 90 % interval; None for measurements.
        high: upper end; None for measurements.
        note: why it is extrapolated, or how it was measured; empty where there is nothing to say.
    """

    network: str
    device: str
    metric: str
    value: float
    low: float | None
    high: float | None
    unit: str
    origin: Origin
    note: str = ""


def compare(estimates: Iterable[Estimate], measurements: Iterable[Measurement] = ()) -> list[ComparisonRow]:
    """One row per network, metric and device, best first; a measurement takes the place of an estimate.

    Args:
        estimates: of any devices; those with ``in_range`` false become extrapolated rows.
        measurements: of the same networks, where there are any.
    """
    rows: dict[tuple[str, str, str], ComparisonRow] = {}
    candidates = [*map(_from_estimate, estimates), *(row for item in measurements for row in _from_measurement(item))]
    for row in candidates:
        key = (row.network, row.metric, row.device)
        if key not in rows or _ORDER[row.origin] < _ORDER[rows[key].origin]:
            rows[key] = row
    order = list(METRICS)
    return sorted(rows.values(), key=lambda row: (row.network, order.index(row.metric), row.value, row.device))


def _from_estimate(estimate: Estimate) -> ComparisonRow:
    return ComparisonRow(
        network=estimate.network,
        device=estimate.device,
        metric=estimate.metric,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        unit=estimate.unit,
        origin="predicted" if estimate.in_range else "extrapolated",
        note=estimate.out_of_range_reason or "",
    )


def _from_measurement(measurement: Measurement) -> list[ComparisonRow]:
    values = {name: getattr(measurement, name) for name in METRICS}
    note = "; ".join(filter(None, (measurement.latency_method, *measurement.warnings)))
    return [
        ComparisonRow(
            network=measurement.network,
            device=measurement.device.name,
            metric=name,
            value=value,
            low=None,
            high=None,
            unit=METRICS[name].unit,
            origin="measured",
            note=note,
        )
        for name, value in values.items()
        if value is not None
    ]


def by_data_sheet(estimates: Sequence[Estimate], device: str) -> list[Estimate]:
    """Latency, power and energy on a device without a surrogate, by ratios of data sheets; never in range.

    The nearest device by peak rate among those of the estimates is the reference. Latency scales with the inverse of
    the peak FP32 rate, power with the power limit, energy is their product. Memory does not follow from a data sheet.

    Args:
        estimates: of one network on devices that have surrogates; those without a data sheet are passed over.
        device: name in `edgeperf.hardware.GPUS`.

    Raises:
        InvalidInput: there is no latency estimate to start from, or the device is not known.
    """
    target = gpu(device)
    latencies = [estimate for estimate in estimates if estimate.metric == "latency_ms" and estimate.device in GPUS]
    if not latencies:
        raise InvalidInput(f"No latency estimate to scale to {device}. Expected one of a device that has a surrogate.")
    nearest = min(latencies, key=lambda item: abs(gpu(item.device).peak_gflops / target.peak_gflops - 1)).device
    source = gpu(nearest)
    reason = f"no surrogate for {device}: scaled from {nearest} by data sheets"
    faster = source.peak_gflops / target.peak_gflops
    hotter = target.power_limit_w / source.power_limit_w
    ratios = {"latency_ms": faster, "power_mw": hotter, "energy_mj": faster * hotter}
    widths = {
        **EXTRAPOLATION_FACTOR,
        "energy_mj": EXTRAPOLATION_FACTOR["latency_ms"] * EXTRAPOLATION_FACTOR["power_mw"],
    }
    return [
        Estimate(
            network=estimate.network,
            device=target.name,
            metric=estimate.metric,
            value=estimate.value * ratios[estimate.metric],
            low=estimate.low * ratios[estimate.metric] / widths[estimate.metric],
            high=estimate.high * ratios[estimate.metric] * widths[estimate.metric],
            unit=estimate.unit,
            predictor=f"data sheet, from {estimate.predictor}",
            in_range=False,
            out_of_range_reason=reason,
        )
        for estimate in estimates
        if estimate.device == nearest and estimate.metric in ratios
    ]
