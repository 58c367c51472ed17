"""Features, rows and the builder on networks whose numbers are known."""

from __future__ import annotations

import pytest

from edgeperf import features
from edgeperf.errors import InvalidInput
from edgeperf.network import FEATURE_NAMES, layer_rows, read_network
from edgeperf.network.builder import LayerNamespace


def small(layers):
    """A small network with one layer of each sort, written once for Keras and for edgeperf."""
    image = layers.Input((32, 48, 3))
    x = layers.Conv2D(8, (3, 5), strides=2, padding="same", use_bias=False, name="stem")(image)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.ReLU(6.0)(x)
    y = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, name="wide")(x)
    y = layers.SeparableConv2D(8, 3, padding="same")(y)
    x = layers.Add()([x, y])
    x = layers.Conv2D(16, 1, groups=2, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Model(image, layers.Dense(10, activation="softmax")(x), name="small")


@pytest.fixture(scope="module")
def network():
    return small(LayerNamespace())


def test_known_features(network):
    values = features(network).values
    # 16 x 24 positions after the stem.
    stem, wide = 3 * 5 * 3 * 8, (9 + 1) * 16
    separable, grouped, dense = 9 * 16 + 16 * 8 + 8, 4 * 16 + 16, 16 * 10 + 10
    assert values["num_layers"] == 10
    assert (values["num_conv"], values["num_batch_norm"], values["num_dense"]) == (4, 1, 1)
    assert (values["filters"], values["units"]) == (8 + 16 + 8 + 16, 10)
    assert values["filter_size"] == (3 + 3 + 3 + 1) / 4
    assert (values["input_height"], values["input_width"], values["input_channels"]) == (32, 48, 3)
    assert values["input_pixels"] == 32 * 48
    assert values["params_conv"] == stem + wide + separable + grouped
    assert values["params_batch_norm"] == 4 * 8
    assert values["params_dense"] == dense
    assert values["params"] == stem + wide + separable + grouped + 32 + dense
    pixels = 16 * 24
    assert values["macs"] == pixels * (stem + 9 * 16 + (9 * 16 + 16 * 8) + 4 * 16) + 160
    assert values["activations"] == 32 * 48 * 3 + pixels * (8 + 8 + 8 + 16 + 8 + 8 + 16) + 16 + 10
    weighted = pixels * (8 * 15 * 3 + 16 * 9 * 8 + 8 * 9 * 16 + 16 * 1 * 4) + 10
    assert values["weighted_neurons"] == weighted


def test_the_builder_equals_keras(network):
    import keras

    class KerasLayers:
        Input = staticmethod(keras.Input)
        Model = staticmethod(keras.Model)

        def __getattr__(self, name):
            return getattr(keras.layers, name)

    keras.backend.clear_session()
    read = read_network(small(KerasLayers()))
    assert [layer.to_dict() for layer in read.layers] == [layer.to_dict() for layer in network.layers]
    assert features(read) == features(network)


def test_default_names_are_those_of_keras():
    layers = LayerNamespace()
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(3, 1)(layers.ReLU()(image))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(3, 1)(x))
    x = layers.PReLU()(x)
    names = [layer.name for layer in layers.Model(image, x).layers]
    expected = ["input_layer", "re_lu", "conv2d", "global_average_pooling2d", "conv2d_1", "p_re_lu"]
    assert sorted(names) == sorted(expected)


def test_the_builder_refuses_what_keras_would():
    layers = LayerNamespace()
    with pytest.raises(InvalidInput, match="kernel"):
        layers.Conv2D(3, 1, kernel=2)
    with pytest.raises(InvalidInput, match="positional"):
        layers.ReLU(1, 2, 3, 4)
    with pytest.raises(InvalidInput, match="kernel_size"):
        layers.Conv2D(3)(layers.Input((8, 8, 3)))
    with pytest.raises(AttributeError, match="Lambda"):
        layers.Lambda(None)


def test_features_keep_their_order_and_turn_into_a_row(network):
    found = features(network)
    assert tuple(found.values) == FEATURE_NAMES
    assert found.to_dict()["values"] == dict(found.values)


def test_rows_hold_what_a_kernel_needs(network):
    rows = {row["name"]: row for row in layer_rows(network)}
    stem = rows["stem"]
    expected = {
        "input_height": 32, "input_width": 48, "input_channels": 3, "output_height": 16, "output_width": 24,
        "output_channels": 8, "kernel_height": 3, "kernel_width": 5, "stride_height": 2, "dilation_width": 1,
        "padding_top": 0, "padding_bottom": 1, "padding_left": 1, "padding_right": 2, "groups": 1, "filters": 8,
        "input_elements": 32 * 48 * 3, "weight_elements": 360, "output_elements": 16 * 24 * 8,
        "bytes_read": 4 * (32 * 48 * 3 + 360), "bytes_written": 4 * 16 * 24 * 8, "neurons": 16 * 24 * 8,
    }  # fmt: skip
    assert {key: stem[key] for key in expected} == expected
    assert rows["wide"]["groups"] == 8
    assert rows["wide"]["depth_multiplier"] == 2
    assert rows["dense"]["input_channels"] == 16
    assert rows["add"]["input_elements"] == 2 * 16 * 24 * 8
    assert rows["add"]["kernel_height"] == 0


def test_rows_add_up_to_the_features(network):
    rows, values = layer_rows(network), features(network).values
    for name in ("params", "macs", "flops", "weighted_neurons"):
        assert sum(row[name] for row in rows) == values[name]
    assert sum(row["output_elements"] for row in rows) == values["activations"]
    halved = layer_rows(network, precision="float16")
    assert [2 * row["bytes_read"] for row in halved] == [row["bytes_read"] for row in rows]
    with pytest.raises(InvalidInput, match="precision"):
        layer_rows(network, precision="int3")
