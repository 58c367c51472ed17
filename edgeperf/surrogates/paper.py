"""What the paper feeds its models.

Reference:
    Bouzidi et al. 2022, section 4 (features) and section 5.4 (reduced features for memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

PAPER_FEATURES: Final = (
    "input_size", "num_layers", "activations", "flops", "params_conv", "params_batch_norm", "params_dense", "num_conv",
    "num_batch_norm", "num_dense", "weighted_neurons",
)  # fmt: skip
"""Features of the paper's time and power models, its section 4; `input_size` is the image's width."""
PAPER_MEMORY_FEATURES: Final = ("input_size", "num_layers", "activations", "params")
"""Its reduced features for memory."""


def paper_features(metric: str) -> Sequence[str]:
    """Names of the paper's features for the metric."""
    return PAPER_MEMORY_FEATURES if metric == "memory_mib" else PAPER_FEATURES
