"""Network and device → `Measurement`: campaigns on a Jetson over ssh, on the host's CPU, or on its NVIDIA GPU.

One library call stands behind ``edgeperf profile MODEL... --device D [--board user@host] --out DIR [--resume]``::

    from edgeperf.profilers import profile

    summary = profile(
        ["zoo:mobilenet-v2", "my_model.keras"],    # model specifications, see below
        device="jetson-tx2",                       # name that the rows carry; "host-cpu" without a board
        boards=["user@tx2"],                       # () measures this machine; several share the queue through Dask
        out=Path("runs/tx2"),
        plan=Plan(),                               # the paper's protocol; every deviation is a warning of the row
        runtime="auto",                            # "keras", "trtexec", or what the board has
        input_sizes=(),                            # () takes the model's own, or the zoo family's
        resume=False,                              # go on where an earlier call was interrupted
        progress=None,                             # called with `Progress` after each network; None: a bar on stderr
    )
    summary.finished, summary.failed, summary.dataset, summary.page

A model specification is the path of a model file, ``zoo:FAMILY`` (every published variant), ``zoo:FAMILY/VARIANT``
(one), or ``zoo:all``. `out` becomes a dataset that ``edgeperf data check`` and ``edgeperf train`` take as it is:
`dataset.json`, `rows.csv`, one file per measurement in `measurements/`, raw recordings in `raw/`, and a page
`index.html` to look at.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeperf.profilers.campaign import Summary, profile
    from edgeperf.profilers.progress import Progress

__all__ = ["Progress", "Summary", "profile"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(importlib.import_module("edgeperf.profilers.campaign"), name)
    raise AttributeError(f"module 'edgeperf.profilers' has no attribute {name!r}")
