from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.fitting import fit_device
from edgeperf.layerwise.loops import Loop, host_ms_of, loop_of
from edgeperf.layerwise.memory import TensorMemory, twice_mean, two_largest
from edgeperf.layerwise.operations import operation_table
from edgeperf.layerwise.shares import predicted
from edgeperf.layerwise.stand_ins import as_measured
from edgeperf.layerwise.sums import DevicePredictor
from edgeperf.layerwise.workloads import EAGER_TRAINING, workloads
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network
from tests.layerwise.networks import ROOF, convolution, made_up_table, network_of, relu, small_network

KINDS = frozenset({"Conv2D", "relu", "Dense", "BatchNormalization", "GlobalAveragePooling2D"})


class PerElement:
    """A made-up truth: time in ms is a thousandth of the elements that an operation writes."""

    def fit(self, table: pd.DataFrame, labels: np.ndarray) -> PerElement:
        return self

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        return table["output_elements"].to_numpy(np.float64) / 1000


class Watts:
    def fit(self, table: pd.DataFrame, labels: np.ndarray) -> Watts:
        return self

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        return np.full(len(table), 5000.0)


def device(**changes: object) -> DevicePredictor:
    base = DevicePredictor(device="made-up", kinds=KINDS, latency=PerElement(), power=Watts(), roof=ROOF)
    return replace(base, **changes)


def test_a_network_is_the_sum_of_its_layers():
    cost = device().cost(small_network())
    assert cost.latency_ms == pytest.approx(sum(step.latency_ms for step in cost.steps))
    assert cost.energy_mj == pytest.approx(5.0 * cost.latency_ms)
    assert cost.power_mw == pytest.approx(5000.0)


def test_a_network_of_one_layer_equals_the_layer():
    layers = LayerNamespace()
    image = layers.Input((16, 16, 8))
    network = layers.Model(image, layers.Conv2D(4, 3, padding="same")(image))
    for loop in (Loop(), Loop(host_ms=7.0), Loop(idle_mw=1000.0, host_ms=0.1)):
        cost = device(loop=loop).cost(network)
        assert len(cost.steps) == 1
        assert cost.latency_ms == max(16 * 16 * 4 / 1000, loop.host_ms)


def test_permuting_layers_changes_nothing():
    network = small_network()
    turned = replace(network, layers=network.layers[::-1])
    predictor = device(loop=Loop(host_ms=3.0, idle_mw=800.0))
    assert predictor.cost(turned).latency_ms == pytest.approx(predictor.cost(network).latency_ms)
    assert predictor.cost(turned).energy_mj == pytest.approx(predictor.cost(network).energy_mj)


def test_a_network_takes_the_longer_of_its_kernels_and_the_host():
    network = small_network()
    kernels = device().cost(network).latency_ms
    count = len(device().cost(network).steps)
    assert device(loop=Loop(host_ms=0.001)).cost(network).latency_ms == pytest.approx(kernels)
    assert device(loop=Loop(host_ms=100.0)).cost(network).latency_ms == pytest.approx(100.0 * count)


def test_waiting_costs_idle_power_and_kernels_cost_the_rest():
    network = small_network()
    busy = device(loop=Loop(idle_mw=1000.0)).cost(network)
    waiting = device(loop=Loop(idle_mw=1000.0, host_ms=100.0)).cost(network)
    extra_s = (waiting.latency_ms - busy.latency_ms) / 1e3
    assert waiting.energy_mj - busy.energy_mj == pytest.approx(1000.0 * extra_s)


def test_the_table_of_layers_adds_up_and_gives_folded_layers_nothing():
    network = small_network()
    cost = device().cost(network)
    table = predicted(network, cost, ROOF)
    assert sum(layer.latency_ms for layer in table.layers) == pytest.approx(cost.latency_ms)
    assert sum(layer.energy_mj for layer in table.layers) == pytest.approx(cost.energy_mj)
    assert sum(layer.latency_share for layer in table.layers) == pytest.approx(1.0)
    assert next(layer for layer in table.layers if layer.name == "pad").latency_ms == 0
    assert table.dominant(1)[0].latency_ms == max(layer.latency_ms for layer in table.layers)
    assert sum(table.by_kind().values()) == pytest.approx(1.0)


