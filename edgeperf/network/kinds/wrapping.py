"""Layers around a layer: the inner one's numbers, per time step or with a weight more."""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, Traits


def _inner(call: Call, inputs: Shapes) -> Traits:
    """Numbers of the wrapped layer, which `configure` stored as (kind row, configuration)."""
    row, config = call.config["layer"]
    traits: Traits = row.traits(dict(config), inputs)
    return traits


def _per_step(call: Call) -> Traits:
    if len(call.input) < 2:
        raise InvalidInput(f"it applies a layer to every step of its input, but the input has shape {call.input}")
    return _inner(call, (call.input[1:],))


def _vector(call: Call) -> int:
    """The stored singular vector: one element per output of the kernel."""
    inner = _inner(call, call.inputs)
    if not inner.params:
        raise InvalidInput("the layer within has no kernel")
    return inner.filters or inner.units or inner.output_shapes[0][-1]


WRAPPERS: dict[str, Kind] = {
    "TimeDistributed": Kind(
        parameters={"layer": REQUIRED},
        shape=lambda call: ((*call.input[:1], *_per_step(call).output_shapes[0]),),
        params=lambda call: _per_step(call).params,
        macs=lambda call: call.input[0] * _per_step(call).macs,
        flops=lambda call: call.input[0] * (_per_step(call).flops - 2 * _per_step(call).macs),
        counts="as the layer within, per step",
        window=lambda call: _per_step(call).window,
        filters=lambda call: _per_step(call).filters,
        units=lambda call: _per_step(call).units,
        groups=lambda call: _per_step(call).groups,
    ),
    # The power iteration runs while training only.
    "SpectralNormalization": Kind(
        parameters={"layer": REQUIRED, "power_iterations": 1},
        shape=lambda call: _inner(call, call.inputs).output_shapes,
        params=lambda call: _inner(call, call.inputs).params + _vector(call),
        macs=lambda call: _inner(call, call.inputs).macs,
        flops=lambda call: _inner(call, call.inputs).flops - 2 * _inner(call, call.inputs).macs,
        counts="as the layer within",
        window=lambda call: _inner(call, call.inputs).window,
        filters=lambda call: _inner(call, call.inputs).filters,
        units=lambda call: _inner(call, call.inputs).units,
        groups=lambda call: _inner(call, call.inputs).groups,
    ),
}
