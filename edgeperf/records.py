"""The frozen records that the stages exchange.

Standard library only, so that importing this module costs nothing. Units stand in field names; None means "not
measured" and is never replaced by 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Shape = tuple[int, ...]
"""A tensor's shape without the batch dimension; images are (height, width, channels)."""

Status = Literal["ok", "oom", "timeout", "crashed", "gone"]
"""How a measurement ended; "gone" means that the board vanished each time it was tried."""


class _AsRow:
    """Adds `to_dict`, which pandas and JSON take as they are."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as plain nested dictionaries, lists and scalars."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer(_AsRow):
    """One call of one layer in a network.

    Attributes:
        name: unique in the network; a second call of a shared layer is ``name#2`` and so on.
        kind: the Keras class name, e.g. ``"Conv2D"``.
        inputs: names of the layers whose outputs it takes, in order.
        input_shapes: one shape per input.
        output_shape: (height, width, channels) for images; no batch dimension. The first output's where there are
            several.
        other_output_shapes: of the second output and so on; () for nearly all layers.
        params: weights that this call adds to the network; 0 for the second call of a shared layer.
        weights: weights that this call reads, shared or not.
        macs: multiply-accumulates of one inference at batch size 1.
        flops: floating-point operations of one inference, by the convention in `edgeperf.network.kinds`.
        kernel_size: window of a convolution or pooling; () where there is none.
        strides: same length as `kernel_size`.
        dilation: same length as `kernel_size`.
        padding: elements added (before, after) per spatial dimension; same length as `kernel_size`.
        groups: channel groups of a convolution, its channels where it is depthwise; 1 where the notion does not apply.
        depth_multiplier: filters per input channel of a depthwise or separable convolution; 1 elsewhere.
        use_bias: whether a bias is added.
        activation: activation fused into the layer, ``"linear"`` where there is none.
        filters: output channels of a convolution, 0 for other kinds.
        units: output units of a dense layer, 0 for other kinds.
        shares_weights_with: name of the first call of the same layer, None for first calls.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    input_shapes: tuple[Shape, ...]
    output_shape: Shape
    other_output_shapes: tuple[Shape, ...] = ()
    params: int = 0
    weights: int = 0
    macs: int = 0
    flops: int = 0
    kernel_size: Shape = ()
    strides: Shape = ()
    dilation: Shape = ()
    padding: tuple[tuple[int, int], ...] = ()
    groups: int = 1
    depth_multiplier: int = 1
    use_bias: bool = False
    activation: str = "linear"
    filters: int = 0
    units: int = 0
    shares_weights_with: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(_AsRow):
    """A network as a graph with every shape known.

    Attributes:
        name: the model's own name, or its file's.
        inputs: names of the input layers.
        outputs: names of the layers whose outputs the network returns.
        layers: in topological order; a shared layer appears once per call.
        precision: of most of the file's weights or layers, e.g. ``"float16"`` or ``"mixed_float16"``; all counts, and
            estimates by what was measured in another one, leave it out of account.
        batch_size: images per pass that the file fixes, of which shapes and counts are one; 1 where it fixes none.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[Layer, ...]
    precision: str = "float32"
    batch_size: int = 1

    @property
    def input_shape(self) -> Shape:
        """Shape of the first input, without batch."""
        first = self.inputs[0]
        return next(layer.output_shape for layer in self.layers if layer.name == first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Features(_AsRow):
    """Whole-network numbers that the surrogates read.

    Attributes:
        network: name of the network.
        schema: version of the feature list; surrogates refuse another one.
        values: feature name → number, in the order of ``FEATURE_NAMES``.
    """

    network: str
    schema: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu(_AsRow):
    """What a data sheet says of a GPU.

    Attributes:
        cores: CUDA cores.
        clock_mhz: highest GPU clock of the measured power mode.
        memory_bandwidth_gb_s: peak, 10^9 bytes per second.
        l2_kib: second-level cache.
        compute_capability: e.g. ``"5.3"``.
    """

    cores: int
    clock_mhz: float
    memory_bandwidth_gb_s: float
    l2_kib: int
    compute_capability: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(_AsRow):
    """A board in the state in which it was measured; None where the source does not say."""

    name: str
    board: str
    power_mode: str | None = None
    clocks_locked: bool | None = None
    runtime: str | None = None
    os_release: str | None = None
    gpu: Gpu | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(_AsRow):
    """How a measurement is taken; defaults follow Bouzidi et al. 2022, section 4.

    Attributes:
        timed_runs: each on a random image of its own.
        repeats: windows of inferences back to back, each of which gives one peak; the label is their median.
        sample_period_ms: what the sensor is asked for; a board may take longer. No sensor renews its reading much
            faster than the default, and asking more often costs processor time that the network then lacks.
        idle_s: how long idle power is recorded, before the network is loaded and again with it loaded.
        timeout_s: of one network on the device, all repeats together.
    """

    batch_size: int = 1
    precision: str = "float32"
    warmup_runs: int = 10
    timed_runs: int = 100
    repeats: int = 50
    sample_period_ms: float = 20.0
    idle_s: float = 30.0
    timeout_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRun(_AsRow):
    """What a board sent, unparsed, so that a better parser re-applies to old recordings.

    Attributes:
        latencies_ms: one per timed run; empty where a profiler summed kernels instead.
        sensor_lines: (seconds on the board's clock, raw line) under load.
        idle_lines: the same before the network was loaded.
        agent_sha256: digest of the agent file that recorded it.
        loaded_idle_lines: the same with the network loaded, before it ran.
        sensor: whose lines they are: tegrastats, ina3221, rapl, nvml or none.
        sensor_missing: why there are no lines; None where there are.
        windows: (begin, end, inferences where they were counted) of each repeat, on the board's clock.
        outputs: tool → what it wrote: nvprof, nsys or trtexec.
        state_before: path on the board → text, before the network ran: modes, clocks, temperatures, counters.
        state_after: the same afterwards.
        process_memory_kib: (before loading, peak while running) of the process; None where the board's memory counts.
        sampler_cpu_share: processor time of the sampler under load, as a share of one core.
        status: how the run ended.
        message: why it ended so; empty where all went well.
    """

    network: str
    device: Device
    plan: Plan
    latencies_ms: tuple[float, ...]
    sensor_lines: tuple[tuple[float, str], ...]
    idle_lines: tuple[tuple[float, str], ...]
    agent_sha256: str
    loaded_idle_lines: tuple[tuple[float, str], ...] = ()
    sensor: str = "tegrastats"
    sensor_missing: str | None = None
    windows: tuple[tuple[float, float, int | None], ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    state_before: Mapping[str, str] = field(default_factory=dict)
    state_after: Mapping[str, str] = field(default_factory=dict)
    process_memory_kib: tuple[int, int] | None = None
    sampler_cpu_share: float | None = None
    status: Status = "ok"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(_AsRow):
    """Labels derived from one raw run, or taken from a published table; None = not measured.

    Attributes:
        latency_method: how `latency_ms` came about, e.g. ``"sum of GPU kernel times (nvprof)"``.
        power_rail: the rail that `power_mw` was read from; labels of different rails never pool.
        energy_mj: of one inference on that rail; `latency_ms` times `power_mw` unless an energy counter was read.
        memory_mib: peak memory in use on the whole board while running, unless `warnings` says otherwise.
        warnings: verdicts on stability and deviations from the plan.
        latency_spread: standard deviation of the timed runs over their mean.
        idle_loaded_power_mw: idle power with the network loaded; neither idle power is subtracted from any label.
        memory_before_mib: the same quantity as `memory_mib`, before the network was loaded.
        power_quantum_mw: step between two readings of the rail.
        power_period_ms: time between two readings as they came, not as asked for.
        sampler_cpu_share: processor time of the sampler under load, as a share of one core.
    """

    network: str
    device: Device
    plan: Plan
    latency_ms: float | None = None
    latency_method: str | None = None
    power_mw: float | None = None
    power_rail: str | None = None
    idle_power_mw: float | None = None
    energy_mj: float | None = None
    memory_mib: float | None = None
    status: Status = "ok"
    warnings: tuple[str, ...] = field(default_factory=tuple)
    latency_spread: float | None = None
    idle_loaded_power_mw: float | None = None
    memory_before_mib: float | None = None
    power_quantum_mw: float | None = None
    power_period_ms: float | None = None
    sampler_cpu_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(_AsRow):
    """One predicted number with its 90 % interval.

    Attributes:
        low: lower end of the 90 % prediction interval.
        high: upper end of it.
        predictor: which surrogate said so.
        in_range: whether the network lies inside what the surrogate was trained on.
        out_of_range_reason: what lies outside, in words; None where `in_range`.
    """

    network: str
    device: str
    metric: str
    value: float
    low: float
    high: float
    unit: str
    predictor: str
    in_range: bool
    out_of_range_reason: str | None = None
