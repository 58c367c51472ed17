"""A search killed with SIGKILL at any moment goes on to the same front."""

import random
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys
from search import Limits, Question, run
from tests.search.fakes import FakeSurrogates
question = Question(spaces=["mobilenet-v2", "resnet"], devices=["jetson-tx2"], constraints=["latency_ms<=20"], seed=7,
                    population=20)
run(question, surrogates={"jetson-tx2": FakeSurrogates()}, limits=Limits(generations=12), progress=False,
    out=sys.argv[1], resume=True)
"""
FILES = ("front.csv", "front.json", "evaluated.csv", "report.html")


def started(out):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(out)])


def read(out):
    return {name: (out / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_the_front_after_kills_is_that_without_byte_for_byte(tmp_path, kills):
    begun = time.monotonic()
    assert started(tmp_path / "whole").wait(timeout=300) == 0
    whole_s = time.monotonic() - begun
    moments = random.Random(kills)  # noqa: S311 - moments, no secrets
    for number in range(kills):
        # Moments spread over start, generations and the writing of results.
        running = started(tmp_path / "killed")
        try:
            running.wait(timeout=whole_s * moments.uniform(0.3, 1.0))
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        if number % 5 == 4:
            assert started(tmp_path / "killed").wait(timeout=300) == 0
            assert read(tmp_path / "killed") == read(tmp_path / "whole")
            (tmp_path / "killed").rename(tmp_path / f"done{number}")
    assert started(tmp_path / "killed").wait(timeout=300) == 0
    assert read(tmp_path / "killed") == read(tmp_path / "whole")
