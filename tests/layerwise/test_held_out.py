from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from edgeperf.layerwise.fitting import fit_measured
from edgeperf.layerwise.held_out import FOLDS, held_out
from edgeperf.layerwise.roofline import roof_reached
from edgeperf.layerwise.validation import Score
from tests.layerwise.networks import made_up_table


def measured() -> pd.DataFrame:
    return made_up_table().assign(device="mine", phase="inference")


def error(table: pd.DataFrame, *, on_gpu: bool | None = None) -> Score | None:
    found = held_out(table, roof_reached(table, device="mine"), device="mine", on_gpu=on_gpu, seed=0)
    return None if found is None else found.error()


def test_times_without_a_law_are_further_off_than_times_with_one():
    table, chance = measured(), np.random.default_rng(0)
    lawful = error(table)
    lawless = error(table.assign(latency_ms=table["latency_ms"] * np.exp(chance.normal(0, 1, len(table)))))
    assert lawful is not None
    assert lawless is not None
    assert lawful.n == len(table)
    assert lawful.median < 15
    assert lawless.median > 40


def test_repeats_of_an_operation_do_not_make_it_known():
    chance = np.random.default_rng(0)
    table = measured().head(61)  # not a multiple of the folds, so that rows by number would be spread over them
    noisy = table.assign(latency_ms=table["latency_ms"] * np.exp(chance.normal(0, 1, len(table))))
    repeated = error(pd.concat([noisy] * 4, ignore_index=True))
    assert repeated is not None
    assert repeated.median > 40


def test_on_a_processor_the_time_of_a_call_is_no_part_of_what_is_judged():
    table = measured()
    identity = table.head(1).assign(kind="Identity", macs=0, weights=0, latency_ms=table["latency_ms"].min() / 2)
    table = pd.concat([table, identity], ignore_index=True)
    counted = {on_gpu: error(table, on_gpu=on_gpu) for on_gpu in (False, True, None)}
    assert {on_gpu: found and found.n for on_gpu, found in counted.items()} == {False: 240, True: 241, None: 241}


def test_a_few_operations_fit_but_tell_no_error():
    few = measured().head(FOLDS - 1)
    assert fit_measured(few, device="mine", seed=0) is not None
    assert error(few) is None
    assert error(measured().head(FOLDS)) is not None


@pytest.mark.parametrize("on_gpu", [False, None])
def test_this_host_is_taken_for_a_processor(on_gpu: bool | None):
    table = measured().assign(device="host-cpu")
    table.loc[0, "kind"] = "Identity"
    roof = roof_reached(table, device="host-cpu")
    found = held_out(table, roof, device="host-cpu", on_gpu=on_gpu, seed=0)
    assert found is not None
    assert found.error().n == len(table) - 1
