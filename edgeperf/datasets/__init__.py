"""Measured tables → one dataset form with a schema, provenance, checks and splits.

    dataset = load("../shared/data/bouzidi")          # raw tables, or what `import_table` wrote
    dataset.target("jetson-tx2", "latency_ms")        # one label per row

Devices of published tables are `jetson-nano`, `jetson-tx2`, `jetson-agx-xavier` (TensorFlow 1, GPU rail) and
`jetson-nano-tensorrt` (whole board); labels of different devices never pool.
"""

from edgeperf.datasets.dataset import Dataset, Provenance, build
from edgeperf.datasets.graphs import FeatureTable, feature_table
from edgeperf.datasets.tables import TABLES, check, import_table, load, shared_data

__all__ = [
    "TABLES",
    "Dataset",
    "FeatureTable",
    "Provenance",
    "build",
    "check",
    "feature_table",
    "import_table",
    "load",
    "shared_data",
]
