from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.measurements import by_clock
from edgeperf.layerwise.sweeps import swept
from tests.layerwise.networks import made_up_sweep, network_of, small_network

CLOCKS = (400.0, 600.0, 800.0, 950.0, 1200.0)
QUIETEST = 600.0
TREES = 3e-3
"""Trees of different clocks split a little differently."""


def sweep(**changes: object) -> pd.DataFrame:
    return made_up_sweep(CLOCKS, least_energy_mhz=QUIETEST).assign(device="mine", **changes)


def test_the_optima_over_clocks_are_those_of_the_closed_form():
    # Kinds that were measured: what others are taken for hangs on how trees split, which differs from clock to clock.
    network = network_of(lambda n, x: n.ReLU()(n.Conv2D(32, 3, padding="same")(n.ReLU()(x))), (28, 28, 16))
    found = swept(network, sweep(), device="mine", seed=0)
    clocks = np.array([each.clock_mhz for each in found.clocks])
    assert clocks.tolist() == list(CLOCKS)
    # Time goes with 1/f and power with 2 q^3 + f^3: energy is least at q, the energy-delay product at the cube root of
    # 4 times q, which is 952 MHz.
    energy = clocks**2 + 2 * QUIETEST**3 / clocks
    delay = energy / clocks
    for name, truth in (("latency_ms", 1 / clocks), ("energy_mj", energy), ("energy_delay_mj_ms", delay)):
        costs = np.array([getattr(each, name) for each in found.clocks])
        assert costs / costs[0] == pytest.approx(truth / truth[0], rel=TREES)
    for optimum, cost, best in zip(found.optima, (energy, delay), (600.0, 950.0), strict=True):
        assert optimum.clock_mhz == best
        first, second = np.sort(cost)[:2]
        assert optimum.margin_share == pytest.approx(second / first - 1, abs=TREES)
        assert optimum.saved_share == pytest.approx(1 - first / cost[-1], abs=TREES)


def test_clocks_without_power_have_times_and_no_optimum():
    found = swept(small_network(), sweep(power_mw=np.nan), device="mine", seed=0)
    assert found.optima == ()
    assert all(each.latency_ms > 0 and each.energy_mj is None for each in found.clocks)
    table = sweep()
    table.loc[table["set_clock_mhz"] == 600.0, "power_mw"] = np.nan
    assert swept(small_network(), table, device="mine", seed=0).optima[0].clock_mhz == 800.0


def test_each_clock_has_its_own_rows_of_one_phase_and_batch_size():
    table = sweep()
    others = [table.head(3).assign(phase="training"), table.head(3).assign(batch_size=8)]
    left_alone = table.head(5).assign(set_clock_mhz=np.nan)
    found = by_clock(pd.concat([table, *others, left_alone], ignore_index=True), "mine")
    assert {clock: len(rows) for clock, rows in found.items()} == dict.fromkeys(CLOCKS, len(table) // 5)


@pytest.mark.parametrize(("clock", "message"), [(600.0, "at 600 MHz; expected two"), (np.nan, "at no fixed clock")])
def test_a_table_of_one_clock_is_no_sweep(clock: float, message: str):
    with pytest.raises(InvalidInput, match=message):
        by_clock(sweep(set_clock_mhz=clock), "mine")
    with pytest.raises(InvalidInput, match="at no fixed clock"):
        by_clock(sweep().drop(columns="set_clock_mhz"), "mine")
