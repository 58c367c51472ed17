from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.clocks import cheapest, clock_curve, half_of

CLOCKS = np.linspace(100.0, 1300.0, 13)


def law(clocks: np.ndarray, fixed: float = 2.0, scaled: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
    """Time and power that follow the two laws exactly."""
    relative = clocks / CLOCKS.max()
    return fixed + scaled / relative, 3000.0 + 1000.0 * relative + 9000.0 * relative**3


def test_a_curve_that_follows_the_laws_is_recovered_from_half_of_the_clocks():
    latency, power = law(CLOCKS)
    half = half_of(CLOCKS)
    curve = clock_curve(CLOCKS[half], latency[half], power[half])
    assert len(half) == 6
    assert curve.latency_at(CLOCKS) == pytest.approx(latency, rel=1e-6)
    assert curve.power_at(CLOCKS) == pytest.approx(power, rel=1e-6)


@given(st.floats(0.1, 20.0), st.floats(0.1, 20.0))
def test_the_optimum_is_the_best_of_all_clocks(fixed: float, scaled: float):
    latency, power = law(CLOCKS, fixed, scaled)
    curve = clock_curve(CLOCKS, latency, power)
    for objective, cost in (("energy", latency * power), ("energy-delay", latency**2 * power)):
        found = curve.optimum(CLOCKS, objective)
        assert found.clock_mhz == pytest.approx(CLOCKS[cost.argmin()])
        assert found.saved_share == pytest.approx(1 - cost.min() / cost[-1], abs=1e-6)


def test_noise_of_one_measured_clock_does_not_draw_the_choice_to_it():
    latency, power = law(CLOCKS)
    cost = latency * power
    best, half = int(cost.argmin()), np.arange(0, 13, 2)
    assert best % 2 == 1  # between two measured clocks
    noisy = power[half] * (1 + 0.01 * np.isin(half, [best - 1]) - 0.01 * np.isin(half, [best + 3]))
    found = clock_curve(CLOCKS[half], latency[half], noisy).optimum(CLOCKS, "energy")
    assert abs(CLOCKS.tolist().index(found.clock_mhz) - best) <= 1


def test_measured_points_are_reproduced_even_where_no_law_holds():
    chance = np.random.default_rng(0)
    latency, power = chance.uniform(1, 9, 13), chance.uniform(1000, 9000, 13)
    order = chance.permutation(13)
    curve = clock_curve(CLOCKS[order], latency[order], power[order])
    assert curve.latency_at(CLOCKS) == pytest.approx(latency)
    assert curve.cost_at(CLOCKS) == pytest.approx(latency * power / 1e3)


@pytest.mark.parametrize(
    ("clocks", "latency", "message"),
    [
        ([1.0, 2.0], [1.0, 1.0], "three or more"),
        ([1.0, 1.0, 2.0], [1.0, 1.0, 1.0], "each once"),
        ([1.0, 2.0, 3.0], [1.0, 0.0, 1.0], "positive"),
        ([1.0, 2.0, 3.0], [1.0, 1.0], "as many of each"),
    ],
)
def test_measurements_that_make_no_curve_are_refused(clocks, latency, message):
    with pytest.raises(InvalidInput, match=message):
        clock_curve(clocks, latency, [1.0] * len(clocks))


def test_unknown_objectives_are_refused():
    latency, power = law(CLOCKS)
    with pytest.raises(InvalidInput, match="energy-delay"):
        clock_curve(CLOCKS, latency, power).cost_at(CLOCKS, "speed")


def test_the_margin_is_what_the_next_best_clock_costs_more():
    latency, power = np.array([4.0, 2.0, 1.0]), np.array([1000.0, 1500.0, 4000.0])
    found = cheapest(CLOCKS[:3], latency, power, "energy")  # 4, 3 and 4 mJ
    assert (found.clock_mhz, found.cost) == (CLOCKS[1], 3.0)
    assert (found.saved_share, found.margin_share) == (pytest.approx(1 / 4), pytest.approx(1 / 3))
    assert clock_curve(CLOCKS[:3], latency, power).optimum(CLOCKS[:3]).margin_share == pytest.approx(1 / 3)
    assert cheapest(CLOCKS[:1], latency[:1], power[:1], "energy").margin_share is None


@pytest.mark.parametrize("offered", [[], [-5.0, 600.0], [0.0], [float("nan")]])
def test_clocks_that_no_device_has_are_refused(offered: list[float]):
    curve = clock_curve(CLOCKS, *law(CLOCKS))
    with pytest.raises(InvalidInput, match="expected one or more, in MHz above 0"):
        curve.optimum(offered)
    assert curve.optimum([600.0, 700.0]).clock_mhz in (600.0, 700.0)
