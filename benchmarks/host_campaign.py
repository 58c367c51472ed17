"""Measures zoo networks on this machine's CPU, and publishes the measurements as a dataset with a card.

    python benchmarks/host_campaign.py run        # interruptible; the same command goes on
    python benchmarks/host_campaign.py repeat     # all networks once more, in another campaign
    python benchmarks/host_campaign.py overhead   # processor share of the sampler
    python benchmarks/host_campaign.py publish    # writes benchmarks/results/host_cpu

Run it on a quiet machine. Splits are named as in Bouzidi et al. 2022: NIS holds one input size out, NCV variants of
families that are trained on, NCA whole families; they were chosen by name before anything was measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from record import machine, markdown, write_result

from edgeperf.datasets import Dataset, load
from edgeperf.profilers import profile
from edgeperf.profilers.board import Board, Job
from edgeperf.profilers.store import Finished, Store, write_atomically
from edgeperf.profilers.transport import Local
from edgeperf.records import Plan
from edgeperf.surrogates import evaluate
from edgeperf.zoo import FAMILIES

DEVICE = "host-cpu"
PLAN = Plan()
SIZES = (96, 128, 160, 192, 224)
LARGEST_MACS = 1.25e9
"""Keeps a network under about 0.1 s on two cores, and the campaign under an hour and a half."""
NEW_SIZE = 160
NEW_VARIANTS = frozenset(
    ("MobileNet v1 0.75", "MobileNet v2 1.3", "MobileNet v3 small 0.75", "EfficientNet-B3", "ResNet-34", "DenseNet-169")
)
NEW_FAMILIES = frozenset(("mnasnet", "shufflenet-v2", "xception", "googlenet"))
RUNS = Path(__file__).parents[1] / "runs"
FIRST, AGAIN = RUNS / "host-cpu", RUNS / "host-cpu-again"
RESULTS = Path(__file__).parent / "results" / "host_cpu"


def models_at(size: int) -> list[str]:
    """Specifications of the published networks that are small enough at this size."""
    return [
        f"zoo:{family.name}/{name}"
        for family in FAMILIES.values()
        for name, genes in family.published.items()
        if sum(layer.macs for layer in family.network({**genes, "input_size": size}).layers) <= LARGEST_MACS
    ]


def run(out: Path, limit: int | None) -> None:
    """Measures all networks, or `limit` per size."""
    for size in SIZES:
        models = models_at(size)[:limit]
        profile(models, device=DEVICE, out=out, plan=PLAN, input_sizes=[size], resume=True)


def overhead() -> None:
    """Lets the sampler read eight files every 20 ms for 20 s, as it reads an INA3221; tells its processor share."""
    with tempfile.TemporaryDirectory() as folder:
        board = Board(Local(Path(folder)))
        files = {f"RAIL_{n}": "/proc/loadavg" for n in range(7)} | {"MEMORY": "/proc/meminfo"}
        step = {"name": "run", "argv": ["sleep", "20"], "timeout_s": 60, "sample": True}
        sensor = {"files": files, "period_s": 0.02}
        recording, _ = board.measure(Job(id="overhead", files={}, steps=(step,), sensor=sensor, idle_s=0, timeout_s=60))
    found = recording["steps"][0]
    share = found["sampler_cpu_s"] / (found["end"] - found["begin"])
    figures = {"share_of_one_core": share, "readings": len(found["sensor"]), "files_per_reading": len(files)}
    write_result("sampler_overhead", figures, about=__doc__)
    print(f"sampler: {share:.2%} of one core")


def publish() -> None:
    """Writes the dataset, its card, what two runs agree to, and its evaluation."""
    store = Store(FIRST)
    finished = [each for each in store.finished() if each.measurement.status == "ok"]
    dataset = load(store.folder)
    rows = dataset.rows.assign(split=[_split(*key) for key in zip(*_keys(dataset), strict=True)])
    RESULTS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(RESULTS / "networks", ignore_errors=True)
    shutil.copytree(store.folder / "networks", RESULTS / "networks")
    shutil.copyfile(store.folder / "measurements.csv", RESULTS / "measurements.csv")
    replace(dataset, rows=rows, root=RESULTS).save(RESULTS)
    agreement = list(_agreement(finished))
    scores = [score.to_dict() for score in evaluate(RESULTS, metrics=["latency_ms"])]
    write_result("host_cpu/evaluation", {"rows": scores}, about=__doc__)
    write_result("host_cpu/repeatability", {"networks": agreement}, about=__doc__)
    best = [score for score in scores if score["algorithm"] == "best"]
    write_atomically(RESULTS / "CARD.md", _card(finished, agreement, best).encode())
    print(f"published {len(finished)} networks to {RESULTS}")


def _keys(dataset: Dataset) -> tuple[Any, Any, Any]:
    return dataset.rows["model"], dataset.rows["family"], dataset.rows["input_size"]


def _split(model: str, family: str, size: int) -> str:
    if family in NEW_FAMILIES:
        return "NCA"
    if model in NEW_VARIANTS:
        return "NCV"
    return "NIS" if size == NEW_SIZE else "train"


def _agreement(finished: list[Finished]) -> Iterator[dict[str, Any]]:
    """Both latencies of each network that was measured twice."""
    first = {each.key: each.measurement for each in finished}
    for again in Store(AGAIN).finished():
        one, two = first[again.key].latency_ms, again.measurement.latency_ms
        if one is not None and two is not None:
            spread = max(first[again.key].latency_spread or 0.0, again.measurement.latency_spread or 0.0)
            yield {
                "network": again.key,
                "first_ms": one,
                "second_ms": two,
                "apart": abs(two / one - 1),
                "spread": spread,
            }


def _card(finished: list[Finished], agreement: list[dict[str, Any]], scores: list[dict[str, Any]]) -> str:
    spreads = sorted(each.measurement.latency_spread or 0.0 for each in finished)
    apart = sorted(each["apart"] for each in agreement) or [float("nan")]
    remarks = [text for each in finished for text in each.measurement.warnings if text.startswith("no power")]
    rows = load(RESULTS).target(DEVICE, "latency_ms")
    return _CARD.format(
        networks=len(finished),
        sizes=", ".join(map(str, SIZES)),
        macs=LARGEST_MACS / 1e9,
        runs=PLAN.timed_runs,
        warm_up=PLAN.warmup_runs,
        power=remarks[0] if remarks else "see measurements.csv",
        machine=json.dumps(machine(), indent=1),
        splits=", ".join(f"{split} {count}" for split, count in rows["split"].value_counts().items()),
        new_size=NEW_SIZE,
        variants=", ".join(sorted(NEW_VARIANTS)),
        families=", ".join(sorted(NEW_FAMILIES)),
        median_spread=statistics.median(spreads),
        high_spread=spreads[int(0.9 * len(spreads))],
        twice=len(agreement),
        median_apart=statistics.median(apart),
        high_apart=apart[int(0.9 * len(apart))],
        most_apart=apart[-1],
        inside=sum(each["apart"] <= each["spread"] for each in agreement),
        errors=markdown([{"split": e["split"], "rows": e["n"], "MAPE, %": f"{e['mape']:.1f}"} for e in scores]),
    )


_CARD = """# Latency and memory of {networks} CNNs on a host CPU

