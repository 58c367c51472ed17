"""Bundle → executed instructions of all its launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.ptx.analysis import analyze
from edgeperf.ptx.bundle import Bundle
from edgeperf.ptx.counts import KernelCount, NetworkCount, Refusal
from edgeperf.ptx.errors import Refused
from edgeperf.ptx.execution import Budget
from edgeperf.ptx.parser import parse
from edgeperf.ptx.records import Kernel, Launch

_Key = tuple[str, tuple[int, int, int], tuple[int, int, int], tuple[tuple[str, int], ...]]


def count_bundle(bundle: Bundle, *, budget: Budget | None = None) -> NetworkCount:
    """Executed instructions of a compiled network; kernels that cannot be counted are listed, not guessed.

    Args:
        bundle: PTX and launches.
        budget: limits for kernels that would run for ever.

    Raises:
        InvalidInput: the PTX is malformed, or a launch names a kernel that is not there.
    """
    kernels, arch = _kernels(bundle)
    launches = _distinct(bundle.launches.launches)
    counts: list[tuple[KernelCount, int]] = []
    refused: list[Refusal] = []
    for launch, times in launches:
        if launch.kernel not in kernels:
            raise InvalidInput(f"{bundle.network} launches {launch.kernel}, which is not in its PTX.")
        try:
            counts.append((analyze(kernels[launch.kernel], launch, budget=budget), times))
        except Refused as refusal:
            refused.append(Refusal(kernel=launch.kernel, launches=times, line=refusal.line, reason=refusal.reason))
    for call, times in Counter(bundle.launches.library_calls).items():
        refused.append(Refusal(kernel=call, launches=times, line=0, reason="a library call; it has no PTX"))
    return NetworkCount(
        network=bundle.network,
        arch=arch,
        compiler=describe_compiler(bundle.compiler),
        counts=tuple(counts),
        refused=tuple(refused),
    )


def _kernels(bundle: Bundle) -> tuple[dict[str, Kernel], str]:
    """All kernels of the bundle by name, and the architecture that they were compiled for."""
    kernels: dict[str, Kernel] = {}
    targets: set[str] = set()
    for name, text in bundle.texts.items():
        try:
            module = parse(text)
        except InvalidInput as error:
            raise InvalidInput(f"{bundle.network}, {name}: {error}") from error
        targets.add(module.target)
        twice = sorted(kernels.keys() & module.kernels.keys())
        if twice:
            raise InvalidInput(f"{bundle.network} holds kernel {twice[0]} twice; the second time in {name}.")
        kernels.update(module.kernels)
    if len(targets) != 1:
        raise InvalidInput(f"{bundle.network} mixes PTX for {', '.join(sorted(targets))}. Expected one architecture.")
    return kernels, targets.pop()


def _distinct(launches: tuple[Launch, ...]) -> list[tuple[Launch, int]]:
    """Different launches in order of their first occurrence, with how often each occurs."""
    first: dict[_Key, Launch] = {}
    times: Counter[_Key] = Counter()
    for launch in launches:
        key = (launch.kernel, launch.grid, launch.block, tuple(sorted(launch.arguments.items())))
        first.setdefault(key, launch)
        times[key] += 1
    return [(launch, times[key]) for key, launch in first.items()]


def describe_compiler(compiler: Mapping[str, Any] | None) -> str:
    """Name, versions and flags in one line.

    >>> describe_compiler(None)
    'not stated'
    >>> describe_compiler({"name": "XLA", "versions": {"jax": "0.10.2"}, "flags": ["--level=0"]})
    'XLA (jax 0.10.2; --level=0)'
    """
    if compiler is None:
        return "not stated"
    versions = compiler.get("versions")
    stated = [f"{name} {version}" for name, version in versions.items()] if isinstance(versions, Mapping) else []
    flags = compiler.get("flags")
    parts = [", ".join(stated), " ".join(map(str, flags)) if isinstance(flags, list) else ""]
    details = "; ".join(part for part in parts if part)
    return f"{compiler.get('name', 'unknown')} ({details})" if details else str(compiler.get("name", "unknown"))
