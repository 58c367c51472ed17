"""Operations, measured on this machine by Keras → rows of an operation table.

::

    build n instances ──► warm up ──► |b|b|b|b|b| ... until the time is up ──► mean, standard error
                                       └ one block: each instance once

A block cycles through instances with weights and inputs of their own, so that caches are neither always hit nor always
missed. Blocks repeat for a minimum time and a minimum number. Where NVML answers, power is sampled meanwhile, samples
beyond three standard deviations are dropped, and energy is their mean times the time per call.

The identity operation, measured the same way, shows what the loop itself costs (`edgeperf.layerwise.loops`).

Reference: Nicolai 2025, measurement protocol.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgeperf.layerwise.operations import Operation
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.singles import input_shapes, single_model

CACHE_BYTES = 64 * 2**20
"""A block's tensors together exceed this where that takes at most `MOST_INSTANCES`."""
MOST_INSTANCES = 8
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How long to measure.

    Attributes:
        least_s: of timed blocks.
        least_blocks: whatever the time.
        warmup_blocks: untimed.
        training: a step (forward, backward with a given gradient) instead of inference.
    """

    least_s: float = 0.3
    least_blocks: int = 10
    warmup_blocks: int = 3
    training: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMeasurement:
    """What one operation took; None = not measured.

    Attributes:
        operation: what ran.
        latency_ms: mean per call.
        latency_error_ms: its standard error over blocks.
        power_mw: mean of the samples that were kept.
        power_error_mw: its standard error.
        energy_mj: power times latency.
        clock_mhz: of the GPU, mean.
        calls: timed.
    """

    operation: Operation
    latency_ms: float
    latency_error_ms: float
    power_mw: float | None
    power_error_mw: float | None
    energy_mj: float | None
    clock_mhz: float | None
    calls: int

    def row(self) -> dict[str, Any]:
        """Columns of an operation table, then the labels."""
        labels = asdict(self)
        return {**labels.pop("operation"), **labels}


def measure(
    op: Operation, *, protocol: Protocol, readings: Callable[[], Iterable[str]] | None = None
) -> OperationMeasurement:
    """Measures one operation in this process.

    Args:
        op: what to run.
        protocol: how long.
        readings: gives lines like those of `edgeperf.profilers.nvml.lines` for ever; None where there is no sensor.
    """
    block = _block(op, training=protocol.training)
    with _Sampler(readings) as sampler:
        times = _timed(block, protocol)
    per_call = times / len(block) * 1e3
    latency = float(per_call.mean())
    power, power_error = filtered_mean(sampler.values("power_mw"))
    clock, _ = filtered_mean(sampler.values("gpu_mhz"))
    return OperationMeasurement(
        operation=op,
        latency_ms=latency,
        latency_error_ms=float(per_call.std(ddof=1) / math.sqrt(len(per_call))),
        power_mw=power,
        power_error_mw=power_error,
        energy_mj=None if power is None else power * latency / 1e3,
        clock_mhz=clock,
        calls=len(times) * len(block),
    )


def filtered_mean(samples: Array) -> tuple[float | None, float | None]:
    """Mean and standard error of the samples within three standard deviations; None where there are too few.

    >>> filtered_mean(np.array([1.0] * 20 + [1000.0]))[0]
    1.0
    """
    if len(samples) < 2:
        return None, None
    spread = samples.std()
    kept = samples[np.abs(samples - samples.mean()) <= _SIGMAS * spread] if spread else samples
    return float(kept.mean()), float(kept.std() / math.sqrt(len(kept)))


def _block(op: Operation, *, training: bool) -> list[Callable[[], Any]]:
    """One call per instance."""
    tensor_bytes = 4 * (op.input_elements + op.output_elements + op.weights)
    count = min(MOST_INSTANCES, max(2, math.ceil(CACHE_BYTES / max(1, tensor_bytes))))
    chance = np.random.default_rng(0)
    return [_instance(op, chance, training=training) for _ in range(count)]


def _instance(op: Operation, chance: np.random.Generator, *, training: bool) -> Callable[[], Any]:
    import tensorflow as tf

    model = single_model(op)
    given = [
        tf.constant(chance.standard_normal((op.batch_size, *shape), dtype=np.float32)) for shape in input_shapes(op)
    ]
    inputs = given if len(given) > 1 else given[0]
    if not training:
        run = tf.function(lambda tensors: model(tensors, training=False), reduce_retracing=True)
        return lambda: run(inputs)

    def step(tensors: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            output = model(tensors, training=True)
        return tape.gradient(output, [tensors, model.trainable_variables], output_gradients=tf.ones_like(output))

    train = tf.function(step, reduce_retracing=True)
    return lambda: train(inputs)


def _timed(block: list[Callable[[], Any]], protocol: Protocol) -> Array:
    """Seconds of each timed block; a block ends when its last result is there."""
    for _ in range(protocol.warmup_blocks):
        _run(block)
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < protocol.least_blocks or time.perf_counter() - begin < protocol.least_s:
        start = time.perf_counter()
        _run(block)
        times.append(time.perf_counter() - start)
    return np.asarray(times)


def _run(block: list[Callable[[], Any]]) -> None:
    results = [call() for call in block]
    _wait_for(results[-1])


def _wait_for(result: Any) -> None:
    while isinstance(result, (list, tuple)):
        result = result[0]
    result.numpy()


class _Sampler:
    """Collects readings in a thread while its block runs."""

    def __init__(self, readings: Callable[[], Iterable[str]] | None) -> None:
        self._readings, self._lines = readings, list[str]()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._collect, daemon=True)

    def __enter__(self) -> _Sampler:
        if self._readings is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def values(self, name: str) -> Array:
        """All readings of one quantity."""
        fields = [dict(part.split("=", 1) for part in line.split()) for line in self._lines]
        return np.array([float(each[name]) for each in fields if name in each])

    def _collect(self) -> None:
        for line in self._readings() if self._readings else ():
            self._lines.append(line)
            if self._stop.is_set():
                return
