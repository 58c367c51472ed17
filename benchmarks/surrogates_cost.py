"""What predicting costs: 10,000 networks at once, one call each, and loading; wall time, best of some runs.

python -m benchmarks.surrogates_cost
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.record import write_result
from edgeperf.network import FEATURE_NAMES, features
from edgeperf.surrogates import devices, load
from edgeperf.zoo import family

NETWORKS = 10_000
METRICS = ("latency_ms", "power_mw", "memory_mib")
RUNS = 3
SINGLE_CALLS = 20


def main() -> None:
    """Batch, single calls and loading, per device."""
    found = family("mobilenet-v2")
    network = found.network(found.published["MobileNet v2 1.0"])
    row = np.array([[features(network).values[name] for name in FEATURE_NAMES]])
    scale = np.random.default_rng(0).lognormal(sigma=0.3, size=(NETWORKS, 1))
    table = []
    for device in devices():
        surrogates = load(device)
        batch = _seconds(lambda s=surrogates: s.predict_batch(row * scale, METRICS))  # type: ignore[misc]
        single = _seconds(lambda s=surrogates: [s.estimate(network, METRICS) for _ in range(SINGLE_CALLS)])  # type: ignore[misc]
        single /= SINGLE_CALLS
        table.append(
            {
                "device": device,
                "10,000 networks, s": round(batch, 2),
                "one call, ms": round(1000 * single, 2),
                "per network, times faster at once": round(single / (batch / NETWORKS)),
                "import and load, s": round(_loading(device), 2),
            }
        )
    write_result("surrogates_cost", {"metrics": METRICS, "runs": RUNS, "cost": table}, about=__doc__, table=table)


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _loading(device: str) -> float:
    code = f"import edgeperf.surrogates as s; s.load({device!r})"
    return _seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


if __name__ == "__main__":
    main()
