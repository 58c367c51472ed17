"""The cross-GPU predictor on tables whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.hardware import gpu
from edgeperf.ptx.cross_gpu import ALGORITHMS, HARDWARE, OneFactor, Recipe, fit, leave_one_out, one_factor, scores

NAMES = ("jetson-nano", "jetson-tx2", "jetson-agx-xavier", "p4", "v100")
RULE = OneFactor(work="macs", rate="peak_gflops")
PLAIN = ("macs", "params")


def table(rows: int = 60, noise: float = 0.0) -> pd.DataFrame:
    """Time = 3e-6 * macs / peak, exactly or with noise, for every network on every GPU."""
    random = np.random.default_rng(0)
    macs = 10 ** random.uniform(7, 10, rows)
    parts = []
    for name in NAMES:
        time = 3e-6 * macs / gpu(name).peak_gflops * np.exp(noise * random.standard_normal(rows))
        parts.append(
            pd.DataFrame({"gpu": name, "network": np.arange(rows), "macs": macs, "params": macs / 50, "time_ms": time})
        )
    return pd.concat(parts, ignore_index=True)


def test_the_one_factor_rule_is_exact_where_it_is_the_truth() -> None:
    found = leave_one_out(
        lambda known, wanted: one_factor(RULE, known, wanted, target="time_ms"), table(), target="time_ms", group="gpu"
    )
    assert scores(found)["mape"] == pytest.approx(0, abs=1e-9)
    assert set(found["left_out"]) == set(NAMES)
    assert len(found) == len(table())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_relative_recipes_reach_beyond_the_measured_gpus(algorithm: str) -> None:
    data = table(noise=0.02)
    recipe = Recipe(algorithm=algorithm, work=PLAIN, hardware=(), relative_to=RULE)
    plain = Recipe(algorithm=algorithm, work=PLAIN, hardware=("peak_gflops",))
    errors = []
    for item in (recipe, plain):
        found = leave_one_out(
            lambda known, wanted, item=item: fit(item, known, target="time_ms", seed=1).predict(wanted),
            data,
            target="time_ms",
            group="gpu",
        )
        errors.append(scores(found)["mape"])
    assert errors[0] < 5
    assert errors[0] < errors[1]


def test_power_that_follows_the_power_limit() -> None:
    data = table()
    data["power_mw"] = [400 * gpu(name).power_limit_w for name in data["gpu"]]
    rule = OneFactor(work=None, rate="power_limit_w", inverse=True)
    known, wanted = data[data["gpu"] != "v100"], data[data["gpu"] == "v100"]
    assert one_factor(rule, known, wanted, target="power_mw") == pytest.approx(400 * 250)


def test_importances_name_the_feature_that_matters() -> None:
    data = table()
    data["noise"] = np.random.default_rng(2).uniform(size=len(data))
    predictor = fit(
        Recipe(algorithm="random_forest", work=("noise", "macs"), hardware=("sms",)), data, target="macs", seed=1
    )
    found = predictor.importances()
    assert found is not None
    assert next(iter(found)) == "macs"
    assert sum(found.values()) == pytest.approx(1)
    line = fit(Recipe(algorithm="linear", work=("macs",), hardware=()), data, target="time_ms", seed=1)
    assert line.importances() is None


def test_scores_of_known_errors() -> None:
    found = scores(pd.DataFrame({"measured": [1.0, 2.0, 4.0], "predicted": [1.1, 2.0, 2.0]}))
    assert found["mape"] == pytest.approx(20)
    assert found["median_ape"] == pytest.approx(10)
    assert found["kendall_tau"] == pytest.approx(0.8165, abs=0.001)


def test_same_seed_same_predictor() -> None:
    data = table(noise=0.3)
    recipe = Recipe(algorithm="random_forest", work=PLAIN, hardware=tuple(HARDWARE))
    first, second = (fit(recipe, data, target="time_ms", seed=5).predict(data) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda data: data.drop(columns="params"), "no column 'params'"),
        (lambda data: data.assign(gpu="abacus"), "abacus"),
        (lambda data: data.assign(time_ms=0.0), "positive"),
    ],
)
def test_tables_that_cannot_be_used(change: object, what: str) -> None:
    recipe = Recipe(algorithm="linear", work=PLAIN, hardware=("cores",))
    with pytest.raises(InvalidInput, match=what):
        fit(recipe, change(table()), target="time_ms", seed=1)  # type: ignore[operator]
    with pytest.raises(InvalidInput, match="Unknown algorithm"):
        fit(Recipe(algorithm="oracle", work=PLAIN, hardware=()), table(), target="time_ms", seed=1)
