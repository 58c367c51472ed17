"""Cells of NAS-Bench-201: strings, dead edges, parameters."""

import csv

import pytest

from edgeperf.zoo import family
from edgeperf.zoo.nasbench201 import EDGE_GENES, EDGES, live_cell, parse

BEST = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"


def network(cell):
    return family("nasbench201").network({**dict(zip(EDGE_GENES, cell, strict=True)), "input_size": 32})


def test_strings_name_operations_in_the_order_of_edges():
    assert parse(BEST) == ("nor_conv_3x3",) * 3 + ("skip_connect",) + ("nor_conv_3x3",) * 2


def test_an_edge_that_leads_nowhere_is_dead():
    cell = parse("|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|")
    assert live_cell(cell) == ("none", "none", "none", "skip_connect", "none", "none")


def test_live_cells_are_what_a_search_over_all_paths_finds():
    paths = [[(0, 3)], [(0, 1), (1, 3)], [(0, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)]]
    for number in range(0, 5**6, 7):
        cell = tuple(
            ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")[number // 5**i % 5]
            for i in range(6)
        )
        on = dict(zip(EDGES, cell, strict=True))
        used = {edge for path in paths if all(on[step] != "none" for step in path) for edge in path}
        assert live_cell(cell) == tuple(on[edge] if edge in used else "none" for edge in EDGES)


@pytest.mark.data
def test_parameters_are_the_published_ones_where_no_edge_is_dead(shared_data):
    with (shared_data / "nasbench201" / "accuracy.csv").open() as lines:
        rows = [row for number, row in enumerate(csv.DictReader(lines)) if number % 200 == 0]
    for row in rows:
        cell = parse(row["arch_str"])
        if live_cell(cell) != cell:
            continue
        layers = network(cell).layers
        # The benchmark's network for CIFAR-10 has 10 classes, and its count leaves running statistics out.
        trained = sum(layer.params // (2 if layer.kind == "BatchNormalization" else 1) for layer in layers) - 90 * 65
        assert trained == pytest.approx(float(row["params_m_cifar10"]) * 1e6, abs=1)
