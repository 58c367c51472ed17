"""Names for the arrays that surrogates pass around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Block = NDArray[np.floating[Any]]
"""Part of a matrix in whatever precision it is worked on."""
