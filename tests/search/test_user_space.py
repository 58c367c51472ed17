"""Spaces from users' own files."""

import pytest

from edgeperf.errors import InvalidInput
from search import Limits, Question, run
from search.space import space
from tests.search.fakes import FakeSurrogates

PLAIN = """
genes = {"filters": [8, 16, 24, 32], "depth": [1, 2, 3], "input_size": [64, 96, 128]}

def build(layers, genes):
    image = x = layers.Input((genes["input_size"], genes["input_size"], 3), name="image")
    for number in range(genes["depth"]):
        x = layers.Conv2D(genes["filters"] * 2**number, 3, strides=2, activation="relu", name=f"conv{number}")(x)
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    return layers.Model(image, layers.Dense(10, name="dense")(x), name=genes["name"])
"""


def written(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def searched(question, tmp_path, **more):
    return run(
        question, surrogates={"d": FakeSurrogates()}, limits=Limits(generations=6), progress=False,
        out=tmp_path / "out", **more,
    )  # fmt: skip


def test_one_definition_is_enough_for_a_search(tmp_path):
    path = written(tmp_path, PLAIN)
    question = Question(spaces=[path, "mnasnet"], devices=["d"], objectives=["params", "macs"], seed=1, population=10)
    result = searched(question, tmp_path)
    best = result.points[-1]
    assert best.network == "mine_filters-8_depth-1_input_size-64"
    assert best.params == (3 * 9 + 1) * 8 + (8 + 1) * 10


def test_a_function_that_fails_is_named_with_its_genes(tmp_path):
    path = written(tmp_path, PLAIN.replace('genes["depth"]):', 'genes["depth"] // (genes["filters"] - 8)):'))
    with pytest.raises(InvalidInput, match=r"mine.py failed for the genes .*'filters': 8.*ZeroDivisionError"):
        searched(Question(spaces=[path], devices=["d"], seed=1), tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("genes = {'a': [1]}", "must define build"),
        ("def build(layers, genes): ...", "must define genes"),
        ("genes = {'a': [1, 1]}\ndef build(layers, genes): ...", "without repeats"),
        ("import nonsense_of_mine", "ModuleNotFoundError"),
        ("genes = {'a': [1]}\nnetwork = lambda genes: 3\nkeras_model = network", "expected a Network"),
    ],
)
def test_files_that_define_no_space_say_what_is_missing(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InvalidInput, match=message):
        space([path]).families[0].network({"a": 1})


def test_a_file_that_changed_does_not_resume_the_old_search(tmp_path):
    searched(Question(spaces=[written(tmp_path, PLAIN)], devices=["d"], seed=1, population=6), tmp_path)
    changed = written(tmp_path, PLAIN.replace("[1, 2, 3]", "[1, 2]"))
    with pytest.raises(InvalidInput, match="genes was"):
        searched(Question(spaces=[changed], devices=["d"], seed=1, population=6), tmp_path, resume=True)
