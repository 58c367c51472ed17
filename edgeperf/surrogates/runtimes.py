"""A device whose runtime is known → prices that need no measurement, because the runtime or the memory sets them.

TensorFlow 1 runs every layer as a kernel of its own, so all prices are fitted. TensorRT folds normalisation, bias,
activation and padding into convolutions, lets them write straight into a concatenation, and adds a shortcut while it
writes: the first cost nothing, the last costs reading the shortcut. What it cannot fold moves tensors at the speed of
the memory, and so do the inputs and outputs of convolutions and the weights of dense layers at batch size 1. Left open
are the arithmetic of convolutions, their tiles, waves, weights and launches, and the inputs of dense layers: a product
of millions of inputs with ten outputs stays far below the memory's speed.

Reference:
    NVIDIA, "TensorRT Developer Guide", sections on layer fusion and on the elimination of concatenations.
    `edgeperf.hardware` for the memory's bandwidth.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from edgeperf.hardware import gpu
from edgeperf.network.graph_quantities import CONV_CLASSES, DENSE_CLASS, PASS_CLASSES, QUANTITY_NAMES, ROOFS
from edgeperf.surrogates.arrays import Vector

REACHED: Final = 0.6
"""Share of the peak bandwidth that streaming kernels reach."""
STREAMED: Final = f"{DENSE_CLASS}_bytes_in"
"""Fitted on latency and on energy, it shows what the board draws while it only streams."""
_FUSED: Final = ("relu", "bias", "batch_norm", "pad", "concat", "softmax", "other")
_SHORTCUT: Final = 1 / 3
"""Of the two reads and one write of an addition, the one read that is left when a convolution does it."""
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
    prices["add_bytes"] = _SHORTCUT * per_byte
    # Traffic is paid for beside the arithmetic, which leaves nothing to a roofline, the larger of the two.
    for name in CONV_CLASSES:
        prices |= {f"{name}_roof{ratio}": 0.0 for ratio in ROOFS}
        prices |= {f"{name}_{quantity}": per_byte for quantity in ("bytes_in", "bytes_out")}
    prices |= {name: 0.0 for name in QUANTITY_NAMES if name.startswith(f"{DENSE_CLASS}_")}
    prices |= {f"{DENSE_CLASS}_bytes_weights": per_byte, "bytes_input": per_byte, "calls": 0.0, STREAMED: np.nan}
    return np.array([prices[name] for name in QUANTITY_NAMES])
