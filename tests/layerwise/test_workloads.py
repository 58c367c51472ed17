from __future__ import annotations

from dataclasses import replace

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import operation
from edgeperf.layerwise.workloads import COMPILED, EAGER, EAGER_TRAINING, Fusion, steps, workloads
from edgeperf.network.builder import LayerNamespace
from tests.layerwise.networks import network_of, small_network


def kinds(**rules: bool) -> list[str]:
    return [step.operation.kind for step in steps(small_network(), fusion=replace(EAGER, **rules))]


def test_layer_by_layer_runs_everything_but_views_padding_and_dropout():
    assert kinds() == [
        "Conv2D",
        "BatchNormalization",
        "relu",
        "Conv2D",
        "relu",
        "Add",
        "GlobalAveragePooling2D",
        "Dense",
    ]


def test_training_runs_dropout_too():
    found = [step.operation.kind for step in steps(small_network(), fusion=EAGER_TRAINING)]
    assert found.count("Dropout") == 1


def test_training_adds_up_the_gradients_of_a_tensor_that_several_layers_read():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same")(image)
    network = layers.Model(image, [layers.Add()([layers.ReLU()(x), layers.ReLU()(x), x]), x])
    found = [(step.layer, step.operation.kind) for step in steps(network, fusion=EAGER_TRAINING)]
    stem, merge = network.layers[1].name, network.layers[-1].name
    assert found.count((stem, "Add")) == 2  # three layers read it; the network's output is given its gradient
    assert found.count((merge, "Add")) == 1
    sums = [step.operation for step in steps(network, fusion=EAGER_TRAINING) if step.layer == stem][:2]
    assert all(each.input_elements == 2 * each.output_elements == 2 * 8 * 8 * 4 for each in sums)
    assert [step.operation.kind for step in steps(network)].count("Add") == 1


def test_the_image_has_no_gradient_to_add_up():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    network = layers.Model(image, layers.Add()([layers.ReLU()(image), image]))
    assert [step.operation.kind for step in steps(network, fusion=EAGER_TRAINING)] == ["relu", "Add"]


def test_a_sigmoid_times_its_own_input_runs_as_one_swish():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 3)(image)
    gate = layers.Activation("sigmoid", name="gate")(x)
    y = layers.Conv2D(4, 1)(layers.Multiply()([gate, x]))
    squeezed = layers.Activation("sigmoid")(layers.Conv2D(4, 1)(y))
    network = layers.Model(image, layers.Multiply()([y, squeezed]))
    for fusion in (EAGER, EAGER_TRAINING):
        found = [step for step in steps(network, fusion=fusion) if step.operation.kind != "Add"]
        assert [step.operation.kind for step in found] == [
            *("Conv2D", "swish", "Conv2D", "Conv2D", "sigmoid", "Multiply")
        ]
        assert found[1].folded == ("gate",)
        assert found[1].operation.input_elements == found[1].operation.output_elements == 6 * 6 * 4
    sums = [step for step in steps(network, fusion=EAGER_TRAINING) if step.operation.kind == "Add"]
    assert len(sums) == 1  # of y, which a convolution and the gate read
    assert [step.operation.kind for step in steps(network, fusion=replace(EAGER, swish=False))][1:3] == [
        "sigmoid",
        "Multiply",
    ]


def test_a_compiler_folds_normalisation_and_activation():
    found = steps(small_network(), fusion=COMPILED)
    assert [step.operation.kind for step in found] == ["Conv2D", "Conv2D", "Add", "GlobalAveragePooling2D", "Dense"]
    assert found[0].folded == ("pad", "stem_bn", "stem_relu")


@pytest.mark.parametrize(
    ("build", "runs"),
    [
        (lambda n, x: n.BatchNormalization()(n.ReLU()(n.Conv2D(4, 3)(x))), ["Conv2D", "BatchNormalization"]),
        (lambda n, x: n.BatchNormalization()(n.Conv2D(4, 3, activation="relu")(x)), ["Conv2D", "BatchNormalization"]),
        (lambda n, x: n.ReLU()(n.ReLU()(n.Conv2D(4, 3)(x))), ["Conv2D", "relu"]),
        (lambda n, x: n.ReLU()(n.Conv2D(4, 3, activation="elu")(x)), ["Conv2D", "relu"]),
        (lambda n, x: n.Activation("softmax")(n.Dense(4)(x)), ["Dense", "softmax"]),
        (lambda n, x: n.Dense(4, activation="softmax")(x), ["Dense", "softmax"]),
        (lambda n, x: n.ReLU()(n.BatchNormalization()(n.Conv2DTranspose(4, 3)(x))), ["Conv2DTranspose"]),
        (lambda n, x: n.ReLU()(n.BatchNormalization()(n.SeparableConv2D(4, 3)(x))), ["DepthwiseConv2D", "Conv2D"]),
        (lambda n, x: n.BatchNormalization()(n.BatchNormalization()(n.Conv2D(4, 3)(x))), ["Conv2D"]),
    ],
)
def test_a_compiler_folds_one_activation_after_the_normalisations_and_no_softmax(build, runs):
    assert [step.operation.kind for step in steps(network_of(build), fusion=COMPILED)] == runs