Networks of edgeperf's zoo at {sizes} pixels, up to {macs} G multiply-accumulates; Keras with TensorFlow,
batch 1, float32, random weights. Latency is the mean of {runs} runs on as many random images after {warm_up} warm-up
runs, memory the process's peak while running. Power: {power}.

Rows by split: {splits}. NIS holds the size {new_size}, NCV {variants}, NCA {families}.

Spread: the standard deviation of the timed runs is {median_spread:.1%} of their mean in the median, and under
{high_spread:.1%} for 90 % of the networks. Measured twice, in two campaigns: {twice} networks; their latencies are
{median_apart:.1%} apart in the median, up to {high_apart:.1%} for 90 % of them and {most_apart:.1%} at most. {inside}
are no further apart than the spread of their own runs. The machine is a virtual one whose speed drifts over minutes,
and one of the campaigns ran while it did light other work: hold an error against {high_apart:.0%}, not against 0.

Error of the algorithm that `edgeperf train` takes by default, fitted on the training rows (all algorithms:
evaluation.json):

{errors}
```json
{machine}
```
"""


def main() -> None:
    """Parse the command and run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "repeat", "overhead", "publish"])
    parser.add_argument("--limit", type=int, help="networks per size, to try it out")
    given = parser.parse_args()
    if given.command in ("run", "repeat"):
        run(FIRST if given.command == "run" else AGAIN, given.limit)
    else:
        {"overhead": overhead, "publish": publish}[given.command]()


if __name__ == "__main__":
    main()
