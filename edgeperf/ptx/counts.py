"""What an analysis says: executed instructions of kernels and of whole networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeperf.ptx.records import Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCount:
    """How often one basic block runs.

    Attributes:
        label: that stands before the block; empty where there is none.
        first: index of its first instruction in the kernel.
        end: index after its last instruction.
        threads: runs, summed over threads.
        warps: runs, summed over warps that reconverge as early as possible.
    """

    label: str
    first: int
    end: int
    threads: int
    warps: int

    @property
    def instructions(self) -> int:
        """Instructions in the block."""
        return self.end - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCount:
    """Executed instructions of one launch of one kernel.

    Attributes:
        launch: which kernel with which geometry.
        blocks: counts per basic block that can be reached.
        opcodes: opcode with modifiers → executions by threads; a predicated instruction counts whether or not its guard
            is met, as the hardware issues it either way.
        warp_opcodes: the same, by warps.
        categories: category → executions by threads.
        guard_true: executions of predicated instructions, other than branches, with their guard met; None where that
            depends on data.
        slice_size: instructions that decide the control flow.
    """

    launch: Launch
    blocks: tuple[BlockCount, ...]
    opcodes: Mapping[str, int]
    warp_opcodes: Mapping[str, int]
    categories: Mapping[str, int]
    guard_true: int | None
    slice_size: int

    @property
    def executed(self) -> int:
        """Instructions, summed over threads."""
        return sum(block.threads * block.instructions for block in self.blocks)

    @property
    def warp_executed(self) -> int:
        """Instructions, summed over warps."""
        return sum(block.warps * block.instructions for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A kernel whose count cannot be known.

    Attributes:
        kernel: its name.
        launches: how often the network launches it.
        line: the instruction that stands in the way; 0 where no single one does.
        reason: why, in words.
    """

    kernel: str
    launches: int
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCount:
    """Executed instructions of all launches of a network.

    Attributes:
        network: its name.
        arch: compiler target, e.g. ``"sm_53"``.
        compiler: name, version and flags; the count belongs to them.
        counts: one per different launch, with the number of times it occurs.
        refused: kernels that are not in the totals.
    """

    network: str
    arch: str
    compiler: str
    counts: tuple[tuple[KernelCount, int], ...]
    refused: tuple[Refusal, ...] = field(default=())

    @property
    def launches(self) -> int:
        """Kernel launches that are counted."""
        return sum(times for _, times in self.counts)

    @property
    def executed(self) -> int:
        """Instructions, summed over the threads of all launches."""
        return sum(count.executed * times for count, times in self.counts)

    @property
    def warp_executed(self) -> int:
        """Instructions, summed over the warps of all launches."""
        return sum(count.warp_executed * times for count, times in self.counts)

    @property
    def categories(self) -> dict[str, int]:
        """Category → executions by threads, largest first."""
        return _summed((count.categories, times) for count, times in self.counts)

    @property
    def opcodes(self) -> dict[str, int]:
        """Opcode → executions by threads, largest first."""
        return _summed((count.opcodes, times) for count, times in self.counts)

    def to_dict(self) -> dict[str, Any]:
        """The shape that ``edgeperf ptx --json`` prints."""
        return {
            "network": self.network,
            "arch": self.arch,
            "compiler": self.compiler,
            "launches": self.launches,
            "kernels": len({count.launch.kernel for count, _ in self.counts}),
            "executed": self.executed,
            "warp_executed": self.warp_executed,
            "categories": self.categories,
            "refused": [
                {"kernel": item.kernel, "launches": item.launches, "line": item.line, "reason": item.reason}
                for item in self.refused
            ],
        }


def _summed(parts: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for mapping, times in parts:
        for name, value in mapping.items():
            total[name] += value * times
    return dict(total.most_common())
