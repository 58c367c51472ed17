"""Regenerates every table and plot about the surrogates.

python -m benchmarks.surrogates [--data ../shared/data]
"""

from __future__ import annotations

from benchmarks import (
    surrogates_accuracy,
    surrogates_cost,
    surrogates_families,
    surrogates_icas,
    surrogates_transfer,
)

if __name__ == "__main__":
    for script in (surrogates_accuracy, surrogates_families, surrogates_transfer, surrogates_icas, surrogates_cost):
        script.main()
