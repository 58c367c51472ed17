"""Analyzer against a GPU: every block of every kernel, counted by the hardware.

Runs rewritten kernels (`edgeperf.ptx.instrument`) through CuPy or cuda-python, whichever is there. Control flow does
not depend on data, or the analyzer would have refused the kernel; so all pointers may point to one buffer of zeros.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from edgeperf.errors import InvalidInput
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.bundle import Bundle
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.instrument import COUNTERS, Instrumented, instrument
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Kernel, Launch

SCRATCH_BYTES = 2**30
"""Behind every pointer; larger than any tensor of the networks that this is meant for."""

_SCALARS: dict[str, type[np.integer[Any]]] = {
    "u32": np.uint32,
    "s32": np.int32,
    "b32": np.uint32,
    "u64": np.uint64,
    "s64": np.int64,
    "b64": np.uint64,
    "u16": np.uint16,
    "s16": np.int16,
    "u8": np.uint8,
    "s8": np.int8,
}


class Gpu(Protocol):
    """Something that runs a rewritten kernel."""

    def run(self, rewritten: Instrumented, kernel: Kernel, launch: Launch) -> list[int]:
        """The counters after one launch."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockComparison:
    """One basic block of one launch.

    Attributes:
        kernel: name of the kernel.
        block: label or place of the block.
        analyzed: how often threads enter it, by the analyzer.
        measured: the same, counted on the GPU.
    """

    kernel: str
    block: str
    analyzed: int
    measured: int


def check_kernel(text: str, launch: Launch, gpu: Gpu) -> list[BlockComparison]:
    """Runs one kernel on the GPU and compares every block.

    Raises:
        Refused: the analyzer has no count to compare.
        InvalidInput: the kernel takes arguments that the launch does not state.
    """
    kernel = parse(text).kernels[launch.kernel]
    count = analyze(kernel, launch)
    rewritten = instrument(text, launch.kernel)
    measured = gpu.run(rewritten, kernel, launch)
    return [
        BlockComparison(kernel=kernel.name, block=name, analyzed=block.threads, measured=hits)
        for name, block, hits in zip(rewritten.blocks, count.blocks, measured, strict=True)
        if block.instructions
    ]


def check_bundle(bundle: Bundle, gpu: Gpu) -> list[BlockComparison]:
    """Runs every different launch of a network and compares every block; refused kernels are left out."""
    texts = {name: text for text in bundle.texts.values() for name in parse(text).kernels}
    seen: set[tuple[Any, ...]] = set()
    comparisons: list[BlockComparison] = []
    for launch in bundle.launches.launches:
        key = (launch.kernel, launch.grid, launch.block, tuple(sorted(launch.arguments.items())))
        if key in seen:
            continue
        seen.add(key)
        try:
            comparisons += check_kernel(texts[launch.kernel], launch, gpu)
        except Refused:
            continue
    return comparisons


def find_gpu() -> Gpu:
    """The first binding that is installed and sees a GPU.

    Raises:
        InvalidInput: there is none.
    """
    for name, binding in (("cupy", CupyGpu), ("cuda.bindings.driver", DriverGpu)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return binding(module)
    raise InvalidInput("No way to run kernels on a GPU. Expected CuPy or cuda-python, on a machine with a GPU.")


def arguments_of(kernel: Kernel, launch: Launch, pointer: int) -> list[Any]:
    """Kernel arguments as NumPy scalars, in order: stated values, and one address for every other 64-bit parameter.

    Raises:
        InvalidInput: a parameter is neither stated nor a pointer.
    """
    values = []
    for name, kind in kernel.parameters.items():
        make = _SCALARS.get(kind)
        if name in launch.arguments and make is not None:
            values.append(make(launch.arguments[name]))
        elif kind in ("u64", "b64", "s64"):
            values.append(np.uint64(pointer))
        else:
            raise InvalidInput(f"Kernel {kernel.name} takes {name} of type {kind}; state its value in the launch.")
    return values


class CupyGpu:
    """Runs kernels through CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._scratch = cupy.zeros(SCRATCH_BYTES, dtype=np.uint8)

    def run(self, rewritten: Instrumented, kernel: Kernel, launch: Launch) -> list[int]:
        """The counters after one launch."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.ptx"
            path.write_text(rewritten.text, encoding="utf-8")
            module = self._cupy.RawModule(path=str(path))
            function = module.get_function(rewritten.kernel)
        counters = self._cupy.ndarray((len(rewritten.blocks),), dtype=np.uint64, memptr=module.get_global(COUNTERS))
        counters.fill(0)
        function(launch.grid, launch.block, tuple(arguments_of(kernel, launch, int(self._scratch.data.ptr))))
        self._cupy.cuda.runtime.deviceSynchronize()
        return [int(count) for count in self._cupy.asnumpy(counters)]


class DriverGpu:
    """Runs kernels through cuda-python's binding of the driver."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._call("cuInit", 0)
        device = self._call("cuDeviceGet", 0)
        self._context = self._call("cuDevicePrimaryCtxRetain", device)
        self._call("cuCtxSetCurrent", self._context)
        self._scratch = self._call("cuMemAlloc", SCRATCH_BYTES)
        self._call("cuMemsetD8", self._scratch, 0, SCRATCH_BYTES)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Calls the driver; its first result is the status."""
        status, *results = getattr(self._driver, name)(*arguments)
        if int(status) != 0:
            raise InvalidInput(f"The GPU driver refused {name} with status {int(status)}.")
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, rewritten: Instrumented, kernel: Kernel, launch: Launch) -> list[int]:
        """The counters after one launch."""
        module = self._call("cuModuleLoadData", rewritten.text.encode("utf-8") + b"\0")
        function = self._call("cuModuleGetFunction", module, rewritten.kernel.encode("utf-8"))
        address, size = self._call("cuModuleGetGlobal", module, COUNTERS.encode("utf-8"))
        values = [np.asarray([value]) for value in arguments_of(kernel, launch, int(self._scratch))]
        pointers = np.asarray([value.ctypes.data for value in values], dtype=np.uint64)
        self._call("cuLaunchKernel", function, *launch.grid, *launch.block, 0, 0, pointers.ctypes.data, 0)
        self._call("cuCtxSynchronize")
        counters = np.zeros(len(rewritten.blocks), dtype=np.uint64)
        self._call("cuMemcpyDtoH", counters.ctypes.data, address, min(int(size), counters.nbytes))
        self._call("cuModuleUnload", module)
        return [int(count) for count in counters]


def differences(comparisons: list[BlockComparison]) -> Mapping[str, list[BlockComparison]]:
    """Kernel → blocks in which analyzer and GPU differ; empty where all agree."""
    found: dict[str, list[BlockComparison]] = {}
    for comparison in comparisons:
        if comparison.analyzed != comparison.measured:
            found.setdefault(comparison.kernel, []).append(comparison)
    return found