def test_the_table_of_a_training_step_says_so_and_counts_the_work_three_times():
    network = small_network()
    once = predicted(network, device().cost(network), ROOF)
    step = predicted(network, device(fusion=EAGER_TRAINING).cost(network), ROOF)
    assert (once.phase, step.phase) == ("inference", "training")
    assert "training step" in step.note
    assert "training" not in once.note
    assert [layer.roofline_ms for layer in step.layers] == [3 * layer.roofline_ms for layer in once.layers]
    assert [layer.operations for layer in step.layers] == [3 * layer.operations for layer in once.layers]


@pytest.mark.parametrize(
    ("name", "rail"),
    [("tx2", "GPU-rail"), ("a30", "GPU-board"), ("host-cpu", "processor-package"), ("mine", None)],
)
def test_whose_energy_it_is_follows_from_the_device(name: str, rail: str | None):
    network = small_network()
    assert predicted(network, device(device=name).cost(network), ROOF).power_rail == rail
    assert predicted(network, device(device=name, power=None).cost(network), ROOF).power_rail is None


def test_a_network_that_runs_nothing_is_refused():
    layers = LayerNamespace()
    image = layers.Input((8,))
    with pytest.raises(InvalidInput, match="runs no operation"):
        device().cost(layers.Model(image, layers.Reshape((2, 4))(image)))


def test_kinds_that_were_not_measured_are_taken_for_a_pass_over_as_many_bytes():
    add = replace(relu(), kind="Add", inputs=2, input_elements=2 * 14 * 14 * 32)
    table = as_measured(operation_table([add, convolution()]), KINDS, training=False)
    assert table["kind"].tolist() == ["relu", "Conv2D"]
    assert table["input_elements"][0] + table["output_elements"][0] == add.input_elements + add.output_elements
    assert table.loc[1].to_dict() == operation_table([convolution()]).loc[0].to_dict()


@pytest.mark.parametrize(
    ("build", "like"),
    [
        (lambda n, x: n.Conv2DTranspose(8, 3, strides=2)(x), "Conv2D"),
        (lambda n, x: n.Attention()([n.Reshape((196, 32))(x), n.Reshape((196, 32))(x)]), "Dense"),
        (lambda n, x: n.Conv1D(8, 3)(n.Reshape((196, 32))(x)), "Conv2D"),
        (lambda n, x: n.DepthwiseConv1D(3)(n.Reshape((196, 32))(x)), "DepthwiseConv2D"),
    ],
    ids=["transposed", "attention", "sequence", "channel-wise sequence"],
)
def test_products_that_were_not_measured_stay_products_of_their_size(build, like):
    (op,) = [op for op in workloads([network_of(build, (14, 14, 32))]) if op.macs]
    asked = operation_table([op])
    found = as_measured(asked, frozenset({"Conv2D", "DepthwiseConv2D", "Dense", "relu"}), training=False)
    assert found["kind"].tolist() == [like]
    assert found.drop(columns="kind").equals(asked.drop(columns="kind"))
    assert as_measured(asked, frozenset({"relu"}), training=False).equals(asked)


def test_the_table_names_kinds_that_were_not_measured():
    def note(build):
        network = network_of(build, (14, 14, 32))
        return predicted(network, device().cost(network), ROOF).note

    told = note(lambda n, x: n.Conv2DTranspose(8, 3)(n.ReLU()(n.Conv2D(8, 3)(x))))
    assert "Conv2DTranspose" in told
    assert "relu" not in told
    assert "Not measured" not in note(lambda n, x: n.ReLU()(n.Conv2D(8, 3)(x)))


