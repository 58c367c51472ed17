"""Name → a fresh regression algorithm; the one home of what "ert" or "knn" means here.

All of them read logarithms of quantities and fit a logarithm (or a plain target), so distances and slopes are relative.

Reference: the seven of Sponner et al., Electronics 2022, section 3.4; random forest and XGBoost of Nicolai 2025.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeperf.errors import InvalidInput


def _ert(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(n_estimators=100, max_features=1.0, n_jobs=1, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=150, max_features=0.5, n_jobs=1, random_state=seed)


def _xgboost(seed: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(
        n_estimators=400,
        max_depth=6,
        learning_rate=0.05,
        subsample=0.8,
        colsample_bytree=0.6,
        n_jobs=1,
        random_state=seed,
    )


def _knn(seed: int) -> Any:  # noqa: ARG001 - every algorithm takes a seed; this one has no chance in it
    from sklearn.neighbors import KNeighborsRegressor

    return _scaled(KNeighborsRegressor(n_neighbors=3, weights="distance"))


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(min_samples_leaf=2, random_state=seed)


def _linear(seed: int) -> Any:  # noqa: ARG001
    from sklearn.linear_model import Ridge

    return _scaled(Ridge(alpha=1.0))


def _mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    return _scaled(
        MLPRegressor(hidden_layer_sizes=(64, 64), alpha=1e-3, solver="lbfgs", max_iter=400, random_state=seed)
    )


def _svr(seed: int) -> Any:  # noqa: ARG001
    from sklearn.svm import SVR

    return _scaled(SVR(C=30.0, epsilon=0.02, gamma="scale"))


def _scaled(regressor: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), regressor)


ALGORITHMS: dict[str, Callable[[int], Any]] = {
    "ert": _ert,
    "rf": _forest,
    "xgboost": _xgboost,
    "knn": _knn,
    "tree": _tree,
    "linear": _linear,
    "mlp": _mlp,
    "svr": _svr,
}
"""Extremely randomised trees, random forest, XGBoost, 3 nearest neighbours, decision tree, ridge, MLP, SVR."""


def predictions(model: Any, matrix: NDArray[Any]) -> NDArray[np.float64]:
    """What a fitted regressor predicts; forests tree by tree, without scikit-learn's checks and scheduling.

    These take 80 microseconds per tree, more than a tree itself does for the operations of a network.
    """
    trees = getattr(model, "estimators_", None)
    if trees is None:
        return np.asarray(model.predict(matrix), dtype=np.float64)
    rows = np.ascontiguousarray(matrix, dtype=np.float32)
    total = sum(tree.tree_.predict(rows)[:, 0] for tree in trees)
    return np.asarray(total / len(trees), dtype=np.float64)


def regressor(algorithm: str, seed: int) -> Any:
    """A fresh regressor.

    Raises:
        InvalidInput: there is no such algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise InvalidInput(f"Unknown algorithm {algorithm!r}. Known algorithms: {', '.join(ALGORITHMS)}.")
    return ALGORITHMS[algorithm](seed)
