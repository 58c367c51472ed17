"""A device whose runtime is known → prices that need no measurement, because the runtime or the memory sets them.

TensorFlow 1 runs every layer as a kernel of its own, so all prices are fitted. TensorRT folds normalisation, bias,
activation and padding into convolutions: these cost nothing. What it cannot fold moves tensors at the speed of the
memory, and so do the weights of dense layers at batch size 1. Of convolutions it leaves open what bounds them: their
work, tiles, weights and launches, and two rooflines near the machine's own ratio.

Reference:
    NVIDIA, "TensorRT Developer Guide", section on layer fusion. `edgeperf.hardware` for the memory's bandwidth.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from edgeperf.hardware import gpu
from edgeperf.network.graph_quantities import CONV_CLASSES, DENSE_CLASS, PASS_CLASSES, QUANTITY_NAMES
from edgeperf.surrogates.arrays import Vector

REACHED: Final = 0.6
"""Share of the peak bandwidth that streaming kernels reach."""
_FUSED: Final = ("relu", "bias", "batch_norm", "pad", "softmax", "other")
_REDUNDANT: Final = ("bytes_in", "bytes_out", "roof2", "roof30")
_GPU_OF_FUSING_DEVICE: Final = {"jetson-nano-tensorrt": "jetson-nano"}


def known_prices(device: str) -> Vector | None:
    """(quantities,) ms per unit, NaN where the price is to be fitted; None where all are."""
    if device not in _GPU_OF_FUSING_DEVICE:
        return None
    per_byte = 1 / (REACHED * gpu(_GPU_OF_FUSING_DEVICE[device]).memory_bandwidth_gb_s * 1e6)
    prices = dict.fromkeys(QUANTITY_NAMES, np.nan)
    for name in PASS_CLASSES:
        prices |= {f"{name}_{quantity}": 0.0 for quantity in ("count", "bytes", "bytes_floored")}
        if name not in _FUSED:
            prices[f"{name}_bytes"] = per_byte
    prices |= {name: 0.0 for name in QUANTITY_NAMES if name.startswith(f"{DENSE_CLASS}_")}
    prices |= {f"{name}_{quantity}": 0.0 for name in CONV_CLASSES for quantity in _REDUNDANT}
    prices |= {f"{DENSE_CLASS}_bytes_weights": per_byte, "bytes_input": per_byte, "calls": 0.0}
    return np.array([prices[name] for name in QUANTITY_NAMES])
