"""Keras model file → `Bundle`, compiled by XLA for a GPU that need not be there.

The compiler runs in a process of its own (`edgeperf.ptx.xla_compile`), since XLA reads its flags once per process and
takes 300 MB of optional packages (extra ``ptx``, pinned to versions that work together). Weights are never read: counts
do not depend on them.

A count belongs to the compiler: other compilers, and other versions of this one, run several times more or fewer
instructions for the same network. It measures the work of a network, it does not forecast the machine code of cuDNN or
TensorRT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from edgeperf.errors import InvalidInput, MissingExtra
from edgeperf.hardware import GPUS, GpuSpec
from edgeperf.network.files import keras_config
from edgeperf.ptx.bundle import Bundle, read_bundle
from edgeperf.ptx.parser import parse

Kernels = Literal["all", "fusions"]
"""``"all"``: XLA's own kernels for convolutions and matrix products, so that the whole network has PTX. ``"fusions"``:
those become library calls without PTX and only the kernels between them are counted, as Metz et al. most likely did."""

ARCHITECTURES = (
    "sm_53",
    "sm_60",
    "sm_61",
    "sm_62",
    "sm_70",
    "sm_72",
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_89",
    "sm_90",
)
"""Targets of the pinned compiler."""

_COMMON_FLAGS = (
    "--xla_gpu_autotune_level=0",
    "--xla_gpu_enable_triton_gemm=false",
)
_FLAGS: dict[str, tuple[str, ...]] = {
    "all": (*_COMMON_FLAGS, "--xla_disable_hlo_passes=conv-rewriter,cublas-gemm-rewriter,gemm-rewriter"),
    "fusions": _COMMON_FLAGS,
}

# CUDA C++ Programming Guide, technical specifications per compute capability:
# shared memory per multiprocessor and per block (largest, opted in) in KiB, threads per multiprocessor.
_LIMITS: dict[str, tuple[int, int, int]] = {
    "sm_53": (64, 48, 2048),
    "sm_60": (64, 48, 2048),
    "sm_61": (96, 48, 2048),
    "sm_62": (64, 48, 2048),
    "sm_70": (96, 96, 2048),
    "sm_72": (96, 96, 2048),
    "sm_75": (64, 64, 1024),
    "sm_80": (164, 163, 2048),
    "sm_86": (100, 99, 1536),
    "sm_87": (164, 163, 1536),
    "sm_89": (100, 99, 1536),
    "sm_90": (228, 227, 2048),
}
_FEWER_REGISTERS_PER_BLOCK = frozenset({"sm_53", "sm_62"})
_REPRESENTATIVE = {"sm_87": "jetson-agx-orin"}
"""Where the first GPU of an architecture in the table lacks a figure that the compiler asks for."""


def compile_network(
    model: str | os.PathLike[str],
    *,
    arch: str,
    kernels: Kernels = "all",
    input_size: int | None = None,
    timeout_s: float = 600.0,
) -> Bundle:
    """The network, compiled for an architecture, with its launches.

    Args:
        model: Keras model file (``.keras``, ``.h5``, JSON of ``to_json()``).
        arch: one of `ARCHITECTURES`.
        kernels: which kernels get PTX.
        input_size: height and width of the input; None keeps the file's.
        timeout_s: after which the compiler is given up.

    Raises:
        MissingExtra: the compiler is not installed.
        InvalidInput: the model cannot be read or compiled, or the architecture is not known.
    """
    if arch not in ARCHITECTURES:
        raise InvalidInput(f"Unknown architecture {arch!r}. Known: {', '.join(ARCHITECTURES)}.")
    if kernels not in get_args(Kernels):
        raise InvalidInput(f"Unknown choice of kernels {kernels!r}. Expected one of {', '.join(get_args(Kernels))}.")
    path = Path(model)
    config = keras_config(path)
    if config is None:
        raise InvalidInput(f"{path} is no Keras model file; only those can be compiled to PTX.")
    with tempfile.TemporaryDirectory(prefix="edgeperf-ptx-") as folder:
        reply = _run_compiler(config, arch, kernels, input_size, Path(folder), timeout_s)
        if reply.get("missing"):
            raise MissingExtra(f"Compiling {path.name} to PTX ({reply['missing']} is not there)", "ptx")
        if not reply.get("ok"):
            raise InvalidInput(f"{path.name} cannot be compiled for {arch}: {reply.get('error', 'no reason given')}")
        compiled = read_bundle(Path(folder) / "dump")
    compiler = {
        "name": "XLA",
        "versions": reply["versions"],
        "flags": list(_FLAGS[kernels]),
        "build_s": reply["build_s"],
        "compile_s": reply["compile_s"],
    }
    texts = _named_by_kernel(compiled.texts)
    return Bundle(network=str(reply["network"]), texts=texts, launches=compiled.launches, compiler=compiler)


def _named_by_kernel(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts under the names of their kernels: the numbers that XLA gives its files change from run to run."""
    named = {f"{next(iter(parse(text).kernels), name)}.ptx": text for name, text in texts.items()}
    return dict(sorted(named.items())) if len(named) == len(texts) else dict(texts)


