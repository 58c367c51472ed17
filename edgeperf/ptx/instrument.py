"""PTX text → the same kernel with a counter in every basic block.

Each block begins by adding 1 to its place in an array of the module, so that the kernel's signature and launch stay as
they are. After a run on a GPU the array holds how often threads entered each block: the analyzer's own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeperf.errors import InvalidInput
from edgeperf.ptx.flow import control_flow
from edgeperf.ptx.parser import parse

COUNTERS = "edgeperf_block_counters"
BYTES_PER_COUNTER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumented:
    """A rewritten module.

    Attributes:
        text: PTX with counters.
        kernel: which kernel has them.
        blocks: label or place of the block behind each counter, in the order of `edgeperf.ptx.flow.Flow.blocks`.
    """

    text: str
    kernel: str
    blocks: tuple[str, ...]


def instrument(text: str, kernel: str) -> Instrumented:
    """The module with counters in one of its kernels.

    Raises:
        InvalidInput: the text has no such kernel, or holds counters already.
        Refused: its control flow cannot be read.
    """
    module = parse(text)
    if kernel not in module.kernels:
        raise InvalidInput(f"There is no kernel {kernel}; the text holds {', '.join(module.kernels) or 'none'}.")
    if COUNTERS in text:
        raise InvalidInput(f"The text names {COUNTERS} already; it was rewritten before.")
    flow = control_flow(module.kernels[kernel])
    insertions = {
        flow.kernel.instructions[block.first].position: _increment(number)
        for number, block in enumerate(flow.blocks)
        if block.end > block.first
    }
    declaration = f"\n.visible .global .align 8 .b64 {COUNTERS}[{max(len(flow.blocks), 1)}];\n"
    insertions[module.header_end] = declaration
    pieces, last = [], 0
    for position, inserted in sorted(insertions.items()):
        pieces += [text[last:position], inserted]
        last = position
    names = tuple(block.label or f"instruction {block.first}" for block in flow.blocks)
    return Instrumented(text="".join((*pieces, text[last:])), kernel=kernel, blocks=names)


def _increment(number: int) -> str:
    return f"red.global.add.u64 [{COUNTERS}+{BYTES_PER_COUNTER * number}], 1;\n\t"
