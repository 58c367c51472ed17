"""Measured tables of several GPUs → predictions for a GPU, or a network, that is not in them.

A row of such a table says what was done (work features: multiply-accumulates, parameters, executed PTX instructions,
...), on which GPU, and what was measured (time, power, energy, instructions per cycle). The GPU enters with the
figures of its data sheet (`edgeperf.hardware`). Two kinds of recipe:

* the paper's: decision tree, nearest neighbours, random forest, XGBoost or a line, on the plain numbers;
* relative ones: the same algorithms on logarithms, predicting by how much the measurement differs from what one factor
  says (work divided by the GPU's peak rate), so that a GPU outside the table's range is not a wall.

What no recipe can know is what the data sheet does not say: drivers, libraries, power modes. Judge one by leaving out
whole GPUs (`leave_one_out`), never by random rows.

Reference: Metz, Goli, Drechsler, ML-based Power Estimation of Convolutional Neural Networks on GPGPUs, DDECS 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from edgeperf.errors import InvalidInput
from edgeperf.hardware import GpuSpec, gpu

Floats = npt.NDArray[np.float64]

GPU_COLUMN = "gpu"

HARDWARE: dict[str, Callable[[GpuSpec], float]] = {
    "cores": lambda spec: spec.cores,
    "sms": lambda spec: spec.sms,
    "clock_mhz": lambda spec: spec.clock_mhz,
    "peak_gflops": lambda spec: spec.peak_gflops,
    "memory_bandwidth_gb_s": lambda spec: spec.memory_bandwidth_gb_s,
    "memory_gib": lambda spec: spec.memory_gib,
    "l2_kib": lambda spec: float("nan") if spec.l2_kib is None else spec.l2_kib,
    "registers_per_sm": lambda spec: spec.registers_per_sm,
    "power_limit_w": lambda spec: spec.power_limit_w,
}
"""Feature name → its value from a data sheet."""


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(min_samples_leaf=2, random_state=seed)


def _neighbours(seed: int) -> Any:
    del seed  # nothing here is drawn by chance
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), KNeighborsRegressor(n_neighbors=5, weights="distance"))


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=60, min_samples_leaf=2, random_state=seed, n_jobs=1)


def _boosted(seed: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(
        n_estimators=300,
        max_depth=5,
        learning_rate=0.07,
        subsample=0.8,
        random_state=seed,
        n_jobs=1,
        tree_method="hist",
    )


def _line(seed: int) -> Any:
    del seed
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), Ridge(alpha=1e-3))


ALGORITHMS: dict[str, Callable[[int], Any]] = {
    "decision_tree": _tree,
    "knn": _neighbours,
    "random_forest": _forest,
    "xgboost": _boosted,
    "linear": _line,
}
"""Name → estimator for a seed; those of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFactor:
    """What a single number of the data sheet says: ``constant * work / rate``, with the constant from the table.

    Attributes:
        work: column that says how much there is to do; None for quantities that do not grow with it, such as power.
        rate: name in `HARDWARE`; a quantity that grows with it (power with the power limit) has `inverse` set.
        inverse: whether the quantity grows with the rate.
    """

    work: str | None
    rate: str
    inverse: bool = False

    def shape(self, table: pd.DataFrame) -> Floats:
        """The quantity up to its constant, one per row."""
        rate = np.asarray([HARDWARE[self.rate](gpu(name)) for name in table[GPU_COLUMN]], dtype=np.float64)
        work = np.ones(len(table)) if self.work is None else _positive(table, self.work)
        return work * rate if self.inverse else work / rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a predictor is built.

    Attributes:
        algorithm: name in `ALGORITHMS`.
        work: columns that describe what is done.
        hardware: names in `HARDWARE`.
        relative_to: predict the ratio to this on logarithms; None predicts the plain number from plain numbers.
    """

    algorithm: str
    work: tuple[str, ...]
    hardware: tuple[str, ...]
    relative_to: OneFactor | None = None

    def features(self, table: pd.DataFrame) -> Floats:
        """One row per row of the table; work first, then hardware."""
        specs = [gpu(name) for name in table[GPU_COLUMN]]
        columns = [_column(table, name) for name in self.work]
        columns += [np.asarray([HARDWARE[name](spec) for spec in specs], dtype=np.float64) for name in self.hardware]
        matrix = np.column_stack(columns)
        return np.log1p(np.maximum(matrix, 0.0)) if self.relative_to is not None else matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossGpuPredictor:
    """A fitted recipe.

    Attributes:
        recipe: which.
        target: column that it predicts.
        estimator: fitted.
        constant: of the one-factor rule, as a logarithm; 0 where there is none.
    """

    recipe: Recipe
    target: str
    estimator: Any
    constant: float

    def predict(self, table: pd.DataFrame) -> Floats:
        """The target, one per row, in the unit of the table that it was fitted to."""
        raw = np.asarray(self.estimator.predict(self.recipe.features(table)), dtype=np.float64)
        if self.recipe.relative_to is None:
            return raw
        result: Floats = np.exp(raw + self.constant) * self.recipe.relative_to.shape(table)
        return result

    def importances(self) -> dict[str, float] | None:
        """Feature → share of the importance, largest first; None for algorithms that have none."""
        values = getattr(self.estimator, "feature_importances_", None)
        if values is None:
            return None
        pairs = zip((*self.recipe.work, *self.recipe.hardware), map(float, values), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))


def fit(recipe: Recipe, table: pd.DataFrame, *, target: str, seed: int) -> CrossGpuPredictor:
    """The recipe, fitted to all rows of a table.

    Raises:
        InvalidInput: a column is missing, a GPU is not known, or the target is not positive.
    """
    if recipe.algorithm not in ALGORITHMS:
        raise InvalidInput(f"Unknown algorithm {recipe.algorithm!r}. Known: {', '.join(ALGORITHMS)}.")
    measured = _positive(table, target)
    estimator = ALGORITHMS[recipe.algorithm](seed)
    if recipe.relative_to is None:
        estimator.fit(recipe.features(table), measured)
        return CrossGpuPredictor(recipe=recipe, target=target, estimator=estimator, constant=0.0)
    ratio = np.log(measured / recipe.relative_to.shape(table))
    constant = float(np.median(ratio))
    estimator.fit(recipe.features(table), ratio - constant)
    return CrossGpuPredictor(recipe=recipe, target=target, estimator=estimator, constant=constant)


def one_factor(rule: OneFactor, known: pd.DataFrame, wanted: pd.DataFrame, *, target: str) -> Floats:
    """The rule's predictions for `wanted`, with its constant from `known`: the baseline of every recipe."""
    constant = float(np.median(np.log(_positive(known, target) / rule.shape(known))))
    result: Floats = np.exp(constant) * rule.shape(wanted)
    return result


