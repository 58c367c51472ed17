"""Families against what is known of their published members, and against Keras Applications."""

import pytest

from edgeperf.network import FEATURE_NAMES, features, read_network
from edgeperf.zoo import FAMILIES, family
from tests.zoo.members import random_members

# Parameters as the authors or their first ports publish them, where Keras Applications has no such network; torchvision
# and timm do not count the two running statistics per normalised channel, so those are added here.
KNOWN_PARAMETERS = {
    ("shufflenet-v2", "ShuffleNet v2 1.0"): 2_278_604 + 2 * 8_090,
    ("resnext", "ResNeXt-50"): 25_028_904 + 2 * 34_112,
    ("googlenet", "GoogLeNet"): 5_585_344 + 3 * 7_280 + 1_025_000,
    ("nasbench201", None): None,
}


def total(network, what):
    return sum(getattr(layer, what) for layer in network.layers)


@pytest.mark.parametrize(
    ("name", "member", "params"),
    [(name, member, params) for (name, member), params in KNOWN_PARAMETERS.items() if params],
)
def test_published_members_have_their_published_parameters(name, member, params):
    assert total(family(name).network(family(name).published[member]), "params") == params


@pytest.mark.parametrize("name", FAMILIES)
def test_layer_names_are_unique_in_every_member(name):
    # A name used twice would make two layers share weights without a word.
    for genes in [*random_members(name, 5), *family(name).published.values()]:
        network = family(name).network(genes)
        assert not [layer.name for layer in network.layers if layer.shares_weights_with is not None]


@pytest.mark.parametrize("name", FAMILIES)
def test_members_classify_images_of_their_size(name):
    for genes in random_members(name, 5):
        network = family(name).network(genes)
        assert network.input_shape == (genes["input_size"], genes["input_size"], 3)
        classes = {"nasbench201": {100}, "synthetic": {10, 100, 200, 1000}}.get(name, {1000})
        assert network.layers[-1].output_shape in {(count,) for count in classes}


def test_multiply_accumulates_of_mobilenet_v2_are_those_of_its_paper():
    network = family("mobilenet-v2").network(family("mobilenet-v2").published["MobileNet v2 1.0"])
    assert total(network, "macs") == pytest.approx(300e6, rel=0.01)


@pytest.mark.parametrize("name", ["mobilenet-v1", "mobilenet-v2", "resnet", "efficientnet", "densenet", "xception"])
def test_more_width_or_depth_never_costs_less(name):
    smallest, largest = ({gene.name: gene.values[end] for gene in family(name).genes} for end in (0, -1))
    small, large = (family(name).network(genes) for genes in (smallest, largest))
    assert total(small, "macs") < total(large, "macs")
    assert total(small, "params") < total(large, "params")


def test_a_missing_gene_is_named():
    with pytest.raises(ValueError, match="missing: input_size"):
        family("xception").network({"width": 1.0, "depth": 8})


def test_an_unknown_family_lists_the_known_ones():
    with pytest.raises(ValueError, match="mobilenet-v2"):
        family("mobilenet-v9")


def keras_application(name, **arguments):
    return getattr(pytest.importorskip("keras").applications, name)(weights=None, **arguments)


def work(network):
    """(kind, parameters, multiply-accumulates, output) of the layers that have any; the order of branches is free."""
    return sorted(
        (layer.kind, layer.params, layer.macs, layer.output_shape)
        for layer in network.layers
        if layer.params or layer.macs
    )


KERAS = [
    ("mobilenet-v2", "MobileNet v2 0.35", "MobileNetV2", {"alpha": 0.35, "input_shape": (96, 96, 3)}),
    ("resnet-v2", "ResNet-50 v2", "ResNet50V2", {}),
]
KERAS_SLOW = [
    ("mobilenet-v1", "MobileNet v1 0.5", "MobileNet", {"alpha": 0.5, "input_shape": (192, 192, 3)}),
    ("mobilenet-v2", "MobileNet v2 1.4", "MobileNetV2", {"alpha": 1.4}),
    ("mobilenet-v3", "MobileNet v3 small 0.75", "MobileNetV3Small", {"alpha": 0.75, "input_shape": (224, 224, 3)}),
    ("mobilenet-v3", "MobileNet v3 large 1.0", "MobileNetV3Large", {"input_shape": (224, 224, 3)}),
    ("resnet", "ResNet-50", "ResNet50", {}),
    ("resnet", "ResNet-152", "ResNet152", {}),
    ("resnet-v2", "ResNet-101 v2", "ResNet101V2", {}),
    ("densenet", "DenseNet-201", "DenseNet201", {}),
    ("xception", "Xception", "Xception", {}),
    ("inception-v3", "Inception v3", "InceptionV3", {}),
    ("inception-resnet-v2", "Inception-ResNet v2", "InceptionResNetV2", {}),
    ("efficientnet", "EfficientNet-B0", "EfficientNetB0", {}),
    ("efficientnet", "EfficientNet-B3", "EfficientNetB3", {}),
]


@pytest.mark.parametrize(
    ("name", "member", "application", "arguments"),
    [*KERAS, *(pytest.param(*row, marks=pytest.mark.slow) for row in KERAS_SLOW)],
)
def test_members_equal_keras_applications_layer_by_layer(name, member, application, arguments):
    model = keras_application(application, **arguments)
    genes = {**family(name).published[member], "input_size": model.input_shape[1]}
    expected = [row for row in work(read_network(model)) if row[0] != "Normalization"]
    assert work(family(name).network(genes)) == expected


@pytest.mark.parametrize(
    "name",
    ["mobilenet-v2", "shufflenet-v2", "nasbench201"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in FAMILIES
        if name not in ("mobilenet-v2", "shufflenet-v2", "nasbench201")
    ],
)
def test_the_keras_model_has_the_features_of_the_network(name):
    pytest.importorskip("keras")
    genes = random_members(name, 1)[0]
    built, counted = (
        features(network).values
        for network in (
            read_network(family(name).keras_model(genes)),
            family(name).network(genes),
        )
    )
    assert [built[feature] for feature in FEATURE_NAMES] == pytest.approx([counted[name] for name in FEATURE_NAMES])


def test_synthetic_networks_differ_by_seed_and_repeat():
    one, again, other = (
        family("synthetic").network({"seed": seed, "depth": 20, "input_size": 112}) for seed in (1, 1, 2)
    )
    assert one.layers == again.layers
    assert work(one) != work(other)


def test_synthetic_networks_keep_their_layers_at_every_size():
    small, large = (family("synthetic").network({"seed": 3, "depth": 12, "input_size": size}) for size in (32, 320))
    kinds = [[layer.filters for layer in network.layers if layer.filters] for network in (small, large)]
    assert kinds[0] == kinds[1]
