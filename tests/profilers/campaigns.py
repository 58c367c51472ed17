"""Campaigns on the simulated board: what its "networks" cost is written into the files that take the place of ONNX.

Run as a program it is the process that a test kills: ``python -m tests.profilers.campaigns OUT FAKE_BOARD_FOLDER``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgeperf.profilers import Summary, profile
from edgeperf.profilers.progress import Progress
from edgeperf.records import Plan

PLAN = Plan(timed_runs=20, repeats=4, idle_s=0.6, timeout_s=20.0, sample_period_ms=5)
MODELS = ("zoo:mobilenet-v1/MobileNet v1 0.25",)
SIZES = (96, 128, 160)
COSTS: dict[str, dict[str, Any]] = {
    "MobileNet-v1-0.25_96": {"ms": 2.0, "mw": 2000.0},
    "MobileNet-v1-0.25_128": {"ms": 4.0, "mw": 3000.0},
    "MobileNet-v1-0.25_160": {"ms": 8.0, "mw": 4000.0},
}


def run(out: Path, board: Path, *, costs: dict[str, dict[str, Any]] | None = None, **wanted: Any) -> Summary:
    """A campaign of three networks on the simulated board in the folder `board`."""

    def export(recipe: Path, target: Path, *, batch_size: int) -> None:
        name = json.loads(recipe.read_text())["name"]
        target.write_text(json.dumps({"name": name, "batch": batch_size, **COSTS[name], **(costs or {}).get(name, {})}))

    def ignore(_: Progress) -> None:
        return

    given = {"plan": PLAN, "input_sizes": SIZES, "boards": ["nano"], "resume": True, "progress": ignore, **wanted}
    with patch("edgeperf.profilers.onnx_export.export", export):
        return profile(
            MODELS,
            device="jetson-nano",
            out=out,
            ssh_config=board / "ssh_config",
            root=str(board / "root"),
            **given,
        )


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
