"""Faults in the published tables of Bouzidi et al. → rows that agree with each other.

Every rule here looks at features alone, never at a label, so that it may be applied to test rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from edgeperf.datasets.schema import PUBLISHED_FEATURES
from edgeperf.datasets.splits import SYNTHETIC, family_of
from edgeperf.units import FLOPS_PER_MAC, energy_mj

NOTES = (
    "AGX Xavier power table: params_dense, num_batch_norm and num_dense are one too high; put right.",
    "AGX Xavier power table: so are params_conv in training rows and params_batch_norm in test rows; put right.",
    "Where the graph is known, features come from it: the columns of five models are wrong.",
    "Synthetic networks measured for memory take the columns of the same network in the other tables.",
    "Test rows of networks that stand in the training rows of the same device and metric are left out.",
    "Energy rows exist where latency and power of the same network stand in the same split.",
)

CONTRADICTION = 0.05
"""A synthetic row contradicts itself where FLOPs and twice its multiply-accumulates differ by more than this."""


def repair(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with their network named and the known faults of the feature columns put right."""
    rows = rows.copy()
    rows["family"] = rows["model"].map(family_of)
    rows = _take_back_one(rows)
    rows["network"] = _network_names(rows)
    rows["arch_id"] = rows.groupby("network")["arch_id"].transform(
        lambda ids: ids.dropna().iloc[0] if ids.notna().any() else None
    )
    return _fill_from_same_network(rows)


def contradicts_itself(rows: pd.DataFrame) -> pd.Series:
    """True for synthetic rows without a graph whose published columns cannot all be right.

    For these networks the weighted sum of neurons is the multiply-accumulates of the convolutions, so FLOPs are about
    twice of it; a row where they are not, by more than 5 %, describes no network.
    """
    ratio = rows["flops"] / (FLOPS_PER_MAC * rows["weighted_neurons"])
    contradicts: pd.Series = (
        (rows["family"] == SYNTHETIC) & rows["arch_id"].isna() & (np.abs(ratio - 1.0) > CONTRADICTION)
    )
    return contradicts


def energy(rows: pd.DataFrame) -> pd.DataFrame:
    """Energy rows: latency times power of the same network on the same device, where both stand in the same split.

    Repeats of one network within a split are paired in their order.
    """
    key = ["device", "network", "split"]
    latency, power = (rows[rows["metric"] == metric].copy() for metric in ("latency_ms", "power_mw"))
    for side in (latency, power):
        side["repeat"] = side.groupby(key).cumcount()
    other = power[[*key, "repeat", "value"]].rename(columns={"value": "power"})
    joined = latency.merge(other, on=[*key, "repeat"])
    values = [energy_mj(ms, mw) for ms, mw in zip(joined["value"], joined["power"], strict=True)]
    return joined.assign(metric="energy_mj", value=values).drop(columns=["repeat", "power"])


def _take_back_one(rows: pd.DataFrame) -> pd.DataFrame:
    shifted = (rows["metric"] == "power_mw") & (rows["device"] == "jetson-agx-xavier")
    everywhere = ["params_dense", "num_batch_norm", "num_dense"]
    rows.loc[shifted, everywhere] -= 1
    rows.loc[shifted & (rows["split"] == "train"), "params_conv"] -= 1
    rows.loc[shifted & (rows["split"] != "train"), "params_batch_norm"] -= 1
    return rows


def _network_names(rows: pd.DataFrame) -> pd.Series:
    """Graph and size where the graph is known; with the activations for synthetic networks, whose names collide."""
    size = "@" + rows["input_size"].astype(str)
    synthetic = rows["family"] == SYNTHETIC
    of_graph = rows["arch_id"].where(rows["arch_id"].notna(), rows["model"]) + size
    return of_graph.where(~synthetic, rows["model"] + size + "/" + rows["activations"].map("{:.0f}".format))


def _fill_from_same_network(rows: pd.DataFrame) -> pd.DataFrame:
    """Empty feature columns of a network filled from its rows in other tables; the sum of parameters where absent."""
    for feature in PUBLISHED_FEATURES:
        if feature not in rows.columns:
            rows[feature] = np.nan
        rows[feature] = rows[feature].fillna(rows.groupby("network")[feature].transform("first"))
    by_kind = rows["params_conv"] + rows["params_batch_norm"] + rows["params_dense"]
    rows["params"] = rows["params"].fillna(by_kind)
    return rows
