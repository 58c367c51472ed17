"""A `Network` → one flat row per call of a layer, with all that a model of a single kernel asks for."""

from __future__ import annotations

from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.features import image_sizes, weighted_neurons
from edgeperf.network.kinds.spec import elements
from edgeperf.network.memory import BYTES_PER_ELEMENT, output_elements
from edgeperf.records import Layer, Network, Shape


def layer_rows(network: Network, *, precision: str = "float32") -> list[dict[str, Any]]:
    """One dictionary of names, integers and shapes per layer, in the order of the network; pandas takes the list.

    ``input_*`` and ``output_*`` sizes are those of the first input and output, 1 where a tensor lacks the dimension.
    Kernel, stride, dilation and padding are 0, 1, 1 and 0 where the kind has no window. ``bytes_read`` counts every
    input and weight once, ``bytes_written`` every output, at batch size 1.

    Args:
        network: any.
        precision: of activations and weights, a key of `edgeperf.network.memory.BYTES_PER_ELEMENT`.

    Raises:
        InvalidInput: no such precision.
    """
    if precision not in BYTES_PER_ELEMENT:
        raise InvalidInput(f"precision is {precision!r}, expected one of {', '.join(BYTES_PER_ELEMENT)}.")
    return [_row(layer, BYTES_PER_ELEMENT[precision]) for layer in network.layers]


def _row(layer: Layer, width: int) -> dict[str, Any]:
    source: Shape = layer.input_shapes[0] if layer.input_shapes else ()
    read = sum(map(elements, layer.input_shapes))
    written = output_elements(layer)
    return {
        "name": layer.name,
        "kind": layer.kind,
        "inputs": layer.inputs,
        "input_shapes": layer.input_shapes,
        "output_shape": layer.output_shape,
        **_sizes("input", source),
        **_sizes("output", layer.output_shape),
        **_window(layer),
        "groups": layer.groups,
        "depth_multiplier": layer.depth_multiplier,
        "filters": layer.filters,
        "units": layer.units,
        "use_bias": layer.use_bias,
        "activation": layer.activation,
        "params": layer.params,
        "macs": layer.macs,
        "flops": layer.flops,
        "input_elements": read,
        "weight_elements": layer.weights,
        "output_elements": written,
        "neurons": written if layer.filters or layer.units else 0,
        "weighted_neurons": weighted_neurons(layer),
        "bytes_read": width * (read + layer.weights),
        "bytes_written": width * written,
        "shares_weights_with": layer.shares_weights_with,
    }


def _sizes(prefix: str, shape: Shape) -> dict[str, int]:
    height, width, channels = image_sizes(shape)
    return {f"{prefix}_height": height, f"{prefix}_width": width, f"{prefix}_channels": channels}


def _window(layer: Layer) -> dict[str, int]:
    """The first and the last spatial dimension of the window, which for images are all."""
    row = {}
    for name, values, absent in (
        ("kernel", layer.kernel_size, 0),
        ("stride", layer.strides, 1),
        ("dilation", layer.dilation, 1),
    ):
        row[f"{name}_height"] = values[0] if values else absent
        row[f"{name}_width"] = values[-1] if values else absent
    (top, bottom), (left, right) = (layer.padding[0], layer.padding[-1]) if layer.padding else ((0, 0), (0, 0))
    return {**row, "padding_top": top, "padding_bottom": bottom, "padding_left": left, "padding_right": right}
