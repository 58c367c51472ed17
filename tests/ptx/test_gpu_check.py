"""Rewritten PTX: parses, assembles where an assembler is at hand, and counts what the analyzer counts.

The interpreter stands in for the GPU; the bindings are run against stand-ins that behave as their documentation says.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgeperf.errors import InvalidInput
from edgeperf.ptx import gpu_check
from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.gpu_check import CupyGpu, DriverGpu, arguments_of, check_bundle, check_kernel, differences
from edgeperf.ptx.instrument import COUNTERS, Instrumented, instrument
from edgeperf.ptx.interpreter import TooLong, interpret
from edgeperf.ptx.interpreter.operands import Operands
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Kernel, Launch
from tests.ptx.helpers import HEADER, launch_of
from tests.ptx.random_kernels import random_kernel
from tests.ptx.test_mutations import CONVOLUTION, LAUNCH


def counted(rewritten: Instrumented, launch: Launch, limit: int = 3_000_000) -> list[int]:
    """The counters after the interpreter has run the rewritten kernel."""
    kernel = parse(rewritten.text).kernels[rewritten.kernel]
    executed = interpret(kernel, launch, limit=limit)
    base = executed.variables[COUNTERS]
    return [executed.memory.load(base + 8 * number, 8) for number in range(len(rewritten.blocks))]


class InterpretedGpu:
    """The interpreter in the place of a GPU."""

    def run(self, rewritten: Instrumented, kernel: Kernel, launch: Launch) -> list[int]:
        return counted(rewritten, launch)


def test_a_convolution_counts_its_blocks_as_the_analyzer_does() -> None:
    comparisons = check_kernel(CONVOLUTION, LAUNCH, InterpretedGpu())
    assert len(comparisons) == 8
    assert differences(comparisons) == {}
    assert {item.block for item in comparisons} >= {"$L__BB0_1", "$L__BB0_2", "$L__BB0_3", "$L__BB0_4"}


def test_a_wrong_count_would_be_found() -> None:
    class OffByOne(InterpretedGpu):
        def run(self, rewritten: Instrumented, kernel: Kernel, launch: Launch) -> list[int]:
            first, *others = super().run(rewritten, kernel, launch)
            return [first + 1, *others]

    (wrong,) = differences(check_kernel(CONVOLUTION, LAUNCH, OffByOne()))["k"]
    assert wrong.measured == wrong.analyzed + 1


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_count_their_blocks_alike(seed: int) -> None:
    text, launch = random_kernel(seed)
    try:
        counted(instrument(text, "k"), launch, limit=200_000)
    except TooLong:
        pytest.skip("this kernel runs too long for the interpreter")
    assert differences(check_kernel(text, launch, InterpretedGpu())) == {}


@pytest.mark.data
def test_a_whole_network_counts_its_blocks_alike(shared_data: Path) -> None:
    comparisons = check_bundle(read_bundle(shared_data / "ptx" / "small-sm53.tar.xz"), InterpretedGpu())
    assert len({item.kernel for item in comparisons}) == 14
    assert differences(comparisons) == {}


def assembler() -> str | None:
    spec = importlib.util.find_spec("nvidia")
    places = (
        [Path(place) / "cuda_nvcc" / "bin" / "ptxas" for place in (spec.submodule_search_locations or [])]
        if spec
        else []
    )
    return next((str(place) for place in places if place.exists()), shutil.which("ptxas"))


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_rewritten_kernels_assemble(seed: int | None, tmp_path: Path) -> None:
    ptxas = assembler()
    if ptxas is None:
        pytest.skip("needs ptxas, which the extra `ptx` brings")
    text = CONVOLUTION if seed is None else random_kernel(seed)[0]
    path = tmp_path / "kernel.ptx"
    for version in (text, instrument(text, "k").text):
        # Assemblers of CUDA 13 have dropped sm_53.
        path.write_text(version.replace(".version 8.8", ".version 8.0").replace(".target sm_53", ".target sm_90"))
        done = subprocess.run(
            [ptxas, "-arch=sm_90", path, "-o", tmp_path / "kernel.cubin"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_rewriting_keeps_the_rest_of_the_text() -> None:
    rewritten = instrument(CONVOLUTION, "k").text
    kept = [line for line in rewritten.split("\n") if COUNTERS not in line]
    assert [line.strip() for line in kept if line.strip()] == [
        line.strip() for line in CONVOLUTION.split("\n") if line.strip()
    ]


def test_what_cannot_be_rewritten_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no kernel other"):
        instrument(CONVOLUTION, "other")
    with pytest.raises(InvalidInput, match="rewritten before"):
        instrument(instrument(CONVOLUTION, "k").text, "k")


PARAMETERS = ".param .u64 a, .param .u32 n, .param .s16 s"


def test_arguments_are_typed_and_must_be_stated_unless_they_are_pointers() -> None:
    kernel = parse(f"{HEADER}.visible .entry k({PARAMETERS})\n{{\nret;\n}}\n").kernels["k"]
    values = arguments_of(kernel, launch_of(n=7, s=-2), 4096)
    assert [(value.dtype.name, int(value)) for value in values] == [("uint64", 4096), ("uint32", 7), ("int16", -2)]
    with pytest.raises(InvalidInput, match="takes s"):
        arguments_of(kernel, launch_of(n=7), 4096)


class FakeCupy:
    """The parts of CuPy that are used; kernels run in the interpreter."""

    def __init__(self) -> None:
        self.counters = np.zeros(0, dtype=np.uint64)
        self.cuda = SimpleNamespace(runtime=SimpleNamespace(deviceSynchronize=lambda: None))

    def zeros(self, size: int, dtype: Any) -> Any:
        return SimpleNamespace(data=SimpleNamespace(ptr=1 << 40))

    def ndarray(self, shape: tuple[int], dtype: Any, memptr: Any) -> Any:
        self.counters = np.full(shape, 99, dtype=dtype)
        return self.counters

    def asnumpy(self, array: Any) -> Any:
        return array

    def RawModule(self, path: str) -> Any:  # noqa: N802 - CuPy's name
        text = Path(path).read_text()

        def get_function(name: str) -> Any:
            def launch(grid: Any, block: Any, arguments: Any) -> None:
                assert [type(value) for value in arguments] == [np.uint64] * len(arguments)
                self.counters += np.asarray(run_text(text, name, grid, block), dtype=np.uint64)

            return launch

        return SimpleNamespace(get_function=get_function, get_global=lambda name: name)


def run_text(text: str, name: str, grid: Any, block: Any) -> list[int]:
    blocks = text.count(f"[{COUNTERS}+")
    return counted(
        Instrumented(text=text, kernel=name, blocks=("",) * blocks), Launch(kernel=name, grid=grid, block=block)
    )


def test_cupy_binding() -> None:
    assert differences(check_kernel(CONVOLUTION, LAUNCH, CupyGpu(FakeCupy()))) == {}


class FakeDriver:
    """The parts of cuda-python's driver binding that are used: every call returns a status and its results."""

    def __init__(self) -> None:
        self.text = ""
        self.result = np.zeros(0, dtype=np.uint64)

    def __getattr__(self, name: str) -> Any:
        results = {"cuDeviceGet": (0,), "cuDevicePrimaryCtxRetain": (1,), "cuMemAlloc": (1 << 40,)}
        return lambda *_: (0, *results.get(name, ()))

    def cuModuleLoadData(self, image: bytes) -> Any:  # noqa: N802
        assert image.endswith(b"\0")
        self.text = image[:-1].decode()
        return 0, 5

    def cuModuleGetFunction(self, module: Any, name: bytes) -> Any:  # noqa: N802
        return 0, name.decode()

    def cuModuleGetGlobal(self, module: Any, name: bytes) -> Any:  # noqa: N802
        return 0, name, 8 * self.text.count(f"[{COUNTERS}+")

    def cuLaunchKernel(self, function: str, *geometry: Any) -> Any:  # noqa: N802
        self.result = np.asarray(run_text(self.text, function, geometry[:3], geometry[3:6]), dtype=np.uint64)
        return (0,)

    def cuMemcpyDtoH(self, target: int, source: Any, size: int) -> Any:  # noqa: N802
        import ctypes

        ctypes.memmove(target, self.result.ctypes.data, size)
        return (0,)


def test_driver_binding_and_its_errors() -> None:
    assert differences(check_kernel(CONVOLUTION, LAUNCH, DriverGpu(FakeDriver()))) == {}
    broken = FakeDriver()
    broken.cuLaunchKernel = lambda *_: (700,)  # type: ignore[method-assign]
    with pytest.raises(InvalidInput, match="cuLaunchKernel with status 700"):
        check_kernel(CONVOLUTION, LAUNCH, DriverGpu(broken))


def test_without_a_binding_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(gpu_check.importlib, "import_module", absent)
    with pytest.raises(InvalidInput, match="CuPy or cuda-python"):
        gpu_check.find_gpu()
    monkeypatch.setattr(gpu_check.importlib, "import_module", lambda _: FakeCupy())
    assert isinstance(gpu_check.find_gpu(), CupyGpu)


def test_addresses_of_variables_are_apart() -> None:
    kernel = parse(instrument(CONVOLUTION, "k").text).kernels["k"]
    assert set(Operands(kernel, LAUNCH).addresses) == {COUNTERS}