def test_a_folded_swish_takes_its_gate_along():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 3)(image)
    gate = layers.Activation("sigmoid", name="gate")(x)
    network = layers.Model(image, layers.Multiply(name="product")([gate, x]))
    (only,) = steps(network, fusion=COMPILED)
    assert set(only.folded) == {"gate", "product"}


@pytest.mark.parametrize(
    "build",
    [
        lambda n, x: n.Activation("linear")(x),
        lambda n, x: n.SpatialDropout3D(0.1)(n.Reshape((2, 4, 8, 3))(x)),
        lambda n, x: n.StochasticDepth()(x),
        lambda n, x: n.RandomFlip()(x),
        lambda n, x: n.MixUp()(x),
    ],
)
def test_what_is_the_identity_at_inference_runs_nothing(build):
    network = network_of(lambda n, x: n.ReLU()(build(n, x)), (8, 8, 3))
    assert [step.operation.kind for step in steps(network)] == ["relu"]


def test_a_separable_convolution_runs_as_two_with_its_weights_and_products():
    def separable(n, x):
        return n.SeparableConv2D(5, 3, strides=2, depth_multiplier=2, activation="relu")(n.ZeroPadding2D(1)(x))

    def in_two(n, x):
        x = n.DepthwiseConv2D(3, strides=2, depth_multiplier=2, use_bias=False)(n.ZeroPadding2D(1)(x))
        return n.Conv2D(5, 1, activation="relu")(x)

    network = network_of(separable)
    depthwise, pointwise, acts = steps(network)
    assert [each.operation for each in (depthwise, pointwise, acts)] == [
        each.operation for each in steps(network_of(in_two))
    ]
    assert (depthwise.reads, pointwise.reads) == (network.inputs, ())
    assert sum(each.operation.weights for each in (depthwise, pointwise)) == network.layers[-1].weights


def test_folded_padding_becomes_an_argument_of_the_convolution():
    stem = steps(small_network())[0].operation
    assert (stem.in_height, stem.out_height, stem.pad_height, stem.pad_width) == (32, 16, 2, 2)
    assert stem.input_elements == 32 * 32 * 3


def test_padding_that_two_layers_read_runs_by_itself():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.ZeroPadding2D(1)(image)
    network = layers.Model(image, [layers.Conv2D(4, 3)(x), layers.MaxPooling2D(3, strides=1)(x)])
    assert [step.operation.kind for step in steps(network)] == ["ZeroPadding2D", "Conv2D", "MaxPooling2D"]


def test_an_activation_after_a_branch_is_not_folded():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 3)(image)
    network = layers.Model(image, layers.Add()([layers.ReLU()(x), x]))
    assert [step.operation.kind for step in steps(network, fusion=COMPILED)] == ["Conv2D", "relu", "Add"]


def test_work_is_counted_once_whatever_is_folded():
    network = small_network()
    macs = sum(layer.macs for layer in network.layers)
    for fusion in (EAGER, COMPILED, Fusion(padding=False)):
        assert sum(step.operation.macs for step in steps(network, fusion=fusion)) == macs


def test_counts_add_over_networks_and_scale_with_the_batch():
    one, two = workloads([small_network()]), workloads([small_network()] * 2)
    assert {operation: 2 * count for operation, count in one.items()} == dict(two)
    batch = workloads([small_network()], batch_size=8)
    assert sum(op.macs * n for op, n in batch.items()) == 8 * sum(op.macs * n for op, n in one.items())


def test_a_merge_reads_all_its_inputs():
    add = next(step.operation for step in steps(small_network()) if step.operation.kind == "Add")
    assert (add.inputs, add.input_elements, add.output_elements) == (2, 2 * 16 * 16 * 16, 16 * 16 * 16)


def test_a_batch_below_one_is_refused():
    with pytest.raises(InvalidInput, match="batch size is 0"):
        operation(small_network().layers[0], 0)
