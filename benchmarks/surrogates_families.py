"""What the surrogates err on a family of networks that they never saw, and whether they say so.

    python -m benchmarks.surrogates_families [--data ../shared/data]

Per board and metric every family is left out of the training rows in turn. Synthetic networks whose graph is not
known are left out of this table: without their own family nothing can be said from published columns. A row errs much
when it errs by more than twice the cross-validated error on held-out models.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import write_result
from edgeperf.datasets import load, shared_data
from edgeperf.surrogates.configuration import BEST, Configuration, configuration
from edgeperf.surrogates.evaluation import distance
from edgeperf.surrogates.ranges import LIMIT
from edgeperf.surrogates.rows import Training, corpus
from edgeperf.surrogates.validation import Held, cross_validate

METRICS = ("latency_ms", "power_mw", "energy_mj")
SYNTHETIC = "synthetic"


def main() -> None:
    """All boards, metrics and families."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    prepared = corpus(load(parser.parse_args().data / "bouzidi"))
    targets = [target for target in prepared.dataset.targets() if target[1] in METRICS]
    details = []
    for device, metric in track(targets, description="Leaving families out"):
        training = prepared.training(device, metric).with_graph()
        details += families(training, configuration(BEST, device, metric))
    table = [_summary(d, m, [x for x in details if (x["device"], x["metric"]) == (d, m)]) for d, m in targets]
    write_result("surrogates_families", {"summary": table, "families": details}, about=__doc__, table=table)


def families(training: Training, chosen: Configuration) -> list[dict[str, Any]]:
    """Error and flags per family that is left out."""
    usual = cross_validate(training, chosen.fit, distance, protocol="model", folds=6, seed=0).mape
    found = []
    for family in np.unique(training.rows.family):
        kept = training.without("family", {family})
        rows = training.rows.take(training.rows.family == family)
        held = Held(
            protocol="model", rows=rows, predicted=chosen.fit(kept).predict_rows(rows), distance=distance(kept, rows)
        )
        errors = 100 * np.abs(held.predicted / rows.value - 1)
        much, flagged = errors > 2 * usual, held.distance > LIMIT
        found.append(
            {
                "device": rows.device,
                "metric": rows.metric,
                "family": str(family),
                "rows": len(rows),
                "mape": round(held.mape, 2),
                "usual_mape": round(usual, 2),
                "erring_much": int(much.sum()),
                "erring_much_flagged": int((much & flagged).sum()),
                "flagged": int(flagged.sum()),
            }
        )
    return found


def _summary(device: str, metric: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    known = [f for f in found if f["family"] != SYNTHETIC]
    worst = max(known, key=lambda f: f["mape"])
    much = sum(f["erring_much"] for f in found)
    return {
        "metric": metric,
        "device": device,
        "families": len(known),
        "mean over families": f"{np.mean([f['mape'] for f in known]):.1f}",
        "median": f"{np.median([f['mape'] for f in known]):.1f}",
        "worst": f"{worst['mape']:.1f} ({worst['family']})",
        "synthetic": next((f"{f['mape']:.1f}" for f in found if f["family"] == SYNTHETIC), ""),
        "rows erring much": much,
        "of these flagged, %": f"{100 * sum(f['erring_much_flagged'] for f in found) / max(much, 1):.1f}",
    }


if __name__ == "__main__":
    main()
