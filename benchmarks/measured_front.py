"""Fronts chosen by predicted energy, scored by measured energy, among the networks that were measured on each Jetson.

    python -m benchmarks.measured_front [--data ../shared/data]

The networks are those with a published ImageNet top-1 accuracy at exactly the input size at which latency and GPU-rail
power were measured; energy is their product. One accuracy per network and size: Keras Applications' table first, then
its docstrings, then the classification models zoo, then timm. Hypervolume of (error, log energy), both scaled by the
true front's ranges, reference point (1.1, 1.1).

"shipped" predicts with the surrogates of the package, which were trained on most of these rows; "left out" fits them
again, five times, without all sizes of a fifth of the models, and predicts that fifth; scale parameters stay as tuned.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.record import write_result
from edgeperf.datasets import Dataset, load, shared_data
from edgeperf.surrogates import load as load_surrogates
from edgeperf.surrogates.physical import fit
from edgeperf.surrogates.rows import corpus
from edgeperf.units import energy_mj
from search.front import hypervolume, nondominated, scaled

Array = npt.NDArray[np.float64]

DEVICES = ("jetson-nano", "jetson-tx2", "jetson-agx-xavier")
FOLDS = 5
PREFERENCE = ("keras_applications_readme", "keras_applications_docstring", "qubvel_readme", "timm_results")


def accuracies(data: Path) -> pd.DataFrame:
    """One top-1 per measured model and input size: columns model, input_size, top1."""
    table = pd.read_csv(data / "imagenet_accuracy" / "imagenet_top1_for_measured_models.csv")
    table = table.dropna(subset=["bouzidi_model"])
    table["order"] = table["source"].map({source: place for place, source in enumerate(PREFERENCE)})
    table = table.sort_values("order", kind="stable").drop_duplicates(["bouzidi_model", "eval_size"])
    return table.rename(columns={"bouzidi_model": "model", "eval_size": "input_size"})[["model", "input_size", "top1"]]


def measured(dataset: Dataset, device: str, top1: pd.DataFrame) -> pd.DataFrame:
    """Networks with accuracy and measured energy: columns network, model, top1, energy."""
    keys = ["network", "model", "input_size"]
    latency, power = (
        dataset.target(device, metric).groupby(keys, as_index=False)["value"].median().rename(columns={"value": metric})
        for metric in ("latency_ms", "power_mw")
    )
    rows = latency.merge(power, on=keys).merge(top1, on=["model", "input_size"])
    rows["energy"] = [energy_mj(time, watts) for time, watts in zip(rows["latency_ms"], rows["power_mw"], strict=True)]
    return rows


def share_covered(rows: pd.DataFrame, predicted: Array) -> dict[str, Any]:
    """What the front by predicted energy covers, measured, of what the true front covers."""
    truth = np.column_stack((100 - rows["top1"], np.log(rows["energy"])))
    guess = np.column_stack((100 - rows["top1"], np.log(predicted)))
    front, chosen = truth[nondominated(truth)], truth[nondominated(guess)]
    low, high = front.min(axis=0), front.max(axis=0)
    reference = np.array([1.1, 1.1])
    whole = hypervolume(scaled(front, low, high), reference)
    return {
        "networks": len(rows),
        "true_front": len(front),
        "predicted_front": len(chosen),
        "hypervolume_percent": round(100 * hypervolume(scaled(chosen, low, high), reference) / whole, 2),
        "energy_mape": round(100 * float((np.abs(predicted - rows["energy"]) / rows["energy"]).mean()), 2),
    }


def left_out_energy(everything: Any, device: str, rows: pd.DataFrame, features: Array) -> Array:
    """Energy of each network by surrogates that saw none of its model's rows."""
    card = load_surrogates(device).trained["energy_mj"].card
    training = everything.training(device, "energy_mj")
    models = sorted(rows["model"].unique())
    predicted = np.empty(len(rows))
    for fold in range(FOLDS):
        held_out = models[fold::FOLDS]
        places = rows["model"].isin(held_out).to_numpy()
        predicted[places] = fit(training.without("model", held_out), card["params"]).predict(features[places])
    return predicted


def main() -> None:
    """Score every board and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=shared_data())
    data = parser.parse_args().data
    everything = corpus(load(data / "bouzidi"))
    top1 = accuracies(data)
    table = []
    for device in DEVICES:
        rows = measured(everything.dataset, device, top1)
        features = everything.table.of(rows["network"])
        known = ~np.isnan(features[:, 0])
        rows, features = rows[known].reset_index(drop=True), features[known]
        shipped = load_surrogates(device).predict_batch(features)["energy_mj"].value
        for how, predicted in (
            ("shipped", shipped),
            ("left out", left_out_energy(everything, device, rows, features)),
        ):
            table.append({"device": device, "surrogates": how, **share_covered(rows, predicted)})
            print(table[-1], flush=True)
    write_result("measured_front", {"rows": table}, about=__doc__, table=table)


if __name__ == "__main__":
    main()