def _run_compiler(
    config: Mapping[str, Any], arch: str, kernels: Kernels, input_size: int | None, folder: Path, timeout_s: float
) -> dict[str, Any]:
    """Starts the compiler's process; its reply is one JSON object."""
    dump, request, reply = folder / "dump", folder / "request.json", folder / "reply.json"
    dump.mkdir()
    text = json.dumps({"config": config, "input_size": input_size, "target": target_config(arch)})
    request.write_text(text, encoding="utf-8")
    environment = {**os.environ, **compiler_environment(kernels, dump)}
    command = [sys.executable, "-m", "edgeperf.ptx.xla_compile", str(request), str(reply)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise InvalidInput(
            f"The compiler did not end within {timeout_s:g} s; allow more, or use a smaller input."
        ) from error
    if not reply.exists():
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise InvalidInput(f"The compiler ended with exit code {done.returncode} and no reply.\n{last}")
    answer: dict[str, Any] = json.loads(reply.read_text(encoding="utf-8"))
    return answer


def compiler_environment(kernels: Kernels, dump: Path) -> dict[str, str]:
    """Environment variables of a process that compiles and leaves PTX and launches in a folder."""
    return {
        "XLA_FLAGS": " ".join(
            (
                *_FLAGS[kernels],
                f"--xla_dump_to={dump}",
                "--xla_dump_hlo_as_text",
                "--xla_dump_hlo_module_re=.*inference.*",
            )
        ),
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "KERAS_BACKEND": "jax",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def _gpu_of(arch: str) -> GpuSpec:
    name = _REPRESENTATIVE.get(arch)
    return GPUS[name] if name else next(gpu for gpu in GPUS.values() if gpu.architecture == arch)


def target_config(arch: str) -> str:
    """What XLA wants to know of the GPU, as a ``GpuTargetConfig`` in text form."""
    gpu = _gpu_of(arch)
    per_core, per_block, threads = _LIMITS[arch]
    major, minor = gpu.compute_capability.split(".")
    registers_per_block = gpu.registers_per_sm // 2 if arch in _FEWER_REGISTERS_PER_BLOCK else gpu.registers_per_sm
    fields = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 48 * 1024,
        "shared_memory_per_core": per_core * 1024,
        "threads_per_core_limit": threads,
        "core_count": gpu.sms,
        "fpus_per_core": gpu.cores // gpu.sms,
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
        "memory_bandwidth": int(gpu.memory_bandwidth_gb_s * 10**9),
        "l2_cache_size": (gpu.l2_kib or 0) * 1024,
        "clock_rate_ghz": gpu.clock_mhz / 1000,
        "device_memory_size": int(gpu.memory_gib * 2**30),
        "shared_memory_per_block_optin": per_block * 1024,
        "registers_per_core_limit": gpu.registers_per_sm,
        "registers_per_block_limit": registers_per_block,
    }
    lines = "\n".join(f"  {name}: {value}" for name, value in fields.items())
    return (
        f"gpu_device_info {{\n{lines}\n  cuda_compute_capability {{ major: {major} minor: {minor} }}\n}}\n"
        f'platform_name: "CUDA"\ndnn_version_info {{ major: 9 minor: 10 }}\ndevice_description_str: "{gpu.name}"\n'
    )
