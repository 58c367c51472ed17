"""Accuracies from users' trainings and from scores: cached, spread over workers, and told apart."""

import json
import os
import time

import numpy as np
import pytest

from edgeperf.errors import InvalidInput
from search import Limits, Question, run
from search.accuracy_sources import accuracy_source
from search.scored_accuracy import score
from search.space import space
from search.trained_accuracy import TrainedAccuracy
from tests.search.fakes import FakeSurrogates
from tests.search.test_user_space import PLAIN

TRAINING = """
import math
from pathlib import Path

def accuracy(model, genes):
    with Path(__file__).with_name("calls.txt").open("a") as calls:
        calls.write(model.name + "\\n")
    return 20 * math.log10(model.count_params()) - genes["depth"]
"""


@pytest.fixture
def files(tmp_path):
    pytest.importorskip("keras")
    (tmp_path / "mine.py").write_text(PLAIN)
    (tmp_path / "training.py").write_text(TRAINING)
    return tmp_path


def calls(folder):
    return (folder / "calls.txt").read_text().split() if (folder / "calls.txt").exists() else []


def searched(files, out, scheduler=None, **more):
    question = Question(spaces=[str(files / "mine.py")], devices=["d"], seed=3, population=6)
    source = accuracy_source(str(files / "training.py"), out=files / out, scheduler=scheduler)
    return run(
        question, out=files / out, accuracy=source, surrogates={"d": FakeSurrogates()},
        limits=Limits(generations=3), progress=False, **more,
    )  # fmt: skip


def test_every_network_is_trained_once_and_the_front_says_so(files):
    result = searched(files, "a")
    assert len(calls(files)) == len(set(calls(files))) == result.answer.evaluated
    assert {point.accuracy_provenance for point in result.points} == {"trained"}
    searched(files, "a")
    assert len(calls(files)) == result.answer.evaluated


def test_model_assisted_search_asks_for_the_accuracy_of_its_picks_alone(files):
    question = Question(spaces=[str(files / "mine.py")], devices=["d"], seed=3, population=5, algorithm="assisted")
    source = accuracy_source(str(files / "training.py"), out=files / "a")
    result = run(
        question, out=files / "a", accuracy=source, surrogates={"d": FakeSurrogates()}, limits=Limits(generations=3),
        progress=False,
    )  # fmt: skip
    assert len(calls(files)) == result.answer.evaluated == 20


def test_a_result_that_a_kill_cut_short_is_trained_again_and_no_other(files):
    whole = searched(files, "a")
    trainings = files / "a" / "trainings.jsonl"
    trainings.write_text(trainings.read_text()[:-9])
    again = searched(files, "a")
    assert [point.accuracy for point in again.points] == [point.accuracy for point in whole.points]
    assert len(calls(files)) == whole.answer.evaluated + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def accuracy(model, genes): return 1 / 0", "failed for mine_.*ZeroDivisionError"),
        ("def accuracy(model, genes): return 'good'", "gave 'good' .* in percent"),
        ("def accuracy(model, genes): return 0.9 * 1000", "in percent"),
        ("def train(model): return 1", "must define accuracy"),
        ("import nonsense_of_mine", "cannot be run"),
    ],
)
def test_trainings_that_fail_are_named(files, text, message):
    (files / "training.py").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        searched(files, "a")


def test_an_unreadable_cache_is_left_alone_and_named(files):
    (files / "trainings.jsonl").write_text('nonsense\n{"network": "a", "accuracy": 1}\n')
    with pytest.raises(InvalidInput, match="line 1 is no result"):
        TrainedAccuracy(files / "training.py", files / "trainings.jsonl")


@pytest.mark.parametrize(
    ("name", "scheduler", "message"),
    [
        ("guess", None, "Known: published, score"),
        ("published", "tcp://x:1", "trains nothing"),
        ("no.py", None, "No such"),
    ],
)
def test_unknown_sources_list_the_known(tmp_path, name, scheduler, message):
    with pytest.raises(InvalidInput, match=message):
        accuracy_source(name, out=tmp_path, scheduler=scheduler)


def test_the_score_repeats_and_tells_networks_apart(files):
    source = accuracy_source("score", out=files)
    member = space([str(files / "mine.py")])
    candidates = [member.decode(vector) for vector in member.all()[[0, -1]]]
    first = source(candidates, np.empty((2, 0)))
    again = accuracy_source("score", out=files)(candidates, np.empty((2, 0)))
    assert first.value.tolist() == again.value.tolist()
    assert first.value[1] > first.value[0]
    assert first.provenance == ("scored", "scored")


def test_the_score_is_the_log_determinant_of_agreements():
    keras = pytest.importorskip("keras")

    image = keras.Input((4,))
    model = keras.Model(image, keras.layers.Dense(8, activation="relu")(image))
    batch = np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)
    on = (batch @ model.get_weights()[0] > 0).astype(int)
    agreement = np.array([[(a == b).sum() for a in on] for b in on]) + 1e-3 * np.eye(3)
    assert score(model, images=3, seed=5) == pytest.approx(np.log(np.linalg.det(agreement)), rel=1e-6)


def test_a_network_without_rectifiers_has_no_score():
    keras = pytest.importorskip("keras")
    image = keras.Input((4,))
    with pytest.raises(InvalidInput, match="no rectified linear units"):
        score(keras.Model(image, keras.layers.Dense(2)(image)), images=2, seed=0)


SLOW_TRAINING = f"""
import os, time

def pid():
    with Path(__file__).with_name("pids.txt").open("a") as pids:
        pids.write(f"{{os.getpid()}}\\n")
    time.sleep(0.3)
{TRAINING.replace("    with Path", "    pid()" + chr(10) + "    with Path", 1)}
"""


@pytest.mark.slow
def test_workers_give_the_front_of_a_serial_run_even_if_one_is_killed(files):
    distributed = pytest.importorskip("distributed")
    serial = searched(files, "serial")
    (files / "training.py").write_text(SLOW_TRAINING)
    (files / "pids.txt").touch()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        from threading import Thread

        pid_file = files / "pids.txt"

        def kill_one():
            while not (pids := pid_file.read_text().split()):
                time.sleep(0.05)
            os.kill(int(pids[0]), 9)

        killer = Thread(target=kill_one)
        killer.start()
        spread = searched(files, "spread", scheduler=cluster.scheduler_address)
        killer.join()
    assert [point.network for point in spread.points] == [point.network for point in serial.points]
    assert [point.accuracy for point in spread.points] == [point.accuracy for point in serial.points]
    kept = [json.loads(line)["network"] for line in (files / "spread" / "trainings.jsonl").read_text().splitlines()]
    assert len(kept) == len(set(kept)) == spread.answer.evaluated
