"""The five algorithms of the paper behind one interface: parameters and a seed → an estimator to fit.

Every estimator learns the logarithm of the label from standardised logarithms of the features, because errors are
judged relatively. The paper takes logarithms for power alone; without them its polynomials err by more than 1000 %
on models that they were not fitted on.

Reference:
    Bouzidi et al. 2022, section 5 and Table 15 (ranges of the hyper-parameters).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.network import FEATURE_NAMES
from edgeperf.surrogates.arrays import Matrix, Vector
from edgeperf.surrogates.paper import paper_features

if TYPE_CHECKING:
    from edgeperf.surrogates.rows import Rows, Training

Params = Mapping[str, Any]

_SOLVER_STEPS: Final = 50_000
"""Where a support vector machine gives up; some corners of the published ranges never converge."""


class Trial(Protocol):
    """The part of an Optuna trial that search spaces use."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """A whole number."""
        ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """A number."""
        ...

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of several."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """One of the five.

    Attributes:
        name: as on the command line.
        suggest: draws parameters from the paper's ranges.
        build: makes an unfitted scikit-learn regressor from parameters and a seed.
    """

    name: str
    suggest: Callable[[Trial], dict[str, Any]]
    build: Callable[[Params, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedAlgorithm:
    """A fitted estimator of one of the five algorithms.

    Attributes:
        metric: what it predicts.
        selected: names of the paper's features that it reads.
        estimator: scikit-learn regressor of logarithms of the label.
    """

    metric: str
    selected: tuple[str, ...]
    estimator: Any

    def predict_rows(self, rows: Rows) -> Vector:
        """(rows,) in the metric's unit, from the paper's features."""
        names = paper_features(self.metric)
        return self._predict(rows.paper[:, [names.index(name) for name in self.selected]])

    def predict(self, features: Matrix) -> Vector:
        """(rows,) in the metric's unit, for features in the order of `FEATURE_NAMES`."""
        sources = ["input_width" if name == "input_size" else name for name in self.selected]
        return self._predict(features[:, [FEATURE_NAMES.index(name) for name in sources]])

    def _predict(self, selected: Matrix) -> Vector:
        logarithms: Vector = np.asarray(self.estimator.predict(selected), dtype=float)
        return np.exp(logarithms)


def fit_algorithm(
    name: str, training: Training, params: Params, *, selected: Sequence[str] | None = None, seed: int
) -> FittedAlgorithm:
    """The algorithm `name` fitted on the paper's features of the training rows.

    Args:
        name: a key of `ALGORITHMS`.
        training: rows of the metric and device.
        params: as `Algorithm.suggest` draws them.
        selected: which of the paper's features; all where None.
        seed: for whatever is random.

    Raises:
        InvalidInput: the name is unknown.
    """
    rows = training.rows
    names = paper_features(training.metric)
    chosen = tuple(selected or names)
    estimator = _pipeline(algorithm(name).build(params, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop early say so; the cross-validated error says it better
        estimator.fit(rows.paper[:, [names.index(name) for name in chosen]], np.log(rows.value))
    return FittedAlgorithm(metric=training.metric, selected=chosen, estimator=estimator)


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in ALGORITHMS:
        raise InvalidInput(f"Unknown algorithm {name!r}. Known: {', '.join(ALGORITHMS)}, physical, best.")
    return ALGORITHMS[name]


def _pipeline(estimator: Any) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    scaled = TransformedTargetRegressor(regressor=estimator, transformer=StandardScaler())
    return make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), scaled)


def _suggest_poly(trial: Trial) -> dict[str, Any]:
    return {"degree": trial.suggest_int("degree", 2, 20), "alpha": trial.suggest_float("alpha", 1e-8, 1, log=True)}


def _build_poly(params: Params, _seed: int) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="poly", coef0=1, **params)


def _suggest_svr(trial: Trial) -> dict[str, Any]:
    kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
    params = {
        "kernel": kernel,
        "C": trial.suggest_float("C", 0.5, 5000, log=True),
        "epsilon": trial.suggest_float("epsilon", 0.01, 5, log=True),
    }
    if kernel != "linear":
        params["gamma"] = trial.suggest_float("gamma", 0.01, 10, log=True)
    if kernel == "poly":
        params["degree"] = trial.suggest_int("degree", 2, 20)
    return params


def _build_svr(params: Params, _seed: int) -> Any:
    from sklearn.svm import SVR

    return SVR(coef0=1, max_iter=_SOLVER_STEPS, cache_size=500, **params)


def _suggest_mlp(trial: Trial) -> dict[str, Any]:
    return {
        "width": trial.suggest_int("width", 4, 72),
        "layers": trial.suggest_int("layers", 1, 5),
        "activation": trial.suggest_categorical("activation", ["identity", "logistic", "tanh", "relu"]),
        "solver": trial.suggest_categorical("solver", ["sgd", "adam"]),
        "learning_rate_init": trial.suggest_float("learning_rate_init", 1e-4, 1e-1, log=True),
        "learning_rate": trial.suggest_categorical("learning_rate", ["constant", "adaptive"]),
        "alpha": trial.suggest_float("alpha", 1e-6, 1e-1, log=True),
        "max_iter": trial.suggest_int("max_iter", 100, 3000),
        "early_stopping": trial.suggest_categorical("early_stopping", [False, True]),
    }


def _build_mlp(params: Params, seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    rest = dict(params)
    layers = (rest.pop("width"),) * rest.pop("layers")
    return MLPRegressor(hidden_layer_sizes=layers, random_state=seed, **rest)


def _suggest_rf(trial: Trial) -> dict[str, Any]:
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 500),
        "max_depth": trial.suggest_int("max_depth", 10, 300),
        "min_samples_split": trial.suggest_int("min_samples_split", 2, 10),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 10),
        "max_features": trial.suggest_categorical("max_features", ["sqrt", "log2", None]),
        "bootstrap": trial.suggest_categorical("bootstrap", [False, True]),
    }


def _build_rf(params: Params, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=seed, **params)


def _suggest_xgboost(trial: Trial) -> dict[str, Any]:
    return {
        "n_estimators": trial.suggest_int("n_estimators", 100, 3000, log=True),
        "max_depth": trial.suggest_int("max_depth", 5, 20),
        "min_child_weight": trial.suggest_int("min_child_weight", 5, 15),
        "subsample": trial.suggest_float("subsample", 0.1, 1),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.1, 1),
        "gamma": trial.suggest_float("gamma", 0.01, 10, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.9, log=True),
    }


def _build_xgboost(params: Params, seed: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=seed, n_jobs=1, verbosity=0, **params)


ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "poly": Algorithm(name="poly", suggest=_suggest_poly, build=_build_poly),
    "svr": Algorithm(name="svr", suggest=_suggest_svr, build=_build_svr),
    "mlp": Algorithm(name="mlp", suggest=_suggest_mlp, build=_build_mlp),
    "rf": Algorithm(name="rf", suggest=_suggest_rf, build=_build_rf),
    "xgboost": Algorithm(name="xgboost", suggest=_suggest_xgboost, build=_build_xgboost),
}
"""Name → algorithm, in the order of the paper's tables."""
