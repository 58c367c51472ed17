"""Vectors and the networks that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from search.operators import mutated, offspring, unseen
from search.space import space

TWO = space(["mobilenet-v2", "resnet"])


@given(st.integers(0, 2**32 - 1))
def test_a_network_leads_back_to_its_vector(seed):
    vector = TWO.random(1, np.random.default_rng(seed))[0]
    candidate = TWO.decode(vector)
    assert (TWO.encode(candidate.family.name, candidate.genes) == vector).all()


@given(st.integers(0, 2**32 - 1))
def test_children_are_canonical_and_inside_the_space(seed):
    rng = np.random.default_rng(seed)
    mothers, fathers = TWO.random(20, rng), TWO.random(20, rng)
    for children in (offspring(TWO, mothers, fathers, rng), mutated(TWO, mothers, rng)):
        assert (children >= 0).all()
        assert (children < TWO.counts).all()
        assert (TWO.canonical(children) == children).all()


def test_families_do_not_mix():
    rng = np.random.default_rng(0)
    mother, father = (np.tile(vector, (200, 1)) for vector in TWO.random(40, rng)[[0, -1]])
    mother[:, 0], father[:, 0] = 0, 1
    mother, father = TWO.canonical(mother), TWO.canonical(father)
    children = offspring(TWO, mother, father, rng)
    stayed = children[children[:, 0] == 0]
    # Without the father's family, a child differs from its mother by mutation alone: by one gene on average.
    assert np.median((stayed != mother[: len(stayed)]).sum(axis=1)) <= 2


def test_silent_genes_do_not_tell_networks_apart():
    vectors = np.zeros((2, len(TWO.counts)), dtype=np.int64)
    vectors[1, TWO.places[1]] = 1
    assert len(unseen(TWO.canonical(vectors), set())) == 1


def test_the_whole_space_is_listed_once():
    small = space(["mobilenet-v3", "mnasnet"])
    everything = small.all()
    assert len(everything) == small.size == 2 * 8 * 8 + 7 * 8
    assert len({vector.tobytes() for vector in everything}) == small.size
    assert (small.canonical(everything) == everything).all()


def test_random_candidates_favour_no_family():
    drawn = TWO.random(4000, np.random.default_rng(3))
    assert (drawn[:, 0] == 0).mean() == pytest.approx(0.5, abs=0.03)


def test_the_union_holds_every_family_once():
    names = [family.name for family in space(["union", "resnet"]).families]
    assert len(names) == len(set(names)) > 10


def test_published_networks_are_found_in_the_space():
    known = dict(TWO.published())
    assert {"MobileNet v2 1.0", "ResNet-50"} <= set(known)
    assert TWO.decode(known["ResNet-50"]).genes["depth4"] == 6


@pytest.mark.parametrize("names", [[], ["mobilenet-v7"]])
def test_unknown_spaces_say_what_is_known(names):
    with pytest.raises(InvalidInput, match="mobilenet-v2"):
        space(names)


def test_a_gene_value_that_does_not_exist_is_named():
    genes = {**TWO.families[0].published["MobileNet v2 1.0"], "width": 1.7}
    with pytest.raises(InvalidInput, match=r"width = 1.7; its values are 0.35"):
        TWO.encode("mobilenet-v2", genes)
