"""Networks that were measured → whether another one lies among them, and in words why not.

Coordinates are logarithms of size (work, traffic, weights, layers, image) and the shares of kinds of work. A network
is in range when the nearest measured network lies within `LIMIT`: 1 is a factor of e in one size, or a tenth of the
work done by other kinds of layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.descriptors import COMPOSITION, composition, descriptors

LIMIT: Final = 1.1
"""Chosen on training rows: with a family left out, 5 % of those that err much lie nearer than 1.2 to 1.8."""
COMPOSITION_WEIGHT: Final = 10.0

_SIZES: Final = (
    ("multiply-accumulates", "more", "fewer"),
    ("bytes of activations", "more", "fewer"),
    ("bytes of weights", "more", "fewer"),
    ("layers with weights", "more", "fewer"),
    ("element-wise layers", "more", "fewer"),
    ("pixels along a side", "more", "fewer"),
)
_NOTABLE_FACTOR: Final = 1.2
_CHUNK: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measured networks of a device.

    Attributes:
        points: (networks, coordinates).
        names: (networks,) what reasons call them.
    """

    points: NDArray[np.float32]
    names: tuple[str, ...]

    def nearest(self, features: Matrix) -> tuple[Vector, NDArray[np.intp]]:
        """(rows,) distance to the nearest measured network, and its place."""
        points = coordinates(features)
        squares = (self.points**2).sum(axis=1)
        distances, places = [], []
        for start in range(0, max(len(points), 1), _CHUNK):
            chunk = points[start : start + _CHUNK]
            square = (chunk**2).sum(axis=1)[:, None] + squares[None, :] - 2 * chunk @ self.points.T
            place = square.argmin(axis=1)
            places.append(place)
            distances.append(np.sqrt(np.maximum(square[np.arange(len(chunk)), place], 0)))
        return np.concatenate(distances).astype(float), np.concatenate(places)

    def reasons(self, features: Matrix) -> list[str | None]:
        """Per row what lies outside, in words; None where the network is in range."""
        distance, place = self.nearest(features)
        return [
            None if near <= LIMIT else self._reason(point, int(at))
            for point, near, at in zip(coordinates(features), distance, place, strict=True)
        ]

    def _reason(self, point: NDArray[np.float32], nearest: int) -> str:
        sizes = len(_SIZES)
        above = point[:sizes] - self.points[:, :sizes].max(axis=0)
        below = self.points[:, :sizes].min(axis=0) - point[:sizes]
        worst = int(np.maximum(above, below).argmax())
        factor = float(np.exp(max(above[worst], below[worst])))
        if factor >= _NOTABLE_FACTOR:
            what, more, fewer = _SIZES[worst]
            return (
                f"{factor:.3g} times {more if above[worst] > below[worst] else fewer} {what} than any measured network"
            )
        shares = (point - self.points[nearest])[sizes:] / COMPOSITION_WEIGHT
        kind = int(np.abs(shares).argmax())
        here = float(point[sizes + kind] / COMPOSITION_WEIGHT)
        there = float(self.points[nearest, sizes + kind] / COMPOSITION_WEIGHT)
        return (
            f"no measured network is like it: the nearest, {self.names[nearest]}, has {there:.0%} of its "
            f"{COMPOSITION[kind]}, this one {here:.0%}"
        )


def measured(features: Matrix, names: NDArray[np.object_]) -> Measured:
    """The measured networks, each once."""
    _, first = np.unique(names.astype(str), return_index=True)
    return Measured(points=coordinates(features[first]), names=tuple(str(names[place]) for place in first))


def coordinates(features: Matrix) -> NDArray[np.float32]:
    """(rows, coordinates) of networks."""
    sizes = descriptors(features)[:, : len(_SIZES)]
    return np.hstack([sizes, COMPOSITION_WEIGHT * composition(features)]).astype(np.float32)
