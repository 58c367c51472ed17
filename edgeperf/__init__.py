"""Predict what a CNN costs on an edge GPU, from the model file alone.

::

    a model file ──► Network ──► Features ──► Surrogate ──► Estimate ──► Front
    (.keras .json .h5 .onnx)        │              ▲            │           (search)
                                    │              │            └──► report
    a board ──► RawRun ──► Measurement ──► Dataset ┘

The public names load on first use (PEP 562): ``import edgeperf`` loads the standard library alone, and nothing on the
way from a model file to an estimate imports TensorFlow.

    import edgeperf

    network = edgeperf.read_network("resnet50.keras", input_size=224)
    edgeperf.features(network).values["macs"]
    edgeperf.predict(network, device="jetson-tx2")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from edgeperf.network import features, read_network
    from edgeperf.surrogates import predict

__all__ = ["__version__", "features", "predict", "read_network"]

_HOME_OF = {
    "features": "edgeperf.network",
    "predict": "edgeperf.surrogates",
    "read_network": "edgeperf.network",
}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'edgeperf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
