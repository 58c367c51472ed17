"""Results of the benchmarks → the tables of README.md, between their markers.

python -m benchmarks.readme
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, markdown
from edgeperf.units import METRICS

README = Path(__file__).resolve().parents[1] / "README.md"
SPLITS = ("NIS", "NCV", "NCA")
BOARDS = {"jetson-nano": "Nano", "jetson-tx2": "TX2", "jetson-agx-xavier": "AGX Xavier"}


def main() -> None:
    """Rewrites README.md."""
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")


def with_tables(text: str) -> str:
    """`text` with every generated part made again."""
    return re.sub(
        r"(<!-- begin: accuracy -->\n).*?(<!-- end: accuracy -->)",
        lambda match: f"{match[1]}{accuracy()}{match[2]}",
        text,
        flags=re.DOTALL,
    )


def accuracy() -> str:
    """Errors of what ships per metric, split and board, beside the paper's, and how often the intervals hold."""
    figures = json.loads((RESULTS / "surrogates_accuracy.json").read_text(encoding="utf-8"))
    shipped = {
        (score["metric"], score["split"], score["device"]): score
        for score in figures["scores"]
        if score["algorithm"] == "best"
    }
    table = [
        {"": f"{METRICS[metric].label}, {split}"}
        | {board: _cell(shipped[metric, split, device]) for device, board in BOARDS.items()}
        for metric in METRICS
        for split in SPLITS
    ]
    rows = sum(score["n"] for score in shipped.values())
    ratio = figures["geometric_mean_ratio"]
    held = {cell: f"{percent:.0f} %" for cell, percent in figures["coverage90_pooled"].items()}
    return (
        f"{markdown(table)}\n"
        f"In percent; {rows:,} test rows of the `{figures['data']}` table. Error over the paper's best, geometric\n"
        f"mean: {ratio['NIS and NCV']:.2f} on NIS and NCV, {ratio['NCA']:.2f} on NCA, where the paper is still ahead.\n"
        f"The 90 % intervals hold for {held['latency_ms NIS']} (NIS) and {held['latency_ms NCV']} (NCV) of latencies,\n"
        f"{held['power_mw NIS']} and {held['power_mw NCV']} of powers; on NCA, flagged as out of the measured\n"
        f"range, for {held['latency_ms NCA']} and {held['power_mw NCA']}.\n"
        "Made by `python -m benchmarks.surrogates_accuracy`; more in\n"
        "[benchmarks/results](benchmarks/results/surrogates_accuracy.md).\n"
    )


def _cell(score: dict[str, Any]) -> str:
    return f"{score['mape']:.1f} ({score['paper_best']:.1f})"


if __name__ == "__main__":
    main()