def test_a_separable_convolution_costs_what_its_two_parts_do():
    one = network_of(lambda n, x: n.SeparableConv2D(64, 3, padding="same", name="both")(n.ReLU()(x)))
    two = network_of(lambda n, x: n.Conv2D(64, 1)(n.DepthwiseConv2D(3, padding="same", use_bias=False)(n.ReLU()(x))))
    cost = device().cost(one)
    assert cost.latency_ms == device().cost(two).latency_ms
    assert [each.step.layer for each in cost.steps][1:] == ["both", "both"]


def test_without_a_stand_in_nothing_is_replaced():
    table = operation_table([relu()])
    assert as_measured(table, frozenset({"Conv2D"}), training=True).equals(table)


@pytest.mark.parametrize(
    ("kind", "inputs", "passes"), [("Add", 2, 3), ("Concatenate", 1, 2), ("gelu", 1, 5), ("Multiply", 1, 8)]
)
def test_a_stand_in_moves_the_bytes_of_a_training_step(kind: str, inputs: int, passes: int):
    elements = 32 * 14 * 14 * 100
    operation = replace(relu(14, 100), kind=kind, inputs=inputs, output_elements=elements)
    table = as_measured(
        operation_table([replace(operation, input_elements=inputs * elements)]), frozenset({"relu"}), training=True
    )
    # The stand-in itself makes 5 passes over a tensor of its size.
    assert 5 * table["input_elements"][0] == pytest.approx(passes * elements)
    assert table["input_elements"][0] == table["output_elements"][0]


def test_leaf_gradients_come_off_and_the_image_needs_no_gradient():
    table = operation_table([convolution()])
    leaves = int(table["input_elements"][0] + table["weights"][0])
    loop = Loop(leaf_ms=1e-6, passes=3.0)
    watts = np.array([5000.0])
    inside, energy = loop.kernels(
        table, np.array([10.0]), watts, roofline_ms=np.array([1.0]), reads_image=np.array([False])
    )
    assert inside[0] == pytest.approx(10.0 - 1e-6 * leaves)
    first, less = loop.kernels(
        table, np.array([10.0]), watts, roofline_ms=np.array([1.0]), reads_image=np.array([True])
    )
    assert first[0] == pytest.approx(inside[0] * 2 / 3)
    assert less[0] == pytest.approx(energy[0] * 2 / 3)


def test_gradients_added_up_behind_the_first_convolution_are_whole():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 1, name="first")(image)
    network = layers.Model(image, layers.Add()([layers.ReLU()(x), x]))
    found = device(fusion=EAGER_TRAINING, loop=Loop(passes=3.0)).cost(network)
    first = {each.step.operation.kind: each.latency_ms for each in found.steps if each.step.layer == "first"}
    assert first["Conv2D"] == pytest.approx(2 / 3 * 8 * 8 * 4 / 1000)
    # Three passes stand in for relu's five, over a tensor of as many elements.
    assert first["Add"] == pytest.approx(3 / 5 * 8 * 8 * 4 / 1000, rel=0.01)


def test_an_operation_near_its_floor_needs_the_roofline_at_most():
    table = operation_table([relu(2, 2)])
    loop = Loop(floor_ms={"relu": 0.15}, passes=3.0)
    found, energy = loop.kernels(
        table, np.array([0.16]), None, roofline_ms=np.array([0.004]), reads_image=np.array([False])
    )
    assert found[0] == pytest.approx(0.012)
    assert energy is None


def test_the_loop_is_read_off_the_identity_and_the_fastest_rows():
    rows = made_up_table(20)
    identity = rows.head(2).assign(kind="Identity", latency_ms=rows["input_elements"].head(2) * 2e-6, power_mw=4000.0)
    table = pd.concat([rows, identity], ignore_index=True)
    loop = loop_of(table, training=True, idle_mw=900.0)
    assert loop.leaf_ms == pytest.approx(2e-6)
    assert loop.leaf_mw == 4000.0
    assert loop.floor_ms["relu"] == rows.loc[rows["kind"] == "relu", "latency_ms"].min()
    assert loop_of(table, training=False, idle_mw=900.0).leaf_ms == 0


