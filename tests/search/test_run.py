"""Whole searches with stand-in surrogates: what a front must be, whatever the surrogates say."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from edgeperf.errors import IncompatibleData, InvalidInput
from search import Limits, Question, run
from search.optimiser import OPTIMISERS
from tests.search.fakes import FakeSurrogates

FILES = ("front.csv", "front.json", "evaluated.csv", "report.html")


def searched(out, **changes):
    asked = {"spaces": ["mobilenet-v2", "resnet"], "devices": ["jetson-tx2"], "seed": 1, "population": 24}
    limits = {"generations": 8}
    more = {"surrogates": {"jetson-tx2": FakeSurrogates()}, "progress": False}
    for name, changed in changes.items():
        home = asked if name in Question.__slots__ else limits if name in Limits.__slots__ else more
        home[name] = changed
    return run(Question(**asked), out=out, limits=Limits(**limits), **more)


def value(point, metric, device="jetson-tx2"):
    return next(e.value for e in point.estimates if e.metric == metric and e.device == device)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return searched(tmp_path_factory.mktemp("search"), constraints=["latency_ms<=20"], generations=20)


def test_the_front_holds_no_beaten_point(result):
    numbers = [(-point.accuracy, value(point, "energy_mj")) for point in result.points]
    for a in numbers:
        assert not any(b[0] <= a[0] and b[1] <= a[1] and b != a for b in numbers)


def test_the_front_has_at_least_eight_points_inside_the_range(result):
    assert len(result.points) >= 8
    assert all(point.in_range for point in result.points)
    assert all(estimate.in_range for point in result.points for estimate in point.estimates)


def test_constraints_hold_on_the_front(result):
    assert all(value(point, "latency_ms") <= 20 for point in result.points)


def test_no_candidate_that_was_seen_beats_the_front(result):
    with (result.report.parent / "evaluated.csv").open() as lines:
        seen = [row for row in csv.DictReader(lines) if float(row["latency_ms@jetson-tx2"]) <= 20]
    inside = [row for row in seen if float(row["in_range"])]
    for point in result.points:
        better = [
            row
            for row in inside
            if float(row["accuracy"]) > point.accuracy + 1e-3
            and float(row["energy_mj@jetson-tx2"]) < value(point, "energy_mj") * (1 - 1e-4)
        ]
        assert not better


def test_files_say_what_the_result_says(result):
    document = json.loads((result.report.parent / "front.json").read_text())
    assert [point["network"] for point in document["points"]] == [point.network for point in result.points]
    with (result.report.parent / "front.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["accuracy"]) for row in rows] == [point.accuracy for point in result.points]
    assert document["summary"]["knee"] in {point.network for point in result.points}
    assert document["summary"]["hypervolume"][-1] == 1.0
    assert document["summary"]["hypervolume"] == sorted(document["summary"]["hypervolume"])


def test_known_networks_are_told_by_what_they_are_beaten(result):
    document = json.loads((result.report.parent / "front.json").read_text())
    resnet = next(row for row in document["references"] if row["network"] == "ResNet-18")
    assert resnet["accuracy_provenance"] == "published"
    front = {point.network: point for point in result.points}
    for name in resnet["dominated_by"]:
        assert front[name].accuracy >= resnet["accuracy"]
    assert resnet["dominated_by"]


def test_the_same_seed_gives_the_same_files(tmp_path):
    first, second = searched(tmp_path / "a"), searched(tmp_path / "b")
    for name in FILES:
        assert (first.report.parent / name).read_bytes() == (second.report.parent / name).read_bytes()


def test_another_seed_sees_other_networks(tmp_path):
    first, second = searched(tmp_path / "a"), searched(tmp_path / "b", seed=2)
    assert (tmp_path / "a/evaluated.csv").read_bytes() != (tmp_path / "b/evaluated.csv").read_bytes()
    assert first.answer.evaluated == second.answer.evaluated == 8 * 24


@pytest.mark.parametrize("algorithm", [name for name in OPTIMISERS if name != "optuna-nsga2"])
def test_a_search_that_goes_on_ends_where_an_unbroken_one_ends(tmp_path, algorithm):
    changes = {"algorithm": algorithm, "population": 10, "spaces": ["mobilenet-v3", "mnasnet"]}
    if algorithm == "nsga3":
        changes["objectives"] = ["accuracy", "latency_ms", "power_mw", "memory_mib"]
    searched(tmp_path / "whole", generations=6, **changes)
    searched(tmp_path / "broken", generations=3, **changes)
    searched(tmp_path / "broken", generations=6, resume=True, **changes)
    for name in ("front.csv", "evaluated.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()


def test_a_checkpoint_of_another_search_is_refused_by_name(tmp_path):
    searched(tmp_path, generations=2)
    with pytest.raises(IncompatibleData, match="seed was 1 and is now 2"):
        searched(tmp_path, generations=4, seed=2, resume=True)


def test_a_damaged_checkpoint_is_no_traceback(tmp_path):
    searched(tmp_path, generations=2)
    checkpoint = tmp_path / "checkpoint.npz"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(InvalidInput, match="Cannot read the checkpoint"):
        searched(tmp_path, generations=4, resume=True)


@pytest.mark.parametrize("algorithm", OPTIMISERS)
def test_no_algorithm_rates_a_network_twice(tmp_path, algorithm):
    searched(tmp_path, algorithm=algorithm, spaces=["mnasnet", "mobilenet-v3"], generations=5, population=8)
    with (tmp_path / "evaluated.csv").open() as lines:
        names = [row["network"] for row in csv.DictReader(lines)]
    assert len(names) == len(set(names)) >= 40


def test_a_small_space_is_seen_whole_and_the_search_ends(tmp_path):
    result = searched(tmp_path, spaces=["mnasnet"], generations=100)
    assert result.answer.evaluated == result.answer.size == 56
    assert "every network" in result.answer.stopped_by


def test_out_of_range_networks_enter_only_when_allowed(tmp_path):
    strict = searched(tmp_path / "a", surrogates={"jetson-tx2": FakeSurrogates(largest_input=128)})
    loose = searched(
        tmp_path / "b", surrogates={"jetson-tx2": FakeSurrogates(largest_input=128)}, allow_out_of_range=True
    )
    assert all(point.genes["input_size"] <= 128 for point in strict.points)
    assert any(not point.in_range for point in loose.points)


def test_where_nothing_is_feasible_the_nearest_say_what_they_miss(tmp_path):
    result = searched(tmp_path, constraints=["accuracy>=79", "latency_ms<=1"])
    assert result.points == ()
    assert len(result.nearest) == 10
    assert all(point.misses for point in result.nearest)
    assert "accuracy>=79" in " ".join(result.nearest[0].misses + result.nearest[-1].misses)
    assert "No candidate meets all bounds" in result.report.read_text()


def test_a_warm_start_is_in_the_first_generation(tmp_path):
    searched(tmp_path, warm_start=["MobileNet v2 1.0", "ResNet-50"], generations=1)
    with (tmp_path / "evaluated.csv").open() as lines:
        first = [row["accuracy_provenance"] for row in csv.DictReader(lines)]
    assert first[:2] == ["published", "published"]


def test_an_unknown_warm_start_lists_the_known_ones(tmp_path):
    with pytest.raises(InvalidInput, match=r"It holds: MobileNet v2 0\.35"):
        searched(tmp_path, warm_start=["AlexNet"])


def test_two_devices_are_searched_for_the_worst_of_both(tmp_path):
    devices = {"jetson-tx2": FakeSurrogates(), "jetson-nano": FakeSurrogates(slowness=3.0)}
    result = searched(tmp_path, devices=list(devices), surrogates=devices, constraints=["latency_ms<=30"])
    assert all(value(point, "latency_ms", "jetson-nano") <= 30 for point in result.points)
    assert {estimate.device for estimate in result.points[0].estimates} == set(devices)


def test_more_than_three_objectives_are_searched_by_reference_directions(tmp_path):
    result = searched(tmp_path, objectives=["accuracy", "latency_ms", "power_mw", "memory_mib"])
    assert len(result.points) >= 8


def test_a_search_without_progress_stops_early(tmp_path):
    result = searched(tmp_path, spaces=["mobilenet-v3"], population=16, generations=500, stalled_generations=3)
    assert result.answer.generations < 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": 2}, "population must be at least 4"),
        ({"generations": 0}, "generations must be at least 1"),
        ({"algorithm": "magic"}, "Known algorithms: auto, nsga2"),
        ({"spaces": ["mobilenet-v2", "nowhere.py"]}, "No such file"),
        ({"objectives": ["accuracy", "energy_mj@jetson-nano"]}, "not part of this search"),
    ],
)
def test_wrong_questions_get_one_clear_answer(tmp_path, changes, message):
    with pytest.raises(InvalidInput, match=message):
        searched(tmp_path, **changes)


def test_a_file_where_the_results_should_go_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(InvalidInput, match="is a file"):
        searched(path)
    assert path.read_text() == "mine"


def test_searching_imports_nothing_heavy():
    program = (
        "import sys, tempfile; from search import Question, run; from tests.search.fakes import FakeSurrogates\n"
        "run(Question(spaces=['mnasnet'], devices=['d'], seed=1, population=8),"
        " surrogates={'d': FakeSurrogates()}, progress=False, out=tempfile.mkdtemp())\n"
        "print(*sorted({'tensorflow', 'keras', 'optuna', 'sklearn', 'matplotlib', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=120, capture_output=True, text=True)
    assert done.stdout == "\n", done.stdout + done.stderr


def test_hypervolume_is_that_of_a_plain_sum_over_the_front(result):
    numbers = np.array([(-point.accuracy, value(point, "energy_mj")) for point in result.points])
    assert (np.diff(numbers[:, 0]) > 0).all()
    assert (np.diff(numbers[:, 1]) < 0).all()


def test_the_number_of_threads_does_not_change_a_byte(tmp_path, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    for workers in (1, 2):
        monkeypatch.setattr("search.evaluation.ThreadPoolExecutor", lambda workers=workers: ThreadPoolExecutor(workers))
        searched(tmp_path / str(workers), population=600, generations=2)
    for name in FILES:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_front_of_a_small_space_is_the_true_one(tmp_path):
    # Everything is rated, so brute force over all 56 networks must give the same front.
    result = searched(tmp_path, spaces=["mnasnet"], generations=100, objectives=["params", "latency_ms"])
    everything = searched(tmp_path / "random", spaces=["mnasnet"], generations=100, algorithm="random",
                          objectives=["params", "latency_ms"])  # fmt: skip
    with (tmp_path / "evaluated.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if float(row["in_range"])]
    numbers = [(float(row["params"]), float(row["latency_ms@jetson-tx2"]), row["network"]) for row in rows]
    true = {n for p, t, n in numbers if not any(q <= p and u <= t and (q, u) != (p, t) for q, u, _ in numbers)}
    assert {point.network for point in result.points} == true == {point.network for point in everything.points}
