"""How fast the analyzer is: against interpretation, against the compiler, and over the size of the grid.

    python -m benchmarks.ptx_speed [--models FOLDER [--compiler PYTHON]]

Networks are the bundles in tests/ptx/compiled. Interpretation of a whole network would take hours, so it is timed on a
stated slice: of every kernel, the first block of threads, as long as SLICE instructions are not used up; its time per
instruction times the instructions of the network is what interpretation would take. ``--models`` also compiles the
networks from their Keras JSON files in that folder, in the same run, for the ratio of analysis to compilation; that
needs the extra ``ptx``, here or in the Python given as ``--compiler``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import write_result
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.bundle import Bundle, read_bundle
from edgeperf.ptx.interpreter import interpret
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Kernel, Launch

COMPILED = Path(__file__).parents[1] / "tests" / "ptx" / "compiled"
NETWORKS = ("MobileNetV2", "ResNet50", "VGG16")
SLICE = 300_000
REPEATS = 3
GRIDS = (8, 8_000, 8_000_000)
PUBLISHED = "Metz et al., Table IV: 6.8 to 60.2 s per CNN, on another machine and other PTX"

TID_ONLY = """.version 8.8
.target sm_53
.address_size 64
.visible .entry k()
{
.reg .pred %p<3>; .reg .b32 %r<6>;
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 7;
$L:
add.u32 %r3, %r1, 1;
setp.lt.u32 %p1, %r3, 100;
@%p1 bra $S;
add.u32 %r4, %r3, 1;
$S:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 20;
@%p2 bra $L;
ret;
}
"""


def best(run: Callable[[], Any]) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def kernels_of(bundle: Bundle) -> dict[str, Kernel]:
    """All kernels by name."""
    return {name: kernel for text in bundle.texts.values() for name, kernel in parse(text).kernels.items()}


def seconds_per_instruction(bundle: Bundle, most: int = SLICE) -> tuple[float, int]:
    """Interpretation on the slice, and how many instructions that was."""
    kernels = kernels_of(bundle)
    instructions, seconds = 0, 0.0
    for launch in dict.fromkeys((item.kernel, item.block) for item in bundle.launches.launches):
        small = Launch(kernel=launch[0], grid=(1, 1, 1), block=launch[1])
        expected = analyze(kernels[launch[0]], small).executed
        if expected > most - instructions:
            continue
        started = time.perf_counter()
        instructions += interpret(kernels[launch[0]], small).executed
        seconds += time.perf_counter() - started
    return seconds / instructions, instructions


def network(name: str) -> dict[str, Any]:
    """Parse, analysis and interpretation of one network."""
    bundle = read_bundle(COMPILED / f"{name}-sm_53.tar.xz")
    parsing = best(lambda: kernels_of(bundle))
    both = best(lambda: count_bundle(bundle))
    found = count_bundle(bundle)
    per_instruction, sliced = seconds_per_instruction(bundle)
    return {
        "network": name,
        "executed": found.executed,
        "parse_s": round(parsing, 3),
        "parse_and_analysis_s": round(both, 3),
        "slice_share_of_static_%": round(
            100
            * sum(count.slice_size for count, _ in found.counts)
            / sum(block.instructions for count, _ in found.counts for block in count.blocks),
            1,
        ),
        "interpretation_s": round(per_instruction * found.executed),
        "slice_instructions": sliced,
        "times_faster": round(per_instruction * found.executed / both),
    }


def compiled(model: Path) -> dict[str, Any]:
    """The compiler's time for the same network, and the analysis of what it compiled just now."""
    from edgeperf.ptx.xla import compile_network

    bundle = compile_network(model, arch="sm_53")
    both = best(lambda: count_bundle(bundle))
    seconds = (bundle.compiler or {})["compile_s"]
    return {
        "network": bundle.network,
        "compile_s": seconds,
        "parse_and_analysis_s": round(both, 3),
        "ratio": round(both / seconds, 2),
    }


def grids() -> list[dict[str, Any]]:
    """Analysis of a kernel whose slice reads only the index in the block, over the size of the grid."""
    kernel = parse(TID_ONLY).kernels["k"]
    rows = []
    for blocks in GRIDS:
        launch = Launch(kernel="k", grid=(blocks, 1, 1), block=(128, 1, 1))
        rows.append(
            {"threads": launch.threads, "analysis_ms": round(1000 * best(lambda at=launch: analyze(kernel, at)), 2)}
        )
    return rows


def main() -> None:
    """Writes results/ptx_speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, help="folder of Keras JSON files, to time the compiler on too")
    parser.add_argument("--compiler", type=Path, help="a Python that has the extra `ptx`")
    arguments = parser.parse_args()
    if arguments.compiler is not None:
        # The compiler always runs in a process of its own; here it is another installation's.
        sys.executable = str(arguments.compiler)
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    rows = [network(name) for name in NETWORKS]
    figures: dict[str, Any] = {"rows": rows, "grids": grids(), "slice": SLICE, "context": PUBLISHED}
    if arguments.models is not None:
        figures["compiler"] = [compiled(arguments.models / f"{name}.json") for name in NETWORKS]
    write_result("ptx_speed", figures, about=__doc__, table=rows)
    print(figures)


if __name__ == "__main__":
    main()
