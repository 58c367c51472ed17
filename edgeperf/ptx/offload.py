"""Local or offloaded: run a network on the device, or send its input to a server?

Closed forms, one inference at a time. Offloading takes a round trip, the transfer of input and result over the link,
and the server's time. It costs the device the radio's energy per byte, and its idle power while it waits::

    latency = round_trip + 8 * bytes / bandwidth + server
    energy  = radio * bytes + idle_power * latency

From these follow the bandwidths at which the answer turns. Energy at the server is not counted: it is not the device's.

Reference: Kumar and Lu, Cloud computing for mobile users: can offloading computation save energy?, IEEE Computer 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgeperf.errors import InvalidInput
from edgeperf.units import MILLISECONDS_PER_SECOND

BITS_PER_BYTE = 8
BITS_PER_MEGABIT = 10**6
MICROJOULES_PER_MILLIJOULE = 1000.0

Side = Literal["local", "offloaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The way to the server.

    Attributes:
        round_trip_ms: of an empty message.
        radio_uj_per_byte: energy that sending or receiving one byte costs the device.
        idle_power_mw: what the device draws while it waits.
    """

    round_trip_ms: float
    radio_uj_per_byte: float
    idle_power_mw: float = 0.0

    def __post_init__(self) -> None:
        for name in ("round_trip_ms", "radio_uj_per_byte", "idle_power_mw"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(f"{name} of a link must not be negative, and is {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One inference, here and there.

    Attributes:
        sent_bytes: the input.
        received_bytes: the result.
        local_latency_ms: on the device.
        local_energy_mj: on the device.
        server_latency_ms: on the server, without the link.
    """

    sent_bytes: int
    received_bytes: int
    local_latency_ms: float
    local_energy_mj: float
    server_latency_ms: float

    def __post_init__(self) -> None:
        for name in ("local_latency_ms", "local_energy_mj"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} must be positive, and is {getattr(self, name)}.")
        for name in ("sent_bytes", "received_bytes", "server_latency_ms"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(f"{name} must not be negative, and is {getattr(self, name)}.")

    @property
    def transferred_bytes(self) -> int:
        """Both ways together."""
        return self.sent_bytes + self.received_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer at one bandwidth.

    Attributes:
        bandwidth_mbit_s: of the link.
        offloaded_latency_ms: with everything that offloading takes.
        offloaded_energy_mj: that offloading costs the device.
        faster: which side.
        cheaper: which side costs the device less energy.
        faster_from_mbit_s: offloading is faster above this; None where it never is.
        cheaper_from_mbit_s: offloading costs the device less energy above this; None where it never does; 0 where it
            always does.
    """

    bandwidth_mbit_s: float
    offloaded_latency_ms: float
    offloaded_energy_mj: float
    faster: Side
    cheaper: Side
    faster_from_mbit_s: float | None
    cheaper_from_mbit_s: float | None


def transfer_ms(task: Task, bandwidth_mbit_s: float) -> float:
    """Time on the link for input and result.

    >>> task = Task(sent_bytes=1_000_000, received_bytes=0, local_latency_ms=1, local_energy_mj=1, server_latency_ms=0)
    >>> transfer_ms(task, 8.0)
    1000.0
    """
    if not bandwidth_mbit_s > 0:
        raise InvalidInput(f"The bandwidth must be positive, and is {bandwidth_mbit_s} Mbit/s.")
    bits = BITS_PER_BYTE * task.transferred_bytes
    return MILLISECONDS_PER_SECOND * bits / (BITS_PER_MEGABIT * bandwidth_mbit_s)


def offloaded_latency_ms(task: Task, link: Link, bandwidth_mbit_s: float) -> float:
    """Round trip, transfer and server together."""
    return link.round_trip_ms + transfer_ms(task, bandwidth_mbit_s) + task.server_latency_ms


def offloaded_energy_mj(task: Task, link: Link, bandwidth_mbit_s: float) -> float:
    """Radio energy, and idle power over the whole wait."""
    radio = link.radio_uj_per_byte * task.transferred_bytes / MICROJOULES_PER_MILLIJOULE
    return radio + link.idle_power_mw * offloaded_latency_ms(task, link, bandwidth_mbit_s) / MILLISECONDS_PER_SECOND


def decide(task: Task, link: Link, *, bandwidth_mbit_s: float) -> Decision:
    """Which side is faster, which costs the device less energy, and where that turns.

    Raises:
        InvalidInput: the bandwidth is not positive.
    """
    latency = offloaded_latency_ms(task, link, bandwidth_mbit_s)
    energy = offloaded_energy_mj(task, link, bandwidth_mbit_s)
    return Decision(
        bandwidth_mbit_s=bandwidth_mbit_s,
        offloaded_latency_ms=latency,
        offloaded_energy_mj=energy,
        faster="offloaded" if latency < task.local_latency_ms else "local",
        cheaper="offloaded" if energy < task.local_energy_mj else "local",
        faster_from_mbit_s=_bandwidth_for(task, task.local_latency_ms - link.round_trip_ms - task.server_latency_ms),
        cheaper_from_mbit_s=_cheaper_from(task, link),
    )


def _bandwidth_for(task: Task, transfer: float) -> float | None:
    """The bandwidth at which the transfer takes so many milliseconds; None where no bandwidth is enough."""
    bits = BITS_PER_BYTE * task.transferred_bytes
    return MILLISECONDS_PER_SECOND * bits / (BITS_PER_MEGABIT * transfer) if transfer > 0 else None


def _cheaper_from(task: Task, link: Link) -> float | None:
    radio = link.radio_uj_per_byte * task.transferred_bytes / MICROJOULES_PER_MILLIJOULE
    left = task.local_energy_mj - radio
    if link.idle_power_mw == 0:
        return 0.0 if left > 0 else None
    wait = MILLISECONDS_PER_SECOND * left / link.idle_power_mw
    return _bandwidth_for(task, wait - link.round_trip_ms - task.server_latency_ms)


def curve(task: Task, link: Link, bandwidths_mbit_s: Sequence[float]) -> list[Decision]:
    """The decision at each bandwidth, for tables and plots."""
    return [decide(task, link, bandwidth_mbit_s=bandwidth) for bandwidth in bandwidths_mbit_s]
