"""Operations and whole networks on this machine's CPU: measured, predicted, and added up.

    python -m benchmarks.layerwise_host run        # measures; interruptible, the same command goes on
    python -m benchmarks.layerwise_host publish    # evaluates; writes results/host_operations

`run` needs the networks of `benchmarks/host_campaign.py`, measured on the same machine before. `CHOSEN` of them, evenly
spread by multiply-accumulates, are the whole networks. Operations are all of `COVERED` of these, which tells what the
sum of measured operations can reach, and a sample over the others.

`publish` scores every predictor twice: on operations, in cross-validation by configuration; and on networks, as sums
without any operation of the network among the training rows. The whole-network surrogate beside them is fitted on the
measured networks but those of the same model. There is no data sheet for this processor, so PALEO and roofline take the
speeds that the fastest measured operations reached.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.layerwise_sums import Known
from benchmarks.record import RESULTS, machine, write_result
from edgeperf.datasets import load
from edgeperf.layerwise.fitting import fit_measured, latency_maker
from edgeperf.layerwise.loops import without_calls
from edgeperf.layerwise.measurements import read_measured
from edgeperf.layerwise.measuring import profile_operations
from edgeperf.layerwise.operations import Operation, operation_table
from edgeperf.layerwise.predictors import OneForAll, OperationPredictor, PerKind
from edgeperf.layerwise.rivals import Paleo, Roofline, TemplateMatching
from edgeperf.layerwise.roofline import Roof, roof_reached
from edgeperf.layerwise.sampling import can_stand_alone, sample
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.validation import configurations, cross_predict, same_operation, score
from edgeperf.layerwise.workloads import COMPILED, EAGER, steps, workloads
from edgeperf.network import read_network
from edgeperf.profilers.blocks import BlockPlan
from edgeperf.profilers.store import write_atomically
from edgeperf.records import Network
from edgeperf.surrogates import evaluate

DEVICE = "host-cpu"
SEED = 0
FOLDS = 10
CHOSEN = 40
COVERED = 10
SAMPLED = 400
NETWORKS = RESULTS / "host_cpu"
OPERATIONS = RESULTS / "host_operations"
RUNS = Path(__file__).parents[1] / "runs" / "host-operations"
Measured = tuple[str, Network, float]
"""Model, network, latency in ms."""


def main() -> None:
    """Parse the command and run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "publish"])
    {"run": run, "publish": publish}[parser.parse_args().command]()


def run() -> None:
    """Measures the operations."""
    profile_operations(wanted(), device=DEVICE, out=RUNS, resume=True)


