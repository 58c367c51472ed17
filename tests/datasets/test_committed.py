"""Measurements that the project published: they pass the checks that it asks of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeperf.datasets import check, load
from edgeperf.datasets.schema import TEST_SPLITS
from edgeperf.layerwise.measurements import of_device, read_measured
from edgeperf.network import read_network

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
HOST = RESULTS / "host_cpu"


def test_the_host_cpu_campaign_is_a_dataset_with_splits():
    dataset = load(HOST)
    assert not check(HOST).empty
    assert dataset.provenance.label_origin == "measured"
    assert set(dataset.rows["split"]) == {"train", *TEST_SPLITS}
    latencies = dataset.target("host-cpu", "latency_ms")
    assert len(latencies) >= 150
    assert latencies["family"].nunique() >= 15


@pytest.mark.parametrize("family", ["mobilenet-v2", "shufflenet-v2", "dpn", "efficientnet"])
def test_every_row_can_be_read_at_its_size(family: str):
    rows = load(HOST).target("host-cpu", "latency_ms")
    for row in rows[rows["family"] == family].itertuples():
        network = read_network(HOST / row.model_file, input_size=row.input_size)
        assert network.input_shape == (row.input_size, row.input_size, 3)


def test_the_operations_of_the_host_are_a_table():
    table = of_device(read_measured(RESULTS / "host_operations"), "host-cpu")
    assert len(table) >= 600
    assert table["kind"].nunique() >= 10
    assert table["power_mw"].isna().all()
