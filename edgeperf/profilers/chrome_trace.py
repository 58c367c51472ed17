"""A trace in the format of Chrome's tracer, as JAX and PyTorch write it → GPU kernels with their times.

PyTorch marks kernels by their category. JAX puts what runs on a GPU under a process named ``/device:GPU:0``, in threads
named after streams; other threads there show the same time again, grouped. Copies and fills are no kernels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.profilers.kernels import NANOSECONDS_PER, Kernel

METHOD = "sum of GPU kernel times (framework's profiler)"
_NO_KERNEL = ("memcpy", "memset")


def parse_kernels(text: str) -> tuple[Kernel, ...]:
    """Kernels of a trace, one entry per call; none where nothing ran on a GPU.

    Raises:
        InvalidInput: the text is no such trace.
    """
    try:
        events = json.loads(text)["traceEvents"]
        gpu_threads = set(_gpu_threads(events))
        return tuple(
            Kernel(name=event["name"], calls=1, total_ns=float(event["dur"]) * NANOSECONDS_PER["us"])
            for event in events
            if event.get("ph") == "X" and _is_kernel(event, gpu_threads)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise InvalidInput(
            f"This is no trace of JAX or PyTorch ({type(problem).__name__}: {problem}). Expected JSON with traceEvents."
        ) from None


def _is_kernel(event: Mapping[str, Any], gpu_threads: set[tuple[Any, Any]]) -> bool:
    on_gpu = event.get("cat") == "kernel" or (event.get("pid"), event.get("tid")) in gpu_threads
    return on_gpu and not any(part in event["name"].lower() for part in _NO_KERNEL)


def _gpu_threads(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """(process, thread) ids of the GPU's streams."""
    names = [(event, event["args"].get("name", "")) for event in events if event.get("ph") == "M" and "args" in event]
    gpus = {event["pid"] for event, name in names if event["name"] == "process_name" and "GPU" in name}
    for event, name in names:
        if event["name"] == "thread_name" and event["pid"] in gpus and name.startswith("Stream"):
            yield event["pid"], event["tid"]
