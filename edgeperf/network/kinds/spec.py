"""A layer's configuration and input shapes → its output shapes, weights and work: the vocabulary of the kind table.

A `Kind` is one row of that table. Its columns are functions of a `Call`; `Kind.traits` fills them in once and all else
reads the result. Sizes are exact integers, so nothing here overflows; what is too large to be a network is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.records import Shape

Shapes = tuple[Shape, ...]
Padding = tuple[tuple[int, int], ...]

MAX_ELEMENTS: Final = 2**36
"""No tensor of a real network comes near it (64 Gi elements); larger ones are refused as malformed."""

MAX_RANK: Final = 8
"""Dimensions of a tensor beside the batch."""

REQUIRED: Final = object()
"""Marks a parameter without a default."""


def elements(shape: Shape) -> int:
    """Number of elements of a tensor of `shape`."""
    return math.prod(shape)


class Call:
    """One call of a layer while its numbers are worked out.

    Attributes:
        config: the layer's parameters by their Keras 3 names, defaults filled in.
        inputs: shapes of the inputs, without batch.
        outputs: shapes of the outputs, once the shape rule has run.
    """

    __slots__ = ("_known", "config", "inputs", "outputs")

    def __init__(self, config: Mapping[str, Any], inputs: Shapes) -> None:
        self.config = config
        self.inputs = inputs
        self.outputs: Shapes = ()
        self._known: dict[tuple[str, int], Shape] = {}

    @property
    def input(self) -> Shape:
        """Shape of the first input."""
        if not self.inputs:
            raise InvalidInput("it is called without an input")
        return self.inputs[0]

    @property
    def output(self) -> Shape:
        """Shape of the first output."""
        return self.outputs[0]

    @property
    def channels_first(self) -> bool:
        """Whether images are (channels, height, width)."""
        return self.config.get("data_format") == "channels_first"

    def integer(self, key: str, *, least: int = 0) -> int:
        """The parameter `key` as an integer of at least `least`."""
        return as_integer(self.config[key], key, least=least)

    def integers(self, key: str, length: int, *, least: int = 1) -> Shape:
        """The parameter `key` as `length` integers; one number stands for all."""
        known = self._known.get((key, length))
        if known is None:
            known = self._known[key, length] = _integers(self.config[key], key, length, least)
        return known

    def flag(self, key: str) -> bool:
        """The parameter `key` as a truth value."""
        return bool(self.config[key])

    def axes(self, key: str) -> tuple[int, ...]:
        """The parameter `key`, one axis or several of the first input, as positions without the batch dimension."""
        value = self.config[key]
        several = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(axis_without_batch(item, len(self.input)) for item in several)

    def spatial(self, rank: int) -> Shape:
        """The first input's spatial sizes, given that it has `rank` of them and channels."""
        self.expect_rank(rank + 1)
        return self.input[1:] if self.channels_first else self.input[:-1]

    @property
    def channels(self) -> int:
        """The first input's channels."""
        if not self.input:
            raise InvalidInput("its input is a single number, expected at least one dimension")
        return self.input[0] if self.channels_first else self.input[-1]

    def image(self, spatial: Shape, channels: int) -> Shape:
        """An image's shape in the layout of this call."""
        return (channels, *spatial) if self.channels_first else (*spatial, channels)

    def expect_rank(self, rank: int) -> None:
        """Refuses a first input that has not `rank` dimensions."""
        if len(self.input) != rank:
            raise InvalidInput(f"its input has shape {self.input}, expected {rank} dimensions beside the batch")


def as_integer(value: object, what: str, *, least: int = 0) -> int:
    """`value` as an integer of at least `least`; whole floats, which some writers produce, are taken as integers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{what} is {_shortened(value)}, expected an integer")
    if not least <= value <= MAX_ELEMENTS:
        raise InvalidInput(f"{what} is {_shortened(value)}, expected {least} to {MAX_ELEMENTS}")
    return value


def _integers(value: object, what: str, length: int, least: int) -> Shape:
    if not isinstance(value, (tuple, list)):
        return (as_integer(value, what, least=least),) * length
    if len(value) == 1:
        value = tuple(value) * length
    if len(value) != length:
        raise InvalidInput(f"{what} has {len(value)} values, expected {length}")
    return tuple([as_integer(item, what, least=least) for item in value])


def axis_without_batch(value: object, rank: int) -> int:
    """An axis that counts the batch as 0 → the position in a shape of `rank` dimensions without the batch."""
    axis = as_integer(value, "axis", least=-MAX_ELEMENTS)
    position = axis + rank if axis < 0 else axis - 1
    if not 0 <= position < rank:
        raise InvalidInput(f"axis is {axis}, but its input has {rank} dimensions beside the batch")
    return position


def _shortened(value: object) -> str:
    text = f"<{value.bit_length()}-bit integer>" if isinstance(value, int) and abs(value) > 10**30 else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How a convolution or pooling slides: one value per spatial dimension, padding as (before, after)."""

    kernel_size: Shape = ()
    strides: Shape = ()
    dilation: Shape = ()
    padding: Padding = ()


