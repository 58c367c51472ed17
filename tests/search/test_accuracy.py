"""Published accuracies, and the predictor in between."""

import csv

import numpy as np
import pytest

from edgeperf.network import FEATURE_NAMES, features
from edgeperf.zoo import family
from search.accuracy import TabularAccuracy, published_accuracy, published_rows
from search.accuracy_predictor import AccuracyPredictor
from search.space import Candidate


@pytest.fixture(scope="module")
def source():
    return published_accuracy()


def rated(source, name, genes):
    values = features(family(name).network(genes)).values
    row = np.array([[values[feature] for feature in FEATURE_NAMES]])
    return source([Candidate(family=family(name), genes=genes)], row)


def test_a_published_network_has_its_published_accuracy(source):
    found = rated(source, "mobilenet-v2", {**family("mobilenet-v2").published["MobileNet v2 0.5"], "input_size": 160})
    assert found.provenance == ("published",)
    assert (found.value[0], found.low[0], found.high[0]) == (61.0, 61.0, 61.0)


def test_a_size_between_two_published_ones_lies_between_them(source):
    genes = family("mobilenet-v2").published["MobileNet v2 1.0"]
    found = rated(source, "mobilenet-v2", {**genes, "input_size": 208})
    assert found.provenance == ("predicted",)
    assert 70.7 < found.value[0] < 71.8
    assert found.low[0] < found.value[0] < found.high[0]


def test_what_is_shared_tells_a_family_the_effect_of_an_input_size_it_was_never_published_at(source):
    genes = family("resnet").published["ResNet-50"]
    small, large = (rated(source, "resnet", {**genes, "input_size": size}).value[0] for size in (128, 192))
    assert small + 2 < large < 76.13


def test_a_family_without_published_rows_gets_a_wider_interval(source):
    inputs = np.log([[3e8, 3.5e6, 224, 52]])
    known, unknown = (source._predictor.predict(inputs, np.array([name])) for name in ("mobilenet-v2", "mine"))
    assert unknown[2] - unknown[1] > 1.5 * (known[2] - known[1])


def test_leaving_one_out_in_closed_form_equals_fitting_without_it():
    rng = np.random.default_rng(0)
    inputs, families = rng.normal(size=(14, 4)), np.array(["a", "b"] * 7)
    top1 = 70 + 4 * inputs[:, 0] + rng.normal(size=14)
    whole = AccuracyPredictor(inputs, families, top1)
    errors = []
    for left_out in range(14):
        rest = np.arange(14) != left_out
        covariance = whole._covariance(whole._theta)
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], whole._targets[rest])
        odds = covariance[left_out, rest] @ weights + whole._mean
        errors.append(abs(100 / (1 + np.exp(-odds)) - top1[left_out]))
    assert whole.errors().leave_one_out == pytest.approx(np.mean(errors), rel=1e-6)


def test_the_error_is_stated_with_the_source(source):
    assert "points mean absolute error" in source.description
    assert source._predictor.errors().leave_one_out < 1.0


def test_intervals_hold_nine_in_ten_of_the_rows_left_out(source):
    predictor = source._predictor
    doubt = np.sqrt(1 / np.diag(predictor._inverse))
    standardised = (predictor._weights / np.diag(predictor._inverse)) / doubt
    assert 0.82 <= (np.abs(standardised) <= 1.6449).mean() <= 0.98


def test_every_published_row_names_its_source():
    rows = published_rows()
    assert len(rows) > 70
    assert all(len(row.source) > 20 and 40 < row.top1_percent < 90 for row in rows)


@pytest.mark.data
def test_the_typed_table_agrees_with_another_copy(shared_data):
    with (shared_data / "imagenet_accuracy" / "imagenet_top1_for_measured_models.csv").open() as lines:
        copy = {}
        for row in csv.DictReader(lines):
            copy.setdefault((row["bouzidi_model"], int(row["eval_size"])), []).append(float(row["top1"]))
    compared = 0
    for row in published_rows():
        if row.family in ("mobilenet-v2", "efficientnet", "senet"):
            model = row.network.replace("MobileNet v2 ", "MobileNet").replace("SE-R", "SER")
            others = copy.get((f"{model}-v2" if row.family == "mobilenet-v2" else model, row.genes["input_size"]), [])
            compared += 1
            assert min(abs(other - row.top1_percent) for other in others) < 0.05, row
    assert compared > 30


def test_a_table_without_the_network_says_which():
    genes = {**family("xception").published["Xception"], "input_size": 288}
    candidate = Candidate(family=family("xception"), genes=genes)
    with pytest.raises(ValueError, match=r"does not hold xception"):
        TabularAccuracy({}, "empty")([candidate], np.empty((1, 0)))
