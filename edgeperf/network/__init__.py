"""A model file → `Network`, and what a predictor wants to know of it. Needs no Keras, NumPy or TensorFlow."""

from edgeperf.network.features import FEATURE_NAMES, FEATURE_SCHEMA, FEATURES, features

__all__ = ["FEATURES", "FEATURE_NAMES", "FEATURE_SCHEMA", "features"]
