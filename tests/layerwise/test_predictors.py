from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.algorithms import ALGORITHMS, predictions, regressor
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.predictors import OneForAll, PerKind, inliers
from edgeperf.layerwise.quantities import QUANTITIES, SIZES, one_hot, quantities, quantity_matrix
from edgeperf.layerwise.rivals import Paleo, Roofline, TemplateMatching
from edgeperf.layerwise.roofline import bound_by, roof_of, roofline_ms
from edgeperf.layerwise.validation import configurations, cross_predict, mape, score
from edgeperf.layerwise.workloads import steps
from tests.layerwise.networks import ROOF, convolution, made_up_table, network_of, relu

SCALE = partial(roofline_ms, roof=ROOF)


def test_work_without_products_counts_every_element_that_is_read_for_an_output():
    network = network_of(
        lambda n, x: n.Dense(2)(
            n.GlobalAveragePooling2D()(n.Add()([n.ReLU()(n.AveragePooling2D(2)(x)), n.AveragePooling2D(2)(x)]))
        )
    )
    found = {step.operation.kind: step.operation for step in steps(network)}
    counts = quantities(operation_table(found.values()))["operations"]
    assert dict(zip(found, counts.tolist(), strict=True)) == {
        "AveragePooling2D": 4 * 4 * 16 * 4,
        "relu": 4 * 4 * 16,
        "Add": 4 * 4 * 16,
        "GlobalAveragePooling2D": 4 * 4 * 16,
        "Dense": 2 * 16 * 2,
    }


def test_quantities_of_a_convolution_are_those_of_its_matrix_product():
    found = {name: values[0] for name, values in quantities(operation_table([convolution()])).items()}
    assert (found["rows"], found["columns"], found["depth"]) == (14 * 14, 64, 9 * 32)
    assert found["operations"] == 2 * 14 * 14 * 64 * 9 * 32
    assert found["tiles"] == 2  # 196 rows in tiles of 128, 64 columns in one of 64
    assert 0 < found["tile_fill"] <= 1


