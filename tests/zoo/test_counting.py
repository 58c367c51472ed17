"""Counting by block against reading the whole network."""

import pytest

from edgeperf.network import FEATURE_NAMES, features
from edgeperf.zoo import FAMILIES, family
from edgeperf.zoo.counting import CountingLayers, feature_rows
from edgeperf.zoo.family import Family, Gene
from tests.zoo.members import random_members


@pytest.mark.parametrize("name", FAMILIES)
def test_every_feature_of_every_family_is_that_of_the_whole_network(name):
    members = random_members(name, 12)
    rows = feature_rows(CountingLayers(), family(name), members)
    for genes, row in zip(members, rows, strict=True):
        whole = features(family(name).network(genes)).values
        assert row == pytest.approx([whole[feature] for feature in FEATURE_NAMES], rel=1e-12)


def test_what_was_counted_before_does_not_change_what_is_counted_now():
    members = random_members("mobilenet-v2", 6, seed=1)
    counting = CountingLayers()
    feature_rows(counting, family("resnet"), random_members("resnet", 6))
    together = feature_rows(counting, family("mobilenet-v2"), members)
    for genes, row in zip(members, together, strict=True):
        assert (feature_rows(CountingLayers(), family("mobilenet-v2"), [genes])[0] == row).all()


def test_a_layer_outside_a_block_is_named():
    def build(layers, genes):
        image = layers.Input((32, 32, 3), name="image")
        return layers.Model(image, layers.Flatten()(image), name=genes["name"])

    loose = Family(name="loose", title="Loose", genes=(Gene(name="input_size", values=(32,)),), build=build)
    with pytest.raises(AttributeError, match="Flatten stands outside a block"):
        feature_rows(CountingLayers(), loose, [{"input_size": 32}])
