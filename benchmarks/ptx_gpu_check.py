"""The analyzer against a GPU, block by block; run it where CuPy or cuda-python sees one.

    python -m benchmarks.ptx_gpu_check [BUNDLE ...]

Checks the bundles (those in tests/ptx/compiled if none is named; the driver translates their PTX for the GPU at hand)
and some hundred random kernels of the tests. Writes results/ptx_gpu_check with every block that differs.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.record import write_result
from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.gpu_check import BlockComparison, Gpu, check_bundle, check_kernel, differences, find_gpu
from tests.ptx.random_kernels import random_kernel
from tests.ptx.test_random_kernels import agrees

COMPILED = Path(__file__).parents[1] / "tests" / "ptx" / "compiled"
RANDOM_KERNELS = 300


def summary(name: str, comparisons: list[BlockComparison]) -> dict[str, Any]:
    """How many blocks were compared and how many differ."""
    wrong = differences(comparisons)
    return {
        "source": name,
        "kernels": len({item.kernel for item in comparisons}),
        "blocks": len(comparisons),
        "blocks that differ": sum(map(len, wrong.values())),
    }


def random_comparisons(gpu: Gpu) -> list[BlockComparison]:
    """Kernels of the tests that end, each under its own name."""
    found: list[BlockComparison] = []
    for seed in filter(agrees, range(RANDOM_KERNELS)):
        text, launch = random_kernel(seed)
        found += [
            BlockComparison(kernel=f"random {seed}", block=item.block, analyzed=item.analyzed, measured=item.measured)
            for item in check_kernel(text, launch, gpu)
        ]
    return found


def main() -> None:
    """Writes results/ptx_gpu_check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path, default=sorted(COMPILED.glob("*-sm_*.tar.xz")))
    gpu = find_gpu()
    found = {path.name: check_bundle(read_bundle(path), gpu) for path in parser.parse_args().bundles}
    found["random kernels"] = random_comparisons(gpu)
    rows = [summary(name, comparisons) for name, comparisons in found.items()]
    wrong = [
        asdict(item) for comparisons in found.values() for part in differences(comparisons).values() for item in part
    ]
    write_result("ptx_gpu_check", {"rows": rows, "differences": wrong}, about=__doc__, table=rows)


if __name__ == "__main__":
    main()
