"""A model file → `Network`, and what a predictor wants to know of it. Needs no Keras, NumPy or TensorFlow."""

from edgeperf.network.features import FEATURE_NAMES, FEATURE_SCHEMA, FEATURES, features
from edgeperf.network.readers import read_network

__all__ = ["FEATURES", "FEATURE_NAMES", "FEATURE_SCHEMA", "features", "read_network"]
