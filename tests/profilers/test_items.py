from __future__ import annotations

import json
from pathlib import Path

import keras
import pytest

from edgeperf.errors import InvalidInput, UnsupportedLayer
from edgeperf.network import read_network
from edgeperf.profilers import board_inference, recipes
from edgeperf.profilers.items import expand
from edgeperf.zoo import FAMILIES

PUBLISHED = sorted(name for name, member in FAMILIES.items() if member.published)


def test_a_family_gives_its_published_variants_at_the_sizes_asked_for() -> None:
    items = expand(["zoo:mobilenet-v1"], (96, 128))
    variants = FAMILIES["mobilenet-v1"].published
    assert [(item.model, item.input_size) for item in items] == [
        (name, size) for name in variants for size in (96, 128)
    ]
    assert len({item.key for item in items}) == len(items)


def test_a_variant_is_measured_at_its_own_size_unless_told() -> None:
    (item,) = expand(["zoo:xception/Xception"])
    assert (item.key, item.input_size) == ("Xception_299", 299)


def test_all_stands_for_every_family() -> None:
    assert {item.family for item in expand(["zoo:all"])} == set(PUBLISHED)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("zoo:mobilenet-v9", "Unknown family"),
        ("zoo:xception/Yception", "It has: Xception"),
        ("/no/such/model.keras", "No model file"),
    ],
)
def test_unknown_models_are_told(model: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        expand([model])


def test_nothing_to_measure_and_two_of_a_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No model to profile"):
        expand([])
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.keras").touch()
    with pytest.raises(InvalidInput, match="rename one file"):
        expand([str(tmp_path / folder / "net.keras") for folder in ("a", "b")])
    (tmp_path / "net.onnx").touch()
    with pytest.raises(InvalidInput, match="exported with"):
        expand([str(tmp_path / "net.onnx")], (96,))


def small_model() -> keras.Model:
    layers = keras.layers
    image = layers.Input((32, 32, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False, activation="hard_silu", name="stem")(image)
    shared = layers.SeparableConv2D(8, 3, padding="same", name="shared")
    x = layers.Concatenate(axis=-1)([shared(x), layers.LeakyReLU(0.1)(shared(x))])
    x = layers.ReLU(6.0)(layers.BatchNormalization(epsilon=1e-5)(x))
    inner = keras.Sequential([layers.Input((16, 16, 16)), layers.DepthwiseConv2D(3, name="depthwise")], name="inner")
    x = layers.GlobalAveragePooling2D(keepdims=True)(inner(x))
    return keras.Model(image, [layers.Dense(10, name="logits")(layers.Flatten()(x)), x], name="small")


def rebuilt(recipe: recipes.Recipe) -> keras.Model:
    return board_inference.build(json.loads(json.dumps(recipe)), keras, 1)


def test_a_recipe_rebuilds_the_same_layers_weights_and_shapes() -> None:
    model = small_model()
    network, recipe = recipes.from_model(model)
    again, _ = recipes.from_model(rebuilt(recipe))
    assert rebuilt(recipe).count_params() == model.count_params()
    facts = [(layer.kind, layer.output_shape, layer.params, layer.macs) for layer in network.layers]
    assert [(layer.kind, layer.output_shape, layer.params, layer.macs) for layer in again.layers] == facts


def test_a_recipe_keeps_what_costs_do_not_depend_on() -> None:
    by_kind = {call["kind"]: call["kwargs"] for call in recipes.from_model(small_model())[1]["calls"]}
    assert by_kind["ReLU"]["max_value"] == 6.0
    assert by_kind["BatchNormalization"]["epsilon"] == 1e-5
    assert by_kind["LeakyReLU"]["negative_slope"] == pytest.approx(0.1)
    assert by_kind["Conv2D"]["activation"] == "hard_silu"


def test_the_configuration_of_a_recipe_reads_as_the_same_network() -> None:
    network, recipe = recipes.from_model(small_model())
    again = read_network(json.dumps(recipes.to_config(recipe)))
    facts = [(layer.kind, layer.output_shape, layer.params, layer.macs) for layer in network.layers]
    assert [(layer.kind, layer.output_shape, layer.params, layer.macs) for layer in again.layers] == facts


def test_the_size_of_a_recipe_can_be_changed() -> None:
    network, recipe = recipes.from_model(keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(4, 3)]), 64)
    assert network.input_shape == (64, 64, 3)
    assert rebuilt(recipe).output_shape == (1, 62, 62, 4)


QUICK = {"mobilenet-v2", "resnet"}


@pytest.mark.parametrize(
    "family", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PUBLISHED]
)
def test_recipes_of_zoo_networks_rebuild_them(family: str) -> None:
    member = FAMILIES[family]
    smallest = min(member.published.values(), key=lambda genes: len(member.network(genes).layers))
    network, recipe = recipes.from_genes(member, smallest, "net")
    assert rebuilt(recipe).count_params() == sum(layer.params for layer in network.layers)


def test_layers_that_keras_cannot_construct_are_listed() -> None:
    config = {
        "class_name": "Sequential",
        "config": {
            "name": "odd",
            "layers": [
                {"class_name": "InputLayer", "config": {"name": "image", "batch_shape": [None, 8, 8, 4]}},
                {"class_name": "ChannelShuffle", "config": {"name": "shuffle", "groups": 2}},
            ],
        },
    }
    with pytest.raises(UnsupportedLayer, match="shuffle"):
        recipes.from_model(config)