NO_WINDOW: Final = Window()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What one call of a layer is, whatever its name and place in the graph.

    Attributes:
        output_shapes: without batch.
        params: weights, trained or not.
        macs: multiply-accumulates of one inference.
        flops: two per multiply-accumulate, and what the kind counts besides.
    """

    output_shapes: Shapes
    params: int
    macs: int
    flops: int
    window: Window
    groups: int
    depth_multiplier: int
    filters: int
    units: int
    use_bias: bool
    activation: str


def _zero(_: Call) -> int:
    return 0


def _no_window(_: Call) -> Window:
    return NO_WINDOW


def same_shape(call: Call) -> Shapes:
    """The first input's shape, unchanged."""
    return (call.input,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """One row of the kind table.

    Attributes:
        parameters: names in Keras' positional order and defaults of what matters here; `REQUIRED` where there is none.
        shape: output shapes.
        params: weights that the layer owns.
        macs: multiply-accumulates.
        flops: operations besides two per multiply-accumulate, bias and fused activation, which `traits` adds.
        counts: what `flops` counts, in words, for the documentation.
        window: kernel, strides, dilation and padding, where the notion applies.
        filters: output channels of a convolution.
        units: outputs of a dense layer.
        groups: channel groups of a convolution.
        renamed: names of Keras 2 → names of Keras 3.
        vanishes: whether it acts while training alone, and is the identity at inference.
    """

    shape: Callable[[Call], Shapes]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    params: Callable[[Call], int] = _zero
    macs: Callable[[Call], int] = _zero
    flops: Callable[[Call], int] = _zero
    counts: str = "0"
    window: Callable[[Call], Window] = _no_window
    filters: Callable[[Call], int] = _zero
    units: Callable[[Call], int] = _zero
    groups: Callable[[Call], int] = lambda _: 1
    renamed: Mapping[str, str] = field(default_factory=dict)
    vanishes: bool = False

    def traits(self, config: Mapping[str, Any], inputs: Shapes) -> Traits:
        """All numbers of one call.

        Raises:
            InvalidInput: the configuration or the shapes do not fit; the message leaves the layer's name to the caller.
        """
        call = Call(config, inputs)
        call.outputs = _checked(self.shape(call))
        use_bias = bool(config.get("use_bias", False))
        activation = activation_name(config.get("activation"))
        macs = self.macs(call)
        written = elements(call.output)
        return Traits(
            output_shapes=call.outputs,
            params=self.params(call),
            macs=macs,
            flops=2 * macs + self.flops(call) + written * (use_bias + activation_flops(activation)),
            window=self.window(call),
            groups=self.groups(call),
            depth_multiplier=config.get("depth_multiplier", 1),
            filters=self.filters(call),
            units=self.units(call),
            use_bias=use_bias,
            activation=activation,
        )


def _checked(shapes: Shapes) -> Shapes:
    for shape in shapes:
        if len(shape) > MAX_RANK:
            raise InvalidInput(f"its output would have {len(shape)} dimensions, expected {MAX_RANK} at most")
        if any(size < 1 for size in shape):
            raise InvalidInput(f"its output would have shape {shape}; the input is too small for this network")
        if elements(shape) > MAX_ELEMENTS:
            raise InvalidInput(
                f"its output would have {_shortened(elements(shape))} elements, expected {MAX_ELEMENTS} at most"
            )
    return shapes


_ACTIVATION_NAMES: Final = {
    "relu6": "relu6",
    "_relu6": "relu6",
    "_hard_swish": "hard_swish",
    "hard_silu": "hard_swish",
    "silu": "swish",
}


def activation_name(value: object) -> str:
    """One name per activation, as Keras 2, Keras 3 and serialised activation objects spell them.

    >>> activation_name(None), activation_name("silu"), activation_name({"class_name": "ReLU", "config": {}})
    ('linear', 'swish', 'relu')
    """
    if isinstance(value, Mapping):
        inner = value.get("config")
        value = inner if isinstance(inner, str) else value.get("class_name")
    if value is None:
        return "linear"
    if not isinstance(value, str):
        raise InvalidInput(f"activation is {_shortened(value)}, expected a name")
    lowered = value.lower()
    return _ACTIVATION_NAMES.get(lowered, lowered)


def activation_flops(name: str) -> int:
    """Operations per element: 0 for linear, 3 for softmax (exponential, sum, division), 1 for any other."""
    if name == "linear":
        return 0
    return 3 if name in ("softmax", "log_softmax") else 1
