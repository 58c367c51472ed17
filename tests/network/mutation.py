"""Real model files → broken ones: bytes flipped, cut, doubled, numbers and structure changed where it hurts."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from typing import Any

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 7, 2**31, -(2**31), 2**63, 10**40, 1.5, float("inf"), float("nan"), "", "same",
    "Conv2D", "Add", "Reshape", "linear", [], [0], [1, 2, 3], [None, None], [[[]]], {}, {"class_name": "Dense"},
)  # fmt: skip


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled or appended."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(out)) if out else 0
        action = rng.randrange(6)
        if action == 0 and out:
            out[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            out[at : at + rng.choice((1, 2, 4, 8))] = rng.randbytes(rng.choice((1, 2, 4, 8)))
        elif action == 2:
            del out[at : at + rng.choice((1, 7, 100, 5000))]
        elif action == 3:
            piece = out[at : at + rng.choice((1, 16, 300))]
            out[at:at] = piece
        elif action == 4:
            out[at : at + 8] = b"\xff" * 8
        else:
            del out[at:]
    return bytes(out)


def mutated_json(model: Any, rng: random.Random) -> Any:
    """A configuration with a few values replaced, removed, or taken from elsewhere in it."""
    changed = copy.deepcopy(model)
    places = list(_places(changed))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        holder, key = rng.choice(places)
        try:
            action = rng.randrange(4)
            if action == 0:
                holder[key] = rng.choice(_VALUES)
            elif action == 1:
                del holder[key]
            elif action == 2:
                other, name = rng.choice(places)
                holder[key] = copy.deepcopy(other[name])
            elif isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
        except (KeyError, IndexError):
            continue
    return changed


def _places(value: Any):
    """(container, key) of everything within."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value, index
            yield from _places(item)


def archive(config: bytes, **options: Any) -> bytes:
    """A ``.keras`` file that holds `config`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", **options) as file:
        file.writestr("metadata.json", json.dumps({"keras_version": "3.0.0"}))
        file.writestr("config.json", config)
        file.writestr("model.weights.h5", b"not read")
    return packed.getvalue()