def test_a_bias_is_told_from_the_weights_of_a_product():
    conv = convolution()
    biased = replace(conv, weights=conv.weights + conv.out_channels)
    norm = replace(relu(), kind="BatchNormalization", weights=4 * 32)
    grouped = replace(conv, groups=2, weights=conv.weights // 2, macs=conv.macs // 2)
    batch = replace(conv, batch_size=8, macs=8 * conv.macs)
    table = operation_table([conv, biased, norm, grouped, batch])
    assert quantities(table)["has_bias"].tolist() == [False, True, False, False, False]


def test_every_quantity_is_finite_for_every_kind():
    assert np.isfinite(quantity_matrix(made_up_table())).all()
    assert set(SIZES) < set(QUANTITIES)


def test_widths_are_prime_from_eleven_on():
    table = operation_table([relu(side) for side in (7, 9, 11, 12, 13, 25, 29)])
    assert quantities(table)["prime_width"].tolist() == [0, 0, 1, 0, 1, 0, 1]


def test_flags_tell_what_applies():
    flags = one_hot(operation_table([convolution(), relu()]), ("Conv2D", "relu"))
    assert flags.tolist() == [[1, 0, 1, 1, 0], [0, 1, 0, 0, 0]]


def test_the_roofline_is_the_slower_of_arithmetic_and_memory():
    table = operation_table([convolution(in_height=64, in_channels=256, out_channels=256), relu(256, 64), relu(1, 1)])
    assert bound_by(table, ROOF) == ["compute", "memory", "launch"]
    expected = 2 * 64 * 64 * 9 * 256 * 256 / 1000e9 * 1e3 + ROOF.launch_ms
    assert roofline_ms(table, ROOF)[0] == pytest.approx(expected)
    roof = roof_of("jetson-tx2")
    assert (roof.peak_gflops, roof.bandwidth_gb_s) == (pytest.approx(665.856), 59.7)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_beats_the_mean_on_operations_it_has_not_seen(algorithm: str):
    table = made_up_table(160)
    labels = table["latency_ms"].to_numpy()
    make = partial(OneForAll, algorithm=algorithm, scale=SCALE, seed=0)
    found = cross_predict(make, table, labels, configurations(table), folds=3)
    assert mape(labels, found) < 20 < mape(labels, np.full(len(labels), labels.mean()))


def test_learning_the_ratio_to_the_roofline_extrapolates():
    table = made_up_table(400)
    small = (table["latency_ms"] < table["latency_ms"].quantile(0.8)).to_numpy()
    labels = table["latency_ms"].to_numpy()
    scaled = OneForAll(scale=SCALE, seed=0).fit(table[small], labels[small]).predict(table[~small])
    plain = OneForAll(seed=0).fit(table[small], labels[small]).predict(table[~small])
    assert mape(labels[~small], scaled) < 0.5 * mape(labels[~small], plain)


def test_one_model_per_kind_chooses_by_validation_and_falls_back_on_all_kinds():
    table = made_up_table(120)
    predictor = PerKind(algorithms=("linear", "tree"), scale=SCALE, seed=0)
    predictor.fit(table, table["latency_ms"].to_numpy())
    assert set(predictor.chosen) == {"Conv2D", "relu"}
    unknown = table.assign(kind="Add").head(3)
    assert (predictor.predict(unknown) > 0).all()


def test_an_isolation_forest_removes_the_row_that_is_far_off():
    matrix = np.vstack([np.random.default_rng(0).normal(size=(99, 3)), [[50.0, 50.0, 50.0]]])
    kept = inliers(matrix, 0.01, seed=0)
    assert not kept[-1]
    assert kept.sum() == 99
    with pytest.raises(InvalidInput, match="share of outliers"):
        inliers(matrix, 0.9, seed=0)


def test_paleo_adds_reading_arithmetic_and_writing():
    op = relu()
    table = operation_table([op])
    expected = (op.input_elements + op.output_elements) * 4 / 100e9 * 1e3 + op.output_elements / 1000e9 * 1e3
    assert Paleo(ROOF, fitted=False).predict(table)[0] == pytest.approx(expected)


@pytest.mark.parametrize("rival", [Paleo, Roofline])
def test_a_fitted_factor_is_the_median_ratio(rival: type[Paleo] | type[Roofline]):
    table = made_up_table()
    bare = rival(ROOF, fitted=False).fit(table, np.ones(len(table))).predict(table)
    assert np.allclose(rival(ROOF, fitted=True).fit(table, 3.0 * bare).predict(table), 3.0 * bare)


def test_template_matching_gives_back_what_it_has_seen_and_keeps_to_the_kind():
    table = made_up_table(60)
    labels = table["latency_ms"].to_numpy()
    matched = TemplateMatching().fit(table, labels)
    distinct = ~table.duplicated().to_numpy()
    assert np.allclose(matched.predict(table)[distinct], labels[distinct])
    own = matched.predict(operation_table([relu(500, 512)]))[0]
    assert own in labels[(table["kind"] == "relu").to_numpy()]


def test_no_configuration_stands_on_both_sides_of_a_split():
    table = made_up_table(40)
    doubled = table.loc[table.index.repeat(2)].reset_index(drop=True)
    groups = configurations(doubled)
    seen: list[set[int]] = []

    class Spy:
        def fit(self, part, labels):
            self.trained = set(configurations_of(part))
            return self

        def predict(self, part):
            seen.append(self.trained & set(configurations_of(part)))
            return np.ones(len(part))

    def configurations_of(part):
        return part["latency_ms"].round(12).tolist()

    cross_predict(Spy, doubled, doubled["latency_ms"].to_numpy(), groups, folds=5)
    assert len(seen) == 5
    assert not any(seen)


def test_scores_against_closed_forms():
    found = score(np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 2.0]))
    assert found.mape == pytest.approx((10 + 0 + 50) / 3)
    assert found.median == pytest.approx(10)
    assert found.r2 == pytest.approx(1 - (0.01 + 4) / (((np.array([1, 2, 4]) - 7 / 3) ** 2).sum()))
    with pytest.raises(InvalidInput, match="no rows"):
        score(np.empty(0), np.empty(0))


@pytest.mark.parametrize("algorithm", ["ert", "rf", "xgboost", "linear"])
def test_predictions_are_those_of_the_library(algorithm: str):
    chance = np.random.default_rng(0)
    matrix = chance.normal(size=(60, 3))
    model = regressor(algorithm, 0).fit(matrix, matrix[:, 0] ** 2)
    assert predictions(model, matrix[::2]) == pytest.approx(model.predict(matrix[::2]), rel=1e-6)


def test_unknown_algorithms_are_refused():
    table = made_up_table(20)
    with pytest.raises(InvalidInput, match="Known algorithms: ert"):
        OneForAll(algorithm="magic", seed=0).fit(table, table["latency_ms"].to_numpy())
