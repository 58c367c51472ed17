"""Attention layers: products of queries, keys and values.

Tokens of every attended axis count; the mask costs nothing. A head's scores take one product of queries with keys (a
MAC per key element), a softmax (3 per score) and one product with the values.
"""

from __future__ import annotations

from edgeperf.errors import InvalidInput
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, as_integer, elements
from edgeperf.records import Shape

_COUNTS = "3 per score (softmax), biases of the projections, 2 per output of a gate"


def _tensors(call: Call) -> tuple[Shape, Shape, Shape]:
    """Shapes of query, value and key; the key is the value where none is given."""
    given: tuple[str, ...] = call.config["given"] or ("query", "value", "key")
    named: dict[str, Shape] = dict(zip(given, call.inputs, strict=False))
    if "query" not in named or "value" not in named:
        raise InvalidInput("it needs a query and a value")
    query, value = named["query"], named["value"]
    key = named.get("key", value)
    if len(query) < 2 or len(value) < 2 or value[:-1] != key[:-1]:
        raise InvalidInput(f"query {query}, value {value} and key {key} do not fit together")
    return query, value, key


def _dimensions(call: Call) -> tuple[int, int, int]:
    """Heads, size of a key, size of a value."""
    key = call.integer("key_dim", least=1)
    value = key if call.config["value_dim"] is None else call.integer("value_dim", least=1)
    return call.integer("num_heads", least=1), key, value


def _last(call: Call) -> Shape:
    """Trailing sizes of the output: the query's own features unless stated."""
    stated = call.config["output_shape"]
    if stated is None or stated == ():
        return call.input[-1:]
    several = stated if isinstance(stated, (tuple, list)) else (stated,)
    return tuple(as_integer(size, "output_shape", least=1) for size in several)


def _multi_head_shape(call: Call) -> Shapes:
    query, _, _ = _tensors(call)
    return ((*query[:-1], *_last(call)),)


def _multi_head_params(call: Call) -> int:
    (query, value, key), (heads, key_size, value_size) = _tensors(call), _dimensions(call)
    bias, written = call.flag("use_bias"), elements(_last(call))
    projections = (
        heads * key_size * (query[-1] + bias)
        + heads * key_size * (key[-1] + bias)
        + heads * value_size * (value[-1] + bias)
    )
    gate = call.flag("use_gate") * heads * value_size * (query[-1] + bias)
    return projections + gate + (heads * value_size + bias) * written


def _scores(call: Call) -> int:
    """Elements of one head's score matrix, over all tokens that do not attend to each other."""
    query, value, _ = _tensors(call)
    axes = call.config["attention_axes"]
    attended = range(len(query) - 1) if axes is None or axes == () else _attended(axes, len(query))
    if any(axis >= len(value) - 1 for axis in attended):
        raise InvalidInput(f"attention_axes {axes} exceed the value's shape {value}")
    return elements(query[:-1]) * elements(tuple(value[axis] for axis in attended))


def _attended(axes: object, rank: int) -> tuple[int, ...]:
    several = axes if isinstance(axes, (tuple, list)) else (axes,)
    positions = tuple(as_integer(axis, "attention_axes", least=-rank) for axis in several)
    return tuple(axis + rank if axis < 0 else axis - 1 for axis in positions)


def _multi_head_macs(call: Call) -> int:
    (query, value, key), (heads, key_size, value_size) = _tensors(call), _dimensions(call)
    asked, stored = elements(query[:-1]), elements(value[:-1])
    projections = (
        asked * query[-1] * heads * key_size
        + stored * key[-1] * heads * key_size
        + stored * value[-1] * heads * value_size
        + asked * heads * value_size * elements(_last(call))
    )
    gate = call.flag("use_gate") * asked * query[-1] * heads * value_size
    return projections + gate + heads * _scores(call) * (key_size + value_size)


def _multi_head_flops(call: Call) -> int:
    (query, value, _), (heads, key_size, value_size) = _tensors(call), _dimensions(call)
    asked, stored = elements(query[:-1]), elements(value[:-1])
    # `Kind.traits` adds the bias of the output.
    biases = call.flag("use_bias") * heads * (asked * key_size + stored * (key_size + value_size))
    gate = call.flag("use_gate") * asked * heads * value_size * (2 + call.flag("use_bias"))
    return 3 * heads * _scores(call) + biases + gate


def _grouped(call: Call) -> tuple[int, int, int]:
    """Heads of queries, heads of keys and values, size of a head."""
    queries, keys = call.integer("num_query_heads", least=1), call.integer("num_key_value_heads", least=1)
    if queries % keys:
        raise InvalidInput(f"{queries} query heads do not divide into {keys} key heads")
    return queries, keys, call.integer("head_dim", least=1)