def wanted() -> list[Operation]:
    """All operations of the covered networks, then a sample over the others."""
    chosen = [network for _, network, _ in measured_networks()]
    covered = chosen[:: CHOSEN // COVERED]
    others = [network for network in chosen if network not in covered]
    own = workloads(covered, fusion=EAGER) + workloads(covered, fusion=COMPILED)
    drawn = sample(others, SAMPLED, batch_size=1, fusion=EAGER, seed=SEED)
    return list(dict.fromkeys([*filter(can_stand_alone, own), *drawn]))


def measured_networks() -> list[Measured]:
    """`CHOSEN` of the measured networks, evenly spread by multiply-accumulates."""
    rows = load(NETWORKS).target(DEVICE, "latency_ms")
    found = [
        (row.model, read_network(NETWORKS / row.model_file, input_size=row.input_size), float(row.value))
        for row in rows.itertuples()
    ]
    found.sort(key=lambda each: sum(layer.macs for layer in each[1].layers))
    return [found[index * len(found) // CHOSEN] for index in range(CHOSEN)]


def publish() -> None:
    """Evaluates operations and sums, and keeps the measured table beside."""
    OPERATIONS.mkdir(exist_ok=True)
    shutil.copyfile(RUNS / "operations.csv", OPERATIONS / "operations.csv")
    table = read_measured(OPERATIONS)
    rows = without_calls(table)
    roof = roof_reached(rows, device=DEVICE)
    on_operations = list(_operations(rows, roof))
    networks = list(_networks(table, rows))
    summary = _summary(networks)
    figures = {"seed": SEED, "measured": len(table), "call_ms": _call_ms(table), "roof": asdict(roof)}
    write_result("host_operations/operations", {**figures, "rows": on_operations}, about=__doc__, table=on_operations)
    write_result(
        "host_operations/networks", {**figures, "summary": summary, "rows": networks}, about=__doc__, table=summary
    )
    write_atomically(OPERATIONS / "CARD.md", _card(table).encode())


def _card(table: pd.DataFrame) -> str:
    plan, failed = BlockPlan(), len(pd.read_csv(OPERATIONS / "operations.csv")) - len(table)
    errors = table["latency_error_ms"] / table["latency_ms"]
    return _CARD.format(
        rows=len(table),
        kinds=table["kind"].nunique(),
        failed=failed,
        covered=COVERED,
        sampled=SAMPLED,
        least_s=plan.least_s,
        median_error=float(errors.median()),
        high_error=float(errors.quantile(0.9)),
        call_ms=_call_ms(table),
        machine=json.dumps(machine(), indent=1),
    )


_CARD = """# Latency of {rows} operations on a host CPU

Operations of {kinds} kinds at batch size 1, inference, float32, random weights, measured by `edgeperf operations` with
Keras on TensorFlow: all operations of {covered} networks of the zoo, and {sampled} sampled from others; {failed}
failed. Instances with weights and inputs of their own are cycled for {least_s} s after a warm-up; timings beyond three
standard deviations are dropped. Power: this machine has no counters.

`latency_error_ms` is the standard error over timings: {median_error:.1%} of the latency in the median, under
{high_error:.1%} for 90 %. A call that computes nothing (kind Identity) takes {call_ms:.3f} ms, which every row holds
and `edgeperf.layerwise.loops.without_calls` takes off. The machine is a virtual one whose speed drifts over minutes;
see the card of the networks in ../host_cpu. 43 operations (concatenations of unequal parts, products with a gate,
normalisations without a factor) were measured some hours after the others, when 40 of those took 12 to 15 % longer in
the median.

[How far predictors err on them](operations.md), and [on networks as their sums](networks.md).

```json
{machine}
```
"""


def _call_ms(table: pd.DataFrame) -> float:
    return float(table.loc[table["kind"] == "Identity", "latency_ms"].min())


def _makers(roof: Roof) -> dict[str, Callable[[], OperationPredictor]]:
    scale = latency_maker(roof, seed=SEED).keywords["scale"]
    return {
        "one for all, ERT": latency_maker(roof, seed=SEED),
        "one for all, XGBoost": partial(OneForAll, algorithm="xgboost", scale=scale, seed=SEED),
        "per kind, ERT": partial(PerKind, algorithms=("ert",), scale=scale, seed=SEED),
        "template matching": TemplateMatching,
        "PALEO": partial(Paleo, roof, fitted=False),
        "PALEO, factor fitted": partial(Paleo, roof, fitted=True),
        "roofline": partial(Roofline, roof, fitted=False),
        "roofline, factor fitted": partial(Roofline, roof, fitted=True),
    }


def _operations(rows: pd.DataFrame, roof: Roof) -> Iterator[dict[str, Any]]:
    labels, groups = rows["latency_ms"].to_numpy(np.float64), configurations(rows)
    for name, make in _makers(roof).items():
        errors = score(labels, cross_predict(make, rows, labels, groups, folds=FOLDS))
        yield {
            "predictor": name,
            "operations": errors.n,
            "R2": round(errors.r2, 3),
            "MAPE %": round(errors.mape, 1),
            "median %": round(errors.median, 1),
            "within 10 %": round(errors.within_10),
        }


def _networks(table: pd.DataFrame, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    base, measured = fit_measured(table, device=DEVICE, seed=SEED), measured_networks()
    keys = same_operation(rows)
    for model, network, latency_ms in track(measured, "networks"):
        for fusion_name, fusion in (("folded", COMPILED), ("layer by layer", EAGER)):
            own = operation_table(step.operation for step in steps(network, fusion=fusion))
            covered = same_operation(own).isin(set(keys))
            left = rows[~keys.isin(set(same_operation(own)))].reset_index(drop=True)
            roof = roof_reached(left, device=DEVICE)
            unseen = replace(base, kinds=frozenset(left["kind"]), roof=roof)
            predictors = {name: make().fit(left, left["latency_ms"].to_numpy()) for name, make in _makers(roof).items()}
            if covered.mean() > 0.9:
                predictors["measured operations"] = Known(rows, rows["latency_ms"].to_numpy(), base.latency)
            for name, predictor in predictors.items():
                device: DevicePredictor = replace(unseen, latency=predictor, fusion=fusion)
                predicted = device.cost(network).latency_ms
                yield {
                    "model": model,
                    "input_size": network.input_shape[0],
                    "sum": fusion_name,
                    "predictor": name,
                    "operations": len(own),
                    "covered": float(covered.mean()),
                    "measured_ms": latency_ms,
                    "predicted_ms": predicted,
                    "error": predicted / latency_ms - 1,
                }
    yield from _surrogates(measured)


def _surrogates(measured: list[Measured]) -> Iterator[dict[str, Any]]:
    """The shipped configuration of the whole-network surrogate, fitted without any size of the models it predicts."""
    dataset = load(NETWORKS)
    models = sorted({model for model, _, _ in measured})
    known = {(model, network.input_shape[0]): latency_ms for model, network, latency_ms in measured}
    for fold in range(FOLDS):
        held = dataset.rows["model"].isin(models[fold::FOLDS])
        split = replace(dataset, rows=dataset.rows.assign(split=np.where(held, "NCV", "train")))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "predictions.csv"
            evaluate(split, metrics=["latency_ms"], algorithms=["best"], predictions=path)
            found = pd.read_csv(path)
        for row in found.itertuples():
            if (row.model, row.input_size) in known:
                yield {
                    "model": row.model,
                    "input_size": row.input_size,
                    "sum": "whole network",
                    "predictor": "surrogate, shipped configuration",
                    "measured_ms": row.measured,
                    "predicted_ms": row.predicted,
                    "error": row.predicted / row.measured - 1,
                }


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    frame = pd.DataFrame(rows)
    summary = []
    for (kind, predictor), part in frame.groupby(["sum", "predictor"], sort=False):
        errors = 100 * part["error"]
        summary.append(
            {
                "sum": kind,
                "predictor": predictor,
                "networks": len(part),
                "median error %": round(float(errors.abs().median()), 1),
                "MAPE %": round(float(errors.abs().mean()), 1),
                "bias (median) %": round(float(errors.median()), 1),
            }
        )
    return summary


if __name__ == "__main__":
    main()
