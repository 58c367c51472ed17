"""Whatever the user has (model file, bundle, folder, PTX) → executed instructions."""

from __future__ import annotations

import os
from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.counts import NetworkCount
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.xla import Kernels, compile_network

_COMPILED = (".tar.xz", ".txz", ".ptx")


def count(
    source: str | os.PathLike[str],
    *,
    arch: str | None = None,
    kernels: Kernels = "all",
    input_size: int | None = None,
    launches: str | os.PathLike[str] | None = None,
) -> NetworkCount:
    """Executed PTX instructions of one inference at batch size 1.

    Args:
        source: a Keras model file, which is compiled; or a bundle, a folder or a ``.ptx``, which is read as it is.
        arch: target such as ``"sm_53"``. Must be given for model files; for compiled sources it is checked.
        kernels: which kernels of a model file get PTX.
        input_size: height and width of a model file's input; None keeps the file's.
        launches: launch list for a ``.ptx``.

    Raises:
        InvalidInput: the source cannot be read, or was compiled for another architecture.
        MissingExtra: a model file is given and the compiler is not installed.
    """
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"{path} does not exist. Expected a model file, a .tar.xz bundle, a folder, or a .ptx file.")
    if path.is_dir() or path.name.endswith(_COMPILED):
        found = count_bundle(read_bundle(path, launches=launches))
        if arch is not None and found.arch.rstrip("af") != arch:
            raise InvalidInput(f"{path} was compiled for {found.arch}, not for {arch}. Leave --arch out, or recompile.")
        return found
    if arch is None:
        raise InvalidInput(f"{path} must be compiled first: state the architecture, e.g. --arch sm_53.")
    return count_bundle(compile_network(path, arch=arch, kernels=kernels, input_size=input_size))
