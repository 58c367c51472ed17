"""The measured architectures of Bouzidi et al. against the counts that their authors published."""

from __future__ import annotations

import csv
import gzip
from collections import Counter

import pytest

from edgeperf import features
from edgeperf.datasets.architectures import published_columns, read_templates
from edgeperf.errors import InvalidInput

pytestmark = pytest.mark.data

_COUNTS = {
    "params_conv": "params_conv",
    "params_bn": "params_batch_norm",
    "params_fc": "params_dense",
    "layers": "num_layers",
    "sum_activations": "activations",
}

# Templates whose published column contradicts the graph, by column; the graph is right.
_FAULTS = {
    "sum_activations": {"SEResNet-34#0", "DenseNet-264#0"},
    "weighted_sum_neurons": {"SEResNet-34#0", "DenseNet-161#0", "DenseNet-264#0", "Xception#0"},
    "params_conv": {"EfficientNet-B4#0", "SEResNext-50#0"},
    "params_bn": {"EfficientNet-B4#0", "SEResNext-50#0"},
    "params_fc": {"EfficientNet-B4#0"},
    "nb_conv_layers": {"EfficientNet-B4#0", "SEResNext-50#0"},
    "nb_bn_layers": {"EfficientNet-B4#0"},
}


@pytest.fixture(scope="module")
def templates(shared_data):
    return read_templates(shared_data / "bouzidi" / "architectures.jsonl.gz")


@pytest.fixture(scope="module")
def rows(shared_data):
    """One published row per template and size."""
    with (shared_data / "bouzidi" / "latency_ms.csv").open() as file:
        found = {(row["arch_id"], row["input_size"]): row for row in csv.DictReader(file) if row["arch_id"]}
    return list(found.values())


def test_templates_have_the_counts_that_their_file_states(templates):
    checked = [template for template in templates.values() if template.check is not None]
    assert len(checked) > 120
    for template in checked:
        values = features(template.network(template.check["size"])).values
        assert {name: values[ours] for name, ours in _COUNTS.items()} == {
            name: template.check[name] for name in _COUNTS
        }, template.arch_id


def test_published_columns_are_reproduced_but_for_their_known_faults(templates, rows):
    wrong: dict[str, set[str]] = {}
    flops_within_one_percent = 0
    for row in rows:
        network = templates[row["arch_id"]].network(int(row["input_size"]))
        ours = published_columns(network, synthetic=row["synthetic"] == "True")
        for column, value in ours.items():
            if column == "flops":
                flops_within_one_percent += abs(value / float(row[column]) - 1) < 0.01
            elif value != float(row[column]):
                wrong.setdefault(column, set()).add(row["arch_id"])
    assert wrong == _FAULTS
    assert flops_within_one_percent / len(rows) > 0.9


def test_125_of_128_templates_publish_what_their_graph_has(templates):
    published = Counter(
        template.check["matches_published"] for template in templates.values() if template.check is not None
    )
    matching = {
        template.arch_id
        for template in templates.values()
        if template.check is not None and template.check["matches_published"]
    }
    assert published[True] == 125
    assert not matching & {"EfficientNet-B4#0", "SEResNext-50#0"}


def test_a_size_that_the_graph_does_not_allow_is_refused(templates):
    with pytest.raises(InvalidInput, match="too small"):
        templates["Inception-v3#0"].network(16)


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"no json"), gzip.compress(b'{"arch_id": 1}')])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="architectures"):
        read_templates(path)
