"""A file, a JSON text, a configuration or a live model → `Network`, by what the source is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.assemble import Assembler
from edgeperf.network.files import EXPECTED, keras_config, parsed
from edgeperf.network.keras_config import network_from_config
from edgeperf.network.keras_layers import Declarations
from edgeperf.records import Network, Shape

_IMAGE_RANK = 3
"""Of an image without its batch: height, width, channels."""


def read_network(
    source: Any,
    input_size: int | tuple[int, int] | None = None,
    *,
    declared: Declarations | None = None,
    assembler: Assembler | None = None,
) -> Network:
    """The network of a model, with every shape inferred; weights are not read and nothing in a file is executed.

    Args:
        source: path of a ``.keras``, ``.h5``, ``.onnx`` or ``.json`` file, a JSON text, a configuration as a
            dictionary, or a live `keras.Model` on any backend.
        input_size: height and width of the image inputs in pixels, or (height, width); the model's own where None.
        declared: layer name or class → ``{"output_shape", "params", "macs", "flops"}``, or ``{"kind", ...}`` with the
            parameters of a known kind, for Lambda and custom layers.
        assembler: takes the calls of layers, for who wants more than the network; a plain one where None.

    Raises:
        InvalidInput: no such file, or it does not hold a model that can be read.
        UnsupportedLayer: the model holds layers that edgeperf does not know and nobody declared.
    """
    size = _size(input_size)
    name, file, model = None, "The model", None
    if isinstance(source, Mapping):
        model = source
    elif isinstance(source, str) and source.lstrip()[:1] == "{":
        model = parsed(source, "The text")
    elif isinstance(source, (str, Path)):
        path = Path(source)
        name, file, model = path.stem, path.name, keras_config(path)
        if model is None:
            from edgeperf.network.onnx import network_from_onnx

            return network_from_onnx(path, input_size=size, declared=declared, assembler=assembler)
    elif callable(getattr(source, "to_json", None)):
        model = parsed(_serialised(source), "The model")
    else:
        raise InvalidInput(f"A model was expected, got {type(source).__name__}. {EXPECTED}")
    return network_from_config(model, name=name, input_size=size, declared=declared, file=file, assembler=assembler)


def require_image(network: Network) -> None:
    """Refuses a network that no input size changes.

    Raises:
        InvalidInput: none of its inputs is an image.
    """
    inputs = [layer for layer in network.layers if layer.name in network.inputs]
    if not any(len(layer.output_shape) == _IMAGE_RANK for layer in inputs):
        shapes = ", ".join(str(layer.output_shape) for layer in inputs)
        raise InvalidInput(
            f"{network.name} takes no image, whose height and width an input size could set, but {shapes}. "
            "Leave --input-size out."
        )


def _serialised(model: Any) -> str:
    """The JSON of a live model, which its own code writes."""
    try:
        return str(model.to_json())
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InvalidInput(f"The model cannot be written as JSON: {error}") from error


def _size(value: int | tuple[int, int] | None) -> Shape | None:
    if value is None:
        return None
    size = (value, value) if isinstance(value, int) else tuple(value)
    if len(size) != 2 or not all(isinstance(each, int) and 1 <= each <= 2**20 for each in size):
        raise InvalidInput(f"input_size is {value!r}, expected pixels or (height, width) in pixels.")
    return size
