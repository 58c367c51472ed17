"""What a power sensor does to a load: a low-pass filter, then steps of one quantum.

The INA3221 averages recursively, so a reading follows a step of the true power as ``1 - exp(-t / tau)``. A burst much
shorter than tau hardly moves it, whence power is read on a plateau that lasts until the reading stands within half a
quantum of the truth. What is left then is the rounding of the sensor itself.

Reference: Texas Instruments, INA3221 data sheet (SBOS576), sections 8.4.2 and 8.6.2.1, configuration register.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

LARGEST_STEP_MW = 30_000.0
"""From idle to load; no module that has these sensors takes more on its GPU rail."""


def settle_s(*, time_constant_ms: float, quantum_mw: float, step_mw: float = LARGEST_STEP_MW) -> float:
    """How long a load must last until the reading stands within half a quantum of it, in seconds.

    >>> round(settle_s(time_constant_ms=430.0, quantum_mw=76.0), 1)
    2.9
    """
    return time_constant_ms / 1000.0 * max(0.0, math.log(2.0 * step_mw / quantum_mw))


def simulate(
    times_s: npt.NDArray[np.float64],
    power_mw: npt.NDArray[np.float64],
    *,
    time_constant_ms: float,
    quantum_mw: float,
) -> npt.NDArray[np.float64]:
    """Readings in mW, shape (n,), of a sensor that sees `power_mw` from each time in `times_s` until the next.

    Args:
        times_s: ascending, shape (n,), in seconds.
        power_mw: true power, shape (n,); the sensor has seen the first value for ever.
        time_constant_ms: of the averaging filter.
        quantum_mw: readings are multiples of it.
    """
    decays = np.exp(-np.diff(times_s) * 1000.0 / time_constant_ms)
    filtered = np.empty_like(power_mw)
    filtered[0] = power_mw[0]
    for n, decay in enumerate(decays):
        filtered[n + 1] = power_mw[n] + (filtered[n] - power_mw[n]) * decay
    rounded: npt.NDArray[np.float64] = np.round(filtered / quantum_mw) * quantum_mw
    return rounded
