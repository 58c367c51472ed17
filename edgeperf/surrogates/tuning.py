"""Training rows and a number of trials → the parameters that err least on networks that were held out.

Optuna proposes, grouped cross-validation judges, and a trial that starts worse than the median of those before it is
stopped. A study is run by one process, so that a seed repeats; studies of different targets may run side by side and
share a database. A study that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import optuna

from edgeperf.surrogates.algorithms import Params, algorithm, fit_algorithm
from edgeperf.surrogates.configuration import DEFAULTS, PHYSICAL, Configuration, tune_physical
from edgeperf.surrogates.paper import paper_features
from edgeperf.surrogates.rows import Training
from edgeperf.surrogates.validation import cross_validate, held_out_groups

FOLDS: Final = 3
_WARM_UP_TRIALS: Final = 5
_HOPELESS: Final = 1e6
"""Percent; stands for errors that are no number."""
_TOLERANCE: Final = 0.01
"""A feature stays when it lowers the error by at least this share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What tuning found.

    Attributes:
        configuration: how to fit.
        cv_mape: percent, on held-out models.
        trials: how many parameters were tried in all.
        seconds: wall time.
    """

    configuration: Configuration
    cv_mape: float
    trials: int
    seconds: float


def tune(
    name: str,
    training: Training,
    *,
    trials: int,
    seed: int,
    storage: str | None = None,
    selected: Sequence[str] | None = None,
) -> Tuned:
    """The best parameters of one algorithm for the training rows.

    Args:
        name: an algorithm.
        training: rows of one device and metric.
        trials: how many in all, those of an interrupted study counted.
        seed: of the sampler and of the folds.
        storage: where the study is kept, e.g. ``sqlite:///studies.db`` or ``postgresql+pg8000://...``; None: in memory.
        selected: names of features, as `select_features` finds them; all where None.
    """
    start = time.perf_counter()
    if name == PHYSICAL:
        found = Configuration(algorithm=PHYSICAL, params=tune_physical(training))
        return Tuned(configuration=found, cv_mape=_error(found, training, seed), trials=1, seconds=_since(start))
    study = _study(name, training, storage=storage, seed=seed)
    open_trials = trials - sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))
    if open_trials > 0:
        study.optimize(lambda trial: _judge(trial, name, training, selected, seed), n_trials=open_trials)
    params = _full_params(name, study.best_params)
    found = Configuration(algorithm=name, params=params, selected=tuple(selected) if selected else None)
    return Tuned(configuration=found, cv_mape=float(study.best_value), trials=trials, seconds=_since(start))


def select_features(training: Training, *, seed: int) -> tuple[str, ...]:
    """Features in the order of XGBoost's importance, as long as each lowers the held-out error.

    Reference: Bouzidi et al. 2022, section 5.3 (forward stepwise selection, MAPE as the stopping rule).
    """
    names = paper_features(training.metric)
    fitted = fit_algorithm("xgboost", training, DEFAULTS["xgboost"], seed=seed)
    importance = fitted.estimator[-1].regressor_.feature_importances_
    chosen: tuple[str, ...] = ()
    best = np.inf
    for place in np.argsort(-importance, kind="stable"):
        candidate = (*chosen, names[int(place)])
        error = _error(
            Configuration(algorithm="xgboost", params=DEFAULTS["xgboost"], selected=candidate), training, seed
        )
        if error < best * (1 - _TOLERANCE):
            chosen, best = candidate, error
    return chosen


def _study(name: str, training: Training, *, storage: str | None, seed: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name=f"{training.rows.device} {training.metric} {name} seed {seed}",
        storage=storage,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_WARM_UP_TRIALS),
        load_if_exists=True,
    )
    if not study.get_trials(deepcopy=False):
        study.enqueue_trial(DEFAULTS[name])
    return study


def _judge(trial: optuna.Trial, name: str, training: Training, selected: Sequence[str] | None, seed: int) -> float:
    """Mean absolute percentage error over the folds; infinite where the solver leaves the numbers."""
    params = algorithm(name).suggest(trial)
    errors: list[float] = []
    for fold, held in enumerate(held_out_groups(training, "model", folds=FOLDS, seed=seed)):
        errors.extend(_fold_errors(name, training, params, selected, held, seed))
        trial.report(float(np.mean(errors)), fold)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(errors))


def _fold_errors(
    name: str, training: Training, params: Params, selected: Sequence[str] | None, held: set[Any], seed: int
) -> list[float]:
    rows = training.rows.take(np.isin(training.rows.model, list(held)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an overflow is an infinite error, which the study can rank
        try:
            fitted = fit_algorithm(name, training.without("model", held), params, selected=selected, seed=seed)
            errors = 100 * np.abs(fitted.predict_rows(rows) / rows.value - 1)
        except (ValueError, np.linalg.LinAlgError):
            return [_HOPELESS] * len(rows)
    return list(np.where(np.isfinite(errors), np.minimum(errors, _HOPELESS), _HOPELESS))


def _error(found: Configuration, training: Training, seed: int) -> float:
    def no_distance(_: Training, rows: Any) -> Any:
        return np.zeros(len(rows))

    return cross_validate(training, found.fit, no_distance, protocol="model", folds=FOLDS, seed=seed).mape


def _full_params(name: str, found: Params) -> dict[str, Any]:
    """The study's best parameters in the form that `Algorithm.build` takes."""
    return algorithm(name).suggest(optuna.trial.FixedTrial(dict(found)))


def _since(start: float) -> float:
    return time.perf_counter() - start
