"""Column names and what a value may be → the one form that every measured table takes here.

A row is one label: one metric of one network at one input size on one device. Splits are those of Bouzidi et al. 2022,
section 5: `NIS` holds new image sizes of known networks, `NCV` new variants of known CNNs, `NCA` new architectures.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeperf.units import METRICS

FORMAT_VERSION = 1
"""Version of `dataset.json` and `rows.csv`. 1: first version."""

TRAIN = "train"
TEST_SPLITS = ("NIS", "NCV", "NCA")
SPLITS = (TRAIN, *TEST_SPLITS)

KEY_COLUMNS = ("device", "model", "input_size", "metric", "value")
"""What no row can do without."""

OPTIONAL_COLUMNS: dict[str, str | float | None] = {
    "split": TRAIN,
    "family": None,
    "network": None,
    "arch_id": None,
    "model_file": None,
}
"""Column → what stands in for it where a table does not have it; None is derived by `edgeperf.datasets.normalise`."""

PUBLISHED_FEATURES = (
    "num_layers",
    "activations",
    "flops",
    "params",
    "params_conv",
    "params_batch_norm",
    "params_dense",
    "num_conv",
    "num_batch_norm",
    "num_dense",
    "weighted_neurons",
)
"""Features that a table may carry itself, named as in `edgeperf.network.FEATURES`; empty where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausible:
    """Where a label of one metric must lie, so that a wrong unit is noticed.

    Attributes:
        low: smaller values cannot be right.
        high: larger ones cannot be right.
        hint: which mistake is likely.
    """

    low: float
    high: float
    hint: str


PLAUSIBLE: dict[str, Plausible] = {
    "latency_ms": Plausible(low=1e-3, high=1e7, hint="latency_ms is in milliseconds"),
    "power_mw": Plausible(low=50.0, high=1e6, hint="power_mw is in milliwatts; watts need a factor of 1000"),
    "energy_mj": Plausible(low=1e-4, high=1e9, hint="energy_mj is in millijoules per inference"),
    "memory_mib": Plausible(low=1.0, high=1e6, hint="memory_mib is in MiB; bytes need a division by 1048576"),
}
PLAUSIBLE_INPUT_SIZE = (1, 16384)

if set(PLAUSIBLE) != set(METRICS):  # pragma: no cover - a metric was added in one place only
    raise RuntimeError("PLAUSIBLE and METRICS name different metrics")