def leave_one_out(
    predict: Callable[[pd.DataFrame, pd.DataFrame], Floats], table: pd.DataFrame, *, target: str, group: str
) -> pd.DataFrame:
    """Predictions for every group of rows from all other groups.

    Args:
        predict: (known rows, wanted rows) → predictions for the wanted ones.
        table: all rows.
        target: measured column.
        group: column whose values are left out one after another, e.g. the GPU or the network.

    Returns:
        The table's rows with ``left_out``, ``measured`` and ``predicted``.
    """
    parts = []
    for value in sorted(table[group].unique()):
        wanted = table[table[group] == value]
        predicted = predict(table[table[group] != value], wanted)
        parts.append(wanted.assign(left_out=value, measured=wanted[target], predicted=predicted))
    found: pd.DataFrame = pd.concat(parts)
    return found


def scores(predictions: pd.DataFrame) -> Mapping[str, float]:
    """Errors of predictions against measurements: mean and median absolute percentage, and Kendall's tau."""
    from scipy.stats import kendalltau

    measured = predictions["measured"].to_numpy(dtype=np.float64)
    predicted = predictions["predicted"].to_numpy(dtype=np.float64)
    error = np.abs(predicted - measured) / measured * 100
    return {
        "n": len(error),
        "mape": float(error.mean()),
        "median_ape": float(np.median(error)),
        "kendall_tau": float(kendalltau(measured, predicted).statistic),
    }


def _column(table: pd.DataFrame, name: str) -> Floats:
    if name not in table.columns:
        raise InvalidInput(f"The table has no column {name!r}; it has {', '.join(map(str, table.columns))}.")
    return table[name].to_numpy(dtype=np.float64)


def _positive(table: pd.DataFrame, name: str) -> Floats:
    values = _column(table, name)
    if not bool((values > 0).all()):
        raise InvalidInput(f"Column {name!r} must be positive in every row.")
    return values
