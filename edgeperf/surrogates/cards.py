"""A trained surrogate → its card, a page in Markdown for people."""

from __future__ import annotations

from edgeperf.surrogates.store import Trained
from edgeperf.units import METRICS

_PROTOCOLS = {
    "model": "models that it was not fitted on",
    "input_size": "image sizes that it was not fitted on",
    "left out": "each measurement, predicted from the others",
}


def card_text(trained: Trained) -> str:
    """The card in Markdown."""
    card, metric = trained.card, METRICS[trained.metric]
    errors = [
        f"| {_PROTOCOLS[protocol]} | {error:.1f} % | {_percent(card['cv_mape_in_range'].get(protocol))} |"
        for protocol, error in card["cv_mape"].items()
    ]
    ranges = [f"| {name} | {low:,.0f} | {high:,.0f} |" for name, (low, high) in card["ranges"].items()]
    low, high = (metric.format(value) for value in card["label_range"])
    fitted_on = (
        f"Fitted on {card['rows']} rows of {card['networks']} networks, {card['models']} models, "
        f"{len(card['families'])} families ({', '.join(card['families'])}); labels from {low} to {high}."
    )
    intervals = (
        f"90 % intervals: value / f to value x f; f = exp({trained.interval.base:.3f}) within the measured range"
        f"{_power_terms(trained)}, and {trained.interval.far:.3f} more in the exponent per unit of distance outside it."
    )
    lines = [
        f"# {metric.label} on {trained.device}",
        "",
        f"Algorithm: `{trained.algorithm}`. Predicts {metric.name} ({metric.unit}): {card['meaning']}.",
        "",
        f"Data: {card['data']}, {card['source']}. {card['cite']}. Licence: {card['licence']}.",
        f"Table: SHA-256 `{card['table_sha256']}`.",
        "",
        fitted_on,
        "",
        "| cross-validated on | mean absolute error | within the measured range |",
        "|---|---|---|",
        *errors,
        "",
        intervals,
        "",
        *_tested(trained),
        "| feature | least | most |",
        "|---|---|---|",
        *ranges,
        "",
        f"Seed {card['seed']}, Python {card['python']}, NumPy {card['numpy']}.",
        "",
    ]
    return "\n".join(lines)


def _percent(error: float | None) -> str:
    return "not known" if error is None else f"{error:.1f} %"


def _power_terms(trained: Trained) -> str:
    interval = trained.interval
    if not interval.step and not interval.near:
        return ""
    unit = METRICS[trained.metric].unit
    return (
        f", with {interval.step:.1f} {unit} / value and {interval.near:.3f} per unit of distance added in the exponent"
    )


def _tested(trained: Trained) -> list[str]:
    """A table of the test rows, where the data has any."""
    if not trained.card["tested"]:
        return []
    rows = [
        f"| {split} | {test['rows']} | {test['mape']:.1f} % | {test['coverage90']:.0f} % | {test['width90']:.0f} % |"
        for split, test in trained.card["tested"].items()
    ]
    head = "| test rows, not used in training | rows | mean absolute error | covered by 90 % intervals | median width |"
    return [head, "|---|---|---|---|---|", *rows, ""]
