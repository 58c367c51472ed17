"""The analyzer against the interpreter on kernels that nobody wrote by hand."""

from __future__ import annotations

import pytest

from edgeperf.ptx import analysis
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.execution import Budget
from edgeperf.ptx.interpreter import TooLong, interpret
from edgeperf.ptx.parser import parse
from tests.ptx.helpers import per_instruction
from tests.ptx.random_kernels import random_kernel

BUDGET = Budget(block_runs=5_000, numbers=2**26)
LIMIT = 400_000


def agrees(seed: int) -> bool:
    """Whether the kernel ends; both must say so, and then count alike."""
    text, launch = random_kernel(seed)
    kernel = parse(text).kernels["k"]
    try:
        executed = interpret(kernel, launch, limit=LIMIT)
    except TooLong:
        return False
    try:
        count = analyze(kernel, launch, budget=BUDGET)
    except Refused:
        # A divisor of zero: the interpreter goes on with what the manual leaves open.
        return False
    assert per_instruction(kernel, count) == (executed.threads, executed.warps), f"seed {seed}"
    assert count.guard_true == executed.guard_true, f"seed {seed}"
    return True


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_kernels_agree(start: int) -> None:
    ended = sum(agrees(seed) for seed in range(start, start + 50))
    assert ended > 35


@pytest.mark.parametrize("most_numbers", [100, 10**6])
def test_merged_threads_and_parts_of_the_launch_change_nothing(
    most_numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels this small are neither merged nor split unless they are made to be."""
    monkeypatch.setattr(analysis, "WORTH_IT", 0)
    monkeypatch.setattr(analysis, "MOST_NUMBERS", most_numbers)
    assert sum(agrees(seed) for seed in range(300, 360)) > 45


@pytest.mark.slow
@pytest.mark.parametrize("start", range(300, 5300, 250))
def test_five_thousand_random_kernels_agree(start: int) -> None:
    ended = sum(agrees(seed) for seed in range(start, start + 250))
    assert ended > 200
