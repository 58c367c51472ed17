"""A `Network` → how much memory its tensors need while it runs, layer by layer.

A tensor lives from the call that puts it out to the last call that takes it; inputs are there from the start, outputs
stay to the end. Calls run one after the other, in the order of the network. No call works in place and none shares its
input's memory, so that a runtime with such tricks needs less. The workspace of convolution algorithms, the runtime and
the operating system are excluded: on a board they are the larger part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import elements
from edgeperf.records import Layer, Network

BYTES_PER_ELEMENT: Final = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Memory of one network at one batch size and precision, workspace excluded.

    Attributes:
        peak_activation_bytes: most memory that live tensors take at once.
        peak_layer: the call during which they do.
        weight_bytes: all weights, each once.
        two_largest_bytes: sum of the two largest outputs.
        twice_mean_bytes: twice the mean output.
        live_bytes: memory of live tensors during every call, in the order of the network.

    Reference: Sponner et al. estimate the activations of a sequential execution by `two_largest_bytes` and
        `twice_mean_bytes`; both may fall below `peak_activation_bytes` where branches are alive.
    """

    network: str
    batch_size: int
    precision: str
    peak_activation_bytes: int
    peak_layer: str
    weight_bytes: int
    two_largest_bytes: int
    twice_mean_bytes: float
    live_bytes: tuple[int, ...]

    @property
    def total_bytes(self) -> int:
        """Weights and the peak of the activations."""
        return self.weight_bytes + self.peak_activation_bytes


def memory_plan(network: Network, *, batch_size: int = 1, precision: str = "float32") -> MemoryPlan:
    """The memory that the tensors of `network` need.

    Args:
        network: any; its layers run in the order in which it lists them.
        batch_size: images at once.
        precision: of activations and weights alike, a key of `BYTES_PER_ELEMENT`.

    Raises:
        InvalidInput: no such precision, or no image at all.
    """
    if precision not in BYTES_PER_ELEMENT:
        raise InvalidInput(f"precision is {precision!r}, expected one of {', '.join(BYTES_PER_ELEMENT)}.")
    if batch_size < 1:
        raise InvalidInput(f"batch_size is {batch_size}, expected at least 1.")
    width = BYTES_PER_ELEMENT[precision]
    sizes = [batch_size * width * output_elements(layer) for layer in network.layers]
    live = _live_bytes(network, sizes)
    peak = max(range(len(live)), key=live.__getitem__)
    return MemoryPlan(
        network=network.name,
        batch_size=batch_size,
        precision=precision,
        peak_activation_bytes=live[peak],
        peak_layer=network.layers[peak].name,
        weight_bytes=width * sum(layer.params for layer in network.layers),
        two_largest_bytes=sum(sorted(sizes)[-2:]),
        twice_mean_bytes=2 * sum(sizes) / len(sizes),
        live_bytes=tuple(live),
    )


def output_elements(layer: Layer) -> int:
    """Elements of all outputs of a call, for one image."""
    return elements(layer.output_shape) + sum(map(elements, layer.other_output_shapes))


def _live_bytes(network: Network, sizes: list[int]) -> list[int]:
    """Bytes of live tensors during every call, from births and deaths along the order of calls."""
    place = {layer.name: at for at, layer in enumerate(network.layers)}
    last_use = dict(enumerate(range(len(sizes))))
    for at, layer in enumerate(network.layers):
        for name in layer.inputs:
            last_use[place[name]] = at
    changes = [0] * (len(sizes) + 1)
    for at, layer in enumerate(network.layers):
        born = 0 if layer.kind == "InputLayer" else at
        dies = len(sizes) - 1 if layer.name in network.outputs else last_use[at]
        changes[born] += sizes[at]
        changes[dies + 1] -= sizes[at]
    live, total = [], 0
    for change in changes[:-1]:
        total += change
        live.append(total)
    return live
