"""What models hold as Lambda or custom layers, by what it does: a declaration names one of these kinds."""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, elements, same_shape


def _sliced(call: Call) -> Shapes:
    channels = call.channels
    bounds = [call.config["start"], call.config["stop"]]
    start, stop, _ = slice(
        *(None if each is None else as_integer(each, "a bound", least=-channels) for each in bounds)
    ).indices(channels)
    return ((*call.input[:-1], stop - start),)


def _shuffled(call: Call) -> Shapes:
    if call.channels % call.integer("groups", least=1):
        raise InvalidInput(f"{call.channels} channels do not divide into {call.config['groups']} groups")
    return (call.input,)


def _expanded(call: Call) -> Shapes:
    call.expect_rank(1)
    return ((1, 1, *call.input),)


def _declared_shape(call: Call) -> Shapes:
    shape = call.config["output_shape"]
    if shape is None:
        return (call.input,)
    if not isinstance(shape, (tuple, list)):
        raise InvalidInput(f"its declared output_shape is {shape!r}, expected a list of sizes")
    return (tuple(as_integer(size, "output_shape", least=1) for size in shape),)


CUSTOM_CLASSES = {
    "LayerScale": "LayerScale",
    "StochasticDepth": "StochasticDepth",
    "FixedDropout": "FixedDropout",
    "CustomScaleLayer": "ScaledAdd",
}
"""Classes that are not of `keras.layers`, but of `keras.applications` and widespread model collections → their kind."""

OPERATIONS: dict[str, Kind] = {
    "SliceChannels": Kind(parameters={"start": None, "stop": None}, shape=_sliced),
    "ChannelShuffle": Kind(parameters={"groups": REQUIRED}, shape=_shuffled),
    "ExpandSpatial": Kind(shape=_expanded),
    "Scale": Kind(
        parameters={"value": REQUIRED},
        shape=same_shape,
        flops=lambda call: elements(call.output),
        counts="1 per element",
    ),
    "ScaledAdd": Kind(
        parameters={"scale": REQUIRED},
        shape=same_shape,
        flops=lambda call: 2 * elements(call.output),
        counts="2 per element",
    ),
    "LayerScale": Kind(
        parameters={"init_values": None, "projection_dim": REQUIRED},
        shape=same_shape,
        params=lambda call: call.integer("projection_dim", least=1),
        flops=lambda call: elements(call.output),
        counts="1 per element",
    ),
    "StochasticDepth": Kind(shape=same_shape, vanishes=True),
    "FixedDropout": Kind(parameters={"rate": None}, shape=same_shape, vanishes=True),
    "Declared": Kind(
        parameters={"output_shape": None, "params": 0, "macs": 0, "flops": 0},
        shape=_declared_shape,
        params=lambda call: call.integer("params"),
        macs=lambda call: call.integer("macs"),
        flops=lambda call: call.integer("flops"),
        counts="as declared",
    ),
}
