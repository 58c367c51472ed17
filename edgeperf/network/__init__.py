"""A model file → `Network`, and what a predictor wants to know of it. Needs no Keras, NumPy or TensorFlow."""

from edgeperf.network.features import FEATURE_NAMES, FEATURE_SCHEMA, FEATURES, features
from edgeperf.network.memory import MemoryPlan, memory_plan
from edgeperf.network.readers import read_network
from edgeperf.network.rows import layer_rows

__all__ = [
    "FEATURES",
    "FEATURE_NAMES",
    "FEATURE_SCHEMA",
    "MemoryPlan",
    "features",
    "layer_rows",
    "memory_plan",
    "read_network",
]
