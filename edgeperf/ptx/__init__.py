"""PTX → executed instruction counts without a GPU, and what they say about other GPUs.

::

    model file ──xla──► Bundle ──parser──► Kernel ──flow, slicing──► Program ──execution──► KernelCount ──► NetworkCount
                          ▲                                             ▲
       .ptx, .tar.xz ─────┘                              Launch ────────┘

Names load on first use, so that importing one part does not load the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeperf.ptx.analysis import analyze
    from edgeperf.ptx.bundle import Bundle, read_bundle, write_bundle
    from edgeperf.ptx.counts import KernelCount, NetworkCount
    from edgeperf.ptx.network import count_bundle
    from edgeperf.ptx.parser import parse
    from edgeperf.ptx.records import Kernel, Launch, Module
    from edgeperf.ptx.source import count
    from edgeperf.ptx.xla import compile_network

__all__ = [
    "Bundle",
    "Kernel",
    "KernelCount",
    "Launch",
    "Module",
    "NetworkCount",
    "analyze",
    "compile_network",
    "count",
    "count_bundle",
    "parse",
    "read_bundle",
    "write_bundle",
]

_HOME_OF = {
    "Bundle": "bundle",
    "Kernel": "records",
    "KernelCount": "counts",
    "Launch": "records",
    "Module": "records",
    "NetworkCount": "counts",
    "analyze": "analysis",
    "compile_network": "xla",
    "count": "source",
    "count_bundle": "network",
    "parse": "parser",
    "read_bundle": "bundle",
    "write_bundle": "bundle",
}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"edgeperf.ptx.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'edgeperf.ptx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
