"""Dense layers, look-ups, and the input that has no work at all."""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, elements


def _input_shape(call: Call) -> Shapes:
    shape = call.config["shape"]
    if not isinstance(shape, (tuple, list)):
        raise InvalidInput(f"its shape is {shape!r}, expected a list of sizes")
    return (tuple(as_integer(size, "an input size", least=1) for size in shape),)


def _units(call: Call) -> int:
    return call.integer("units", least=1)


def _dense_macs(call: Call) -> int:
    return elements(call.input) * _units(call)


DENSE: dict[str, Kind] = {
    "InputLayer": Kind(parameters={"shape": REQUIRED}, shape=_input_shape),
    "Dense": Kind(
        parameters={"units": REQUIRED, "activation": None, "use_bias": True},
        shape=lambda call: ((*call.input[:-1], _units(call)),),
        params=lambda call: (call.channels + call.flag("use_bias")) * _units(call),
        macs=_dense_macs,
        units=_units,
    ),
    "Embedding": Kind(
        parameters={"input_dim": REQUIRED, "output_dim": REQUIRED},
        shape=lambda call: ((*call.input, call.integer("output_dim", least=1)),),
        params=lambda call: call.integer("input_dim", least=1) * call.integer("output_dim", least=1),
    ),
}
