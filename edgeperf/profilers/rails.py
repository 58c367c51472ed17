"""Names of the rails on a tegrastats line → which of them is the GPU, and what the whole board takes.

"GPU power" is a different quantity on each board: some have a rail of their own for the GPU, others merge it with CPU
or SoC. The rail is therefore part of every label. The board is recognised by its rails alone, because a recording
names nothing else.

Reference: NVIDIA Jetson Linux Developer Guide, "Power and performance", section on INA3221 rails of each module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rail:
    """One power reading on one line.

    Attributes:
        name: as the board prints it.
        current_mw: latest reading in mW.
        average_mw: running mean since tegrastats started, in mW; not a window.
        third_mw: third number that JetPack 7.2 prints, whose meaning is not documented; None elsewhere.
    """

    name: str
    current_mw: int
    average_mw: int
    third_mw: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RailLayout:
    """Which rails a family of boards has, and what its sensors do to a reading.

    Attributes:
        board: family of modules that print these rails.
        gpu: rail whose reading is called GPU power.
        total: rails whose sum is the power of the whole module.
        marks: rails that, together with `gpu` and `total`, tell this family from another.
        quantum_mw: step between two readings of the GPU rail.
        time_constant_ms: of the averaging filter under the JetPack that prints these names without units.
    """

    board: str
    gpu: str
    total: tuple[str, ...]
    marks: tuple[str, ...] = ()
    quantum_mw: float
    time_constant_ms: float

    def fits(self, names: Iterable[str]) -> bool:
        """Whether all rails of this family are among `names`."""
        return {self.gpu, *self.total, *self.marks} <= set(names)


NANO_FILTER_MS, TX2_FILTER_MS, JETPACK_5_FILTER_MS = 54.0, 430.0, 6.6
"""INA3221 configurations 0x7607 (64 averages), 0x7c07 (512 averages) and 0x7127 (none: one conversion cycle)."""

LAYOUTS = (
    RailLayout(
        board="AGX Orin",
        gpu="VDD_GPU_SOC",
        total=("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),  # VDDQ_VDD2_1V8AO is inside VIN_SYS_5V0
        quantum_mw=400.0,
        time_constant_ms=JETPACK_5_FILTER_MS,
    ),
    RailLayout(
        board="AGX Xavier",
        gpu="GPU",
        total=("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),
        quantum_mw=155.0,
        time_constant_ms=TX2_FILTER_MS,
    ),
    RailLayout(
        board="Xavier NX, Orin NX or Orin Nano",
        gpu="VDD_CPU_GPU_CV",
        total=("VDD_IN",),
        quantum_mw=40.0,
        time_constant_ms=TX2_FILTER_MS,
    ),
    RailLayout(
        board="Nano",
        gpu="POM_5V_GPU",
        total=("POM_5V_IN",),
        quantum_mw=40.0,
        time_constant_ms=NANO_FILTER_MS,
    ),
    RailLayout(
        board="TX2",
        gpu="VDD_SYS_GPU",
        total=("VDD_IN",),
        quantum_mw=76.0,
        time_constant_ms=TX2_FILTER_MS,
    ),
    RailLayout(
        board="TX2",
        gpu="VDD_GPU",
        total=("VDD_IN",),
        marks=("VDD_SOC",),
        quantum_mw=76.0,
        time_constant_ms=TX2_FILTER_MS,
    ),
    RailLayout(
        board="TX1",
        gpu="VDD_GPU",
        total=("VDD_IN",),
        quantum_mw=19.0,
        time_constant_ms=TX2_FILTER_MS,
    ),
)


def layout_of(names: Iterable[str]) -> RailLayout | None:
    """The family of boards that has these rails; None where no known family does.

    >>> layout_of(["POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"]).board
    'Nano'
    """
    present = set(names)
    return next((layout for layout in LAYOUTS if layout.fits(present)), None)


def reading(rails: Sequence[Rail], name: str) -> int | None:
    """The latest reading of one rail in mW; None where no rail, or more than one, has that name."""
    found = [rail.current_mw for rail in rails if rail.name == name]
    return found[0] if len(found) == 1 else None


def gpu_mw(rails: Sequence[Rail]) -> int | None:
    """Power of the GPU rail in mW; 0 where the rail is gated, None where the board has no known GPU rail."""
    layout = layout_of(rail.name for rail in rails)
    return reading(rails, layout.gpu) if layout else None


def total_mw(rails: Sequence[Rail]) -> int | None:
    """Power of the whole module in mW; None where a part of the sum is missing.

    A board that prints readings draws power, so a total of 0 is an unreadable sensor and gives None.
    """
    layout = layout_of(rail.name for rail in rails)
    if layout is None:
        return None
    parts = [reading(rails, name) for name in layout.total]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) and sum(known) > 0 else None
