"""A stand-in for trained surrogates: closed forms of the features, so that tests know what should come out."""

from dataclasses import dataclass

import numpy as np

from edgeperf.network import FEATURE_NAMES


@dataclass(frozen=True)
class FakePrediction:
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    in_range: np.ndarray

    def reasons(self):
        return [None if inside else "made up: too large an input" for inside in self.in_range]


class FakeSurrogates:
    """Latency grows with work, power with its logarithm, memory with weights; large inputs are out of range."""

    def __init__(self, slowness: float = 1.0, largest_input: float = 288) -> None:
        self._slowness = slowness
        self._largest_input = largest_input

    def predict_batch(self, rows: np.ndarray) -> dict[str, FakePrediction]:
        column = {name: rows[:, FEATURE_NAMES.index(name)] for name in ("macs", "params", "num_layers", "input_height")}
        latency = self._slowness * (column["macs"] / 1e8 + 0.02 * column["num_layers"])
        power = 800 * np.log10(column["macs"])
        inside = column["input_height"] <= self._largest_input
        values = {
            "latency_ms": latency,
            "power_mw": power,
            "energy_mj": latency * power / 1000,
            "memory_mib": 1000 + column["params"] / 1e5,
        }
        return {name: FakePrediction(value, 0.9 * value, 1.1 * value, inside) for name, value in values.items()}