def _grouped_params(call: Call) -> int:
    (query, value, key), (queries, keys, size) = _tensors(call), _grouped(call)
    bias = call.flag("use_bias")
    asked = (1 + call.flag("use_gate")) * queries * size * (query[-1] + bias)
    return asked + keys * size * (key[-1] + value[-1] + 2 * bias) + (queries * size + bias) * query[-1]


def _grouped_macs(call: Call) -> int:
    (query, value, key), (queries, keys, size) = _tensors(call), _grouped(call)
    asked, stored = elements(query[:-1]), elements(value[:-1])
    projections = (2 + call.flag("use_gate")) * asked * query[-1] * queries * size
    return projections + stored * (key[-1] + value[-1]) * keys * size + 2 * queries * asked * stored * size


def _grouped_flops(call: Call) -> int:
    (query, value, _), (queries, keys, size) = _tensors(call), _grouped(call)
    asked, stored = elements(query[:-1]), elements(value[:-1])
    biases = call.flag("use_bias") * size * (asked * queries + 2 * stored * keys)
    gate = call.flag("use_gate") * asked * queries * size * (2 + call.flag("use_bias"))
    return 3 * queries * asked * stored + biases + gate


def _listed(call: Call) -> tuple[Shape, Shape, Shape]:
    """Query, value and key of the layers that take them as one list."""
    if len(call.inputs) < 2:
        raise InvalidInput("it takes a list of query and value, and of a key where that is another")
    query, value = call.inputs[:2]
    key = call.inputs[2] if len(call.inputs) > 2 else value
    if min(map(len, (query, value, key))) < 2 or query[-1] != key[-1] or value[:-1] != key[:-1]:
        raise InvalidInput(f"query {query}, value {value} and key {key} do not fit together")
    return query, value, key


def _listed_shape(call: Call) -> Shapes:
    query, value, _ = _listed(call)
    return ((*query[:-1], value[-1]),)


def _listed_macs(call: Call) -> int:
    query, value, _ = _listed(call)
    return query[-2] * elements(value[:-1]) * (query[-1] + value[-1])


def _listed_scores(call: Call) -> int:
    query, value, _ = _listed(call)
    return query[-2] * elements(value[:-1])


_NAMED = {"given": None}

ATTENTIONS: dict[str, Kind] = {
    "MultiHeadAttention": Kind(
        parameters={
            "num_heads": REQUIRED,
            "key_dim": REQUIRED,
            "value_dim": None,
            "dropout": 0.0,
            "use_bias": True,
            "output_shape": None,
            "attention_axes": None,
            "sliding_window": None,
            "flash_attention": None,
            "use_gate": False,
            **_NAMED,
        },
        shape=_multi_head_shape,
        params=_multi_head_params,
        macs=_multi_head_macs,
        flops=_multi_head_flops,
        counts=_COUNTS,
    ),
    "GroupQueryAttention": Kind(
        parameters={
            "head_dim": REQUIRED,
            "num_query_heads": REQUIRED,
            "num_key_value_heads": REQUIRED,
            "dropout": 0.0,
            "use_bias": True,
            "sliding_window": None,
            "flash_attention": None,
            "use_gate": False,
            **_NAMED,
        },
        shape=lambda call: (_tensors(call)[0],),
        params=_grouped_params,
        macs=_grouped_macs,
        flops=_grouped_flops,
        counts=_COUNTS,
    ),
    "Attention": Kind(
        parameters={"use_scale": False, "score_mode": "dot", "dropout": 0.0},
        shape=_listed_shape,
        params=lambda call: call.flag("use_scale") + (call.config["score_mode"] == "concat"),
        macs=_listed_macs,
        flops=lambda call: (3 + call.flag("use_scale")) * _listed_scores(call),
        counts="3 per score (softmax), 1 more if scaled",
    ),
    "AdditiveAttention": Kind(
        parameters={"use_scale": True, "dropout": 0.0},
        shape=_listed_shape,
        params=lambda call: call.flag("use_scale") * call.input[-1],
        macs=_listed_macs,
        flops=lambda call: (3 + 2 * call.input[-1]) * _listed_scores(call),
        counts="3 per score (softmax), 2 per score and feature (addition and tanh)",
    ),
}
"""Those with `given` take their inputs by name; `given` holds the names in the order of the inputs."""

CALL_PARAMETERS: dict[str, tuple[str, ...]] = {
    name: ("query", "value", "key") for name, kind in ATTENTIONS.items() if "given" in kind.parameters
}