def test_without_the_power_of_leaf_gradients_there_is_no_energy():
    rows = made_up_table(20)
    table = pd.concat([rows, rows.head(1).assign(kind="Identity", power_mw=np.nan)], ignore_index=True)
    loop = loop_of(table, training=True, idle_mw=900.0)
    assert loop.leaf_mw is None
    cost = device(loop=loop, fusion=EAGER_TRAINING).cost(small_network())
    assert cost.latency_ms > 0
    assert cost.energy_mj is None


def test_the_host_takes_at_most_what_the_quickest_network_took_per_operation():
    assert host_ms_of(np.array([10, 100]), np.array([5.0, 20.0])) == 0.2


def test_a_fitted_device_recovers_a_made_up_truth():
    table = made_up_table(600).assign(batch_size=1)
    predictor = fit_device(table, device="made-up", roof=ROOF, training=False, idle_mw=0.0, seed=0)
    layers = LayerNamespace()
    x = image = layers.Input((28, 28, 64))
    for _ in range(4):
        x = layers.ReLU()(layers.Conv2D(64, 3, padding="same", use_bias=False)(x))
    network: Network = layers.Model(image, x)
    conv, act = convolution(in_height=28, in_channels=64, out_channels=64), relu(28, 64)
    compute = 2 * conv.macs / ROOF.peak_gflops / 1e6 + ROOF.launch_ms
    memory = 8 * act.output_elements / ROOF.bandwidth_gb_s / 1e6 + ROOF.launch_ms
    truth = 4 * (compute * (1.5 + 0.9) + memory * 1.5)
    assert predictor.cost(network).latency_ms == pytest.approx(truth, rel=0.1)


def test_a_few_rows_at_another_batch_size_teach_and_more_are_refused():
    table = made_up_table(40).assign(batch_size=[1] * 10 + [32] * 30)
    fit = partial(fit_device, device="made-up", roof=ROOF, training=False, idle_mw=0.0, seed=0)
    assert fit(table).batch_size == 32
    with pytest.raises(InvalidInput, match=r"mix batch sizes \[1, 32\]"):
        fit(table.assign(batch_size=[1] * 11 + [32] * 29))


def test_a_sibling_tells_what_was_not_measured_on_the_device():
    many = made_up_table(400).assign(batch_size=1)
    sibling = fit_device(many, device="known", roof=ROOF, training=False, idle_mw=0.0, seed=0)
    few = many[many["kind"] == "Conv2D"].head(12).reset_index(drop=True)
    twice = few.assign(latency_ms=2 * sibling.latency.predict(few), power_mw=3 * sibling.power.predict(few))
    predictor = fit_device(twice, device="new", roof=ROOF, training=False, idle_mw=0.0, sibling=sibling, seed=0)
    unseen = operation_table([relu(28, 64)])
    assert "relu" in predictor.kinds
    assert predictor.latency.predict(unseen) == pytest.approx(2 * sibling.latency.predict(unseen))
    assert predictor.power.predict(unseen) == pytest.approx(3 * sibling.power.predict(unseen))
    with pytest.raises(InvalidInput, match="Measure power there"):
        fit_device(
            twice, device="new", roof=ROOF, training=False, idle_mw=0.0, sibling=replace(sibling, power=None), seed=0
        )


def test_memory_rules():
    assert two_largest([5.0]) == 5.0
    assert two_largest([110.0, 130.0, 120.0], context_mib=100.0) == 150.0
    assert twice_mean([1.0, 3.0]) == 4.0
    with pytest.raises(InvalidInput, match="no layers"):
        twice_mean([])


def test_memory_of_an_operation_is_the_runtime_and_its_tensors():
    table = made_up_table(40)
    tensors = 4 * (table["input_elements"] + table["output_elements"] + table["weights"]) / 2**20
    found = TensorMemory().fit(table, (400 + tensors).to_numpy())
    assert found.context_mib == pytest.approx(400)
    assert found.predict(table) == pytest.approx((400 + tensors).to_numpy())
