"""Products of tensors by index notation: EinsumDense, Einsum, MatMul and Dot."""

from __future__ import annotations

import re

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.elementwise import broadcast
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, axis_without_batch, elements
from edgeperf.records import Shape

_EQUATION = re.compile(r"(\.\.\.)?([A-Za-z]+)(\.\.\.)?,([A-Za-z]+)->(\.\.\.)?([A-Za-z]+)(\.\.\.)?")
_BATCH = 1


def _dense_labels(call: Call) -> tuple[str, str, str]:
    """Labels of input, kernel and output, one per dimension including the batch, ellipses spelled out by digits."""
    equation = call.config["equation"]
    match = _EQUATION.fullmatch(equation.replace(" ", "")) if isinstance(equation, str) else None
    if match is None or (match[1], match[3]) != (match[5], match[7]) or (match[1] and match[3]):
        raise InvalidInput(f"equation is {equation!r}, expected a form such as 'abc,cd->abd' or '...x,xy->...y'")
    elided = len(call.input) + 1 - len(match[2])
    if elided and not (match[1] or match[3]):
        raise InvalidInput(f"equation {equation!r} does not fit an input of shape {call.input}")
    if not 0 <= elided <= 10:
        raise InvalidInput(f"equation {equation!r} does not fit an input of shape {call.input}")
    filler = "0123456789"[:elided]
    before, after = (filler, "") if match[1] else ("", filler)
    return before + match[2] + after, match[4], before + match[6] + after


def _dense_sizes(call: Call) -> dict[str, int]:
    """Size of every label, from the input and the stated output."""
    source, _, target = _dense_labels(call)
    sizes = dict(zip(source, (_BATCH, *call.input), strict=True))
    stated = call.config["output_shape"]
    several = stated if isinstance(stated, (tuple, list)) else (stated,)
    named = [label for label in target[1:] if not label.isdigit()] if target[0] in source else []
    if len(named) != len(several):
        raise InvalidInput(f"output_shape {stated!r} does not fit the equation {call.config['equation']!r}")
    for label, size in zip(named, several, strict=True):
        if size is not None:
            size = as_integer(size, "output_shape", least=1)
            if sizes.setdefault(label, size) != size:
                raise InvalidInput(f"output_shape {stated!r} does not fit an input of shape {call.input}")
    return sizes


def _dense_shape(call: Call) -> Shapes:
    sizes = _dense_sizes(call)
    return (tuple(_size(sizes, label) for label in _dense_labels(call)[2][1:]),)


def _size(sizes: dict[str, int], label: str) -> int:
    if label not in sizes:
        raise InvalidInput(f"nothing states the size of {label!r} of its equation")
    return sizes[label]


def _kernel_elements(call: Call) -> int:
    sizes = _dense_sizes(call)
    return elements(tuple(_size(sizes, label) for label in _dense_labels(call)[1]))


def _dense_params(call: Call) -> int:
    axes = call.config["bias_axes"]
    if not axes:
        return _kernel_elements(call)
    sizes = _dense_sizes(call)
    return _kernel_elements(call) + elements(tuple(_size(sizes, label) for label in str(axes)))


def _dense_macs(call: Call) -> int:
    source, kernel, target = _dense_labels(call)
    sizes = _dense_sizes(call)
    return elements(tuple(_size(sizes, label) for label in dict.fromkeys(source + kernel + target)))


def _matmul_shape(call: Call) -> Shapes:
    first, second = _oriented(call)
    if not first or len(second) < 1 or (len(second) > 1 and first[-1] != second[-2]):
        raise InvalidInput(f"it multiplies {first} with {second}, which do not fit")
    lead = broadcast((first[:-2], second[:-2])) if max(len(first), len(second)) > 2 else ()
    return ((*lead, *first[-2:-1], second[-1]),)


def _oriented(call: Call) -> tuple[Shape, Shape]:
    """The two factors, transposed where the call says so."""
    first, second = _two(call)
    if call.flag("transpose_first"):
        first = (*first[:-2], *first[:-3:-1])
    if call.flag("transpose_second"):
        second = (*second[:-2], *second[:-3:-1])
    return first, second


def _two(call: Call) -> tuple[Shape, Shape]:
    if len(call.inputs) != 2:
        raise InvalidInput(f"it takes two inputs, but is given {len(call.inputs)}")
    return call.inputs[0], call.inputs[1]


def _dot_axes(call: Call) -> tuple[int, int]:
    first, second = _two(call)
    axes = call.config["axes"]
    pair = axes if isinstance(axes, (tuple, list)) else (axes, axes)
    if len(pair) != 2:
        raise InvalidInput(f"axes is {axes!r}, expected one axis or two")
    one, other = axis_without_batch(pair[0], len(first)), axis_without_batch(pair[1], len(second))
    if first[one] != second[other]:
        raise InvalidInput(f"it multiplies {first} with {second} along axes of different sizes")
    return one, other


def _dot_shape(call: Call) -> Shapes:
    (first, second), (one, other) = _two(call), _dot_axes(call)
    kept = first[:one] + first[one + 1 :] + second[:other] + second[other + 1 :]
    return (kept or (1,),)


def _einsum_sizes(call: Call) -> tuple[dict[str, int], str]:
    """Size of every label and the labels of the output; the first label of each side is the batch."""
    equation = str(call.config["subscripts"]).replace(" ", "")
    left, arrow, target = equation.partition("->")
    sources = left.split(",")
    if not arrow or "." in equation or len(sources) != len(call.inputs):
        raise InvalidInput(
            f"subscripts are {equation!r}, expected a form such as 'abc,acd->abd' with one part per input"
        )
    sizes: dict[str, int] = {}
    for labels, shape in zip(sources, call.inputs, strict=True):
        if len(labels) != len(shape) + 1:
            raise InvalidInput(f"{labels!r} of its subscripts does not fit an input of shape {shape}")
        for label, size in zip(labels, (_BATCH, *shape), strict=True):
            if sizes.setdefault(label, size) != size:
                raise InvalidInput(f"the inputs {list(call.inputs)} do not fit the subscripts {equation!r}")
    return sizes, target


def _einsum_shape(call: Call) -> Shapes:
    sizes, target = _einsum_sizes(call)
    return (tuple(_size(sizes, label) for label in target[1:]),)


PRODUCTS: dict[str, Kind] = {
    "EinsumDense": Kind(
        parameters={"equation": REQUIRED, "output_shape": REQUIRED, "activation": None, "bias_axes": None},
        shape=_dense_shape,
        params=_dense_params,
        macs=_dense_macs,
        flops=lambda call: elements(call.output) if call.config["bias_axes"] else 0,
        counts="1 per output element for the bias",
    ),
    "Einsum": Kind(
        parameters={"subscripts": REQUIRED},
        shape=_einsum_shape,
        macs=lambda call: elements(tuple(_einsum_sizes(call)[0].values())) if len(call.inputs) > 1 else 0,
    ),
    "MatMul": Kind(
        parameters={"transpose_first": False, "transpose_second": False},
        shape=_matmul_shape,
        macs=lambda call: elements(call.output) * _oriented(call)[0][-1],
    ),
    "Dot": Kind(
        parameters={"axes": REQUIRED, "normalize": False},
        shape=_dot_shape,
        macs=lambda call: elements(call.output) * call.input[_dot_axes(call)[0]],
        flops=lambda call: 3 * sum(map(elements, call.inputs)) * call.flag("normalize"),
        counts="3 per input element if normalised",
    ),
}
