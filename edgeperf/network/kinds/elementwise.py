"""Activations, merges of several tensors, and layers that only act while training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, axis_without_batch, elements, same_shape
from edgeperf.records import Shape


def broadcast(shapes: Shapes) -> Shape:
    """The shape of an element-wise operation; sizes of 1 stretch, shorter shapes gain leading ones.

    >>> broadcast(((56, 56, 64), (1, 1, 64)))
    (56, 56, 64)
    """
    if not shapes:
        raise InvalidInput("it is called without an input")
    rank = max(len(shape) for shape in shapes)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = tuple(max(sizes) for sizes in zip(*aligned, strict=True))
    if any(size not in (1, wanted) for shape in aligned for size, wanted in zip(shape, result, strict=True)):
        raise InvalidInput(f"its inputs have shapes {list(shapes)}, which do not fit together")
    return result


def _merged(call: Call) -> Shapes:
    held = call.config["constant"]
    return (broadcast(call.inputs if held is None else (*call.inputs, tuple(held))),)


def _held(call: Call) -> int:
    """Weights of a tensor that takes part, as ONNX graphs hold them: as stated, else its elements but for one alone."""
    stated = call.config["weights"]
    count = elements(call.config["constant"] or ()) if stated is None else int(stated)
    return count if count > 1 else 0


def _concatenated(call: Call) -> Shapes:
    first, axis = call.input, axis_without_batch(call.config["axis"], len(call.input))
    for shape in call.inputs:
        if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            raise InvalidInput(f"it joins inputs of shapes {list(call.inputs)}, which differ outside axis {axis + 1}")
    return ((*first[:axis], sum(shape[axis] for shape in call.inputs), *first[axis + 1 :]),)


# A single input is merged with a number that the model holds.
_MERGE = Kind(
    parameters={"constant": None, "weights": None},
    shape=_merged,
    params=_held,
    flops=lambda call: max(len(call.inputs) - 1, 1) * elements(call.output),
    counts="inputs less one (1 where a constant is the other), per output element",
)


def _unary(
    params: Callable[[Call], int] = lambda _: 0, renamed: Mapping[str, str] | None = None, **parameters: Any
) -> Kind:
    """An activation as a layer of its own."""
    return Kind(
        parameters=parameters,
        renamed=renamed or {},
        shape=same_shape,
        params=params,
        flops=lambda call: elements(call.output),
        counts="1 per element",
    )


def _prelu_params(call: Call) -> int:
    shared = call.config["shared_axes"] or ()
    positions = {axis_without_batch(axis, len(call.input)) for axis in shared}
    return elements(tuple(1 if axis in positions else size for axis, size in enumerate(call.input)))


_MERGES = ("Add", "Subtract", "Multiply", "Divide", "Average", "Maximum", "Minimum", "Power", "Compare")

ELEMENTWISE: dict[str, Kind] = {
    "Activation": Kind(
        parameters={"activation": REQUIRED}, shape=same_shape, counts="0 for linear, 3 for softmax, else 1, per element"
    ),
    "ReLU": _unary(max_value=None, negative_slope=0.0, threshold=0.0),
    "LeakyReLU": _unary(renamed={"alpha": "negative_slope"}, negative_slope=0.3),
    "ELU": _unary(alpha=1.0),
    "PReLU": _unary(
        _prelu_params, alpha_initializer=None, alpha_regularizer=None, alpha_constraint=None, shared_axes=None
    ),
    "Softmax": Kind(
        parameters={"axis": -1}, shape=same_shape, flops=lambda call: 3 * elements(call.output), counts="3 per element"
    ),
    **dict.fromkeys(_MERGES, _MERGE),
    "Concatenate": Kind(parameters={"axis": -1}, shape=_concatenated),
    **{
        name: Kind(parameters={"rate": None}, shape=same_shape, vanishes=True)
        for name in (
            "Dropout",
            "AlphaDropout",
            "GaussianDropout",
            "GaussianNoise",
            "SpatialDropout1D",
            "SpatialDropout2D",
            "SpatialDropout3D",
        )
    },
    "Masking": Kind(parameters={"mask_value": 0.0}, shape=same_shape),
    "Identity": Kind(shape=same_shape),
    "ActivityRegularization": Kind(parameters={"l1": 0.0, "l2": 0.0}, shape=same_shape),
}
