"""Named calls of layers, one after the other → a `Network` with every shape known.

`Assembler` is what every reader and the builder write to. It names repeated calls, shares their weights, and works out
shapes and costs from the kind table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds import configure, traits
from edgeperf.network.kinds.spec import Shapes
from edgeperf.records import Layer, Network, Shape

MAX_OUTPUTS: Final = 100_000
"""Outputs of all calls in one network; nested models that call each other could grow without end."""


class Tensor:
    """One output of one call: where it comes from and its shape."""

    __slots__ = ("index", "layer", "shape")

    def __init__(self, layer: str, shape: Shape, index: int = 0) -> None:
        self.layer = layer
        self.shape = shape
        self.index = index

    def __repr__(self) -> str:
        return f"Tensor({self.layer!r}, {self.shape})"


@lru_cache(maxsize=65536)
def make_layer(
    name: str,
    kind: str,
    config: tuple[tuple[str, Any], ...],
    inputs: tuple[str, ...],
    input_shapes: Shapes,
    shares: str | None = None,
) -> Layer:
    """The record of one call, from the kind table.

    Raises:
        InvalidInput: the layer's configuration does not fit its inputs; the message names the layer.
    """
    try:
        found = traits(kind, config, input_shapes)
    except InvalidInput as error:
        raise InvalidInput(f"Layer {name!r} ({kind}) cannot be used: {str(error)[:400]}.") from None
    return Layer(
        name=name,
        kind=kind,
        inputs=inputs,
        input_shapes=input_shapes,
        output_shape=found.output_shapes[0],
        other_output_shapes=found.output_shapes[1:],
        params=0 if shares else found.params,
        weights=found.params,
        macs=found.macs,
        flops=found.flops,
        kernel_size=found.window.kernel_size,
        strides=found.window.strides,
        dilation=found.window.dilation,
        padding=found.window.padding,
        groups=found.groups,
        depth_multiplier=found.depth_multiplier,
        use_bias=found.use_bias,
        activation=found.activation,
        filters=found.filters,
        units=found.units,
        shares_weights_with=shares,
    )


class Assembler:
    """Collects the calls of one network in order."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []
        self._outputs = 0
        self._calls: dict[str, int] = {}

    def call(
        self, name: str, kind: str, config: tuple[tuple[str, Any], ...], inputs: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """Adds a call of the layer `name` and returns its outputs; a later call of the same name shares its weights.

        Raises:
            InvalidInput: the layer does not fit its inputs, or the network grows beyond `MAX_OUTPUTS`.
        """
        number = self._calls.get(name, 0) + 1
        self._calls[name] = number
        layer = make_layer(
            name if number == 1 else f"{name}#{number}",
            kind,
            config,
            tuple([tensor.layer for tensor in inputs]),
            tuple([tensor.shape for tensor in inputs]),
            None if number == 1 else name,
        )
        self._layers.append(layer)
        self._outputs += 1 + len(layer.other_output_shapes)
        if self._outputs > MAX_OUTPUTS:
            raise InvalidInput(f"The network has more than {MAX_OUTPUTS} tensors, which no real one has.")
        first = Tensor(layer.name, layer.output_shape)
        if not layer.other_output_shapes:
            return (first,)
        others = enumerate(layer.other_output_shapes, start=1)
        return (first, *(Tensor(layer.name, shape, index) for index, shape in others))

    def configured(
        self, name: str, kind: str, config: Mapping[str, Any], inputs: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """`call` with a plain configuration."""
        try:
            frozen = configure(kind, config)
        except InvalidInput as error:
            raise InvalidInput(f"Layer {name!r} ({kind}) cannot be used: {error}.") from None
        return self.call(name, kind, frozen, inputs)

    def finish(self, name: str, inputs: Iterable[str], outputs: Iterable[Tensor]) -> Network:
        """The network of all calls so far.

        Raises:
            InvalidInput: it has no outputs.
        """
        ends = tuple(dict.fromkeys(tensor.layer for tensor in outputs))
        if not ends:
            raise InvalidInput("The model has no layers, or none of its outputs is one of them.")
        return Network(name=name, inputs=tuple(inputs), outputs=ends, layers=tuple(self._layers))
