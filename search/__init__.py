"""Search CNN variants for the best trade between accuracy and what they cost on an edge GPU.

::

    genes ──► features ──► accuracy, latency, power, energy, memory ──► front ──► report, CSV, JSON, .keras
      ▲    (block by block)     (surrogates, a whole generation at once)
      └──────────── NSGA-II ◄──────────────┘

    from search import Question, run

    question = Question(
        spaces=["mobilenet-v2", "resnet"],
        devices=["jetson-tx2"],
        objectives=["accuracy", "energy_mj"],
        constraints=["latency_ms<=30"],
        seed=1,
    )
    result = run(question, out="demo")
    result.report        # demo/report.html
    result.points[0]     # name, accuracy and estimates of the first network of the front

`run` returns a `search.runner.Result` and leaves in `out`: ``front.csv``, ``front.json``, ``report.html``,
``evaluated.csv`` (every candidate) and, with ``export=N``, ``models/*.keras`` and ``profile.txt``, which lists them for
``edgeperf profile``. `search.verification.verify` then puts the measured front beside the predicted one.
`Limits` says when a search ends.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.loop import Limits
    from search.question import Question
    from search.runner import Result, run

__all__ = ["Limits", "Question", "Result", "run"]

_HOME_OF = {"Limits": "loop", "Question": "question", "Result": "runner", "run": "runner"}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"search.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'search' has no attribute {name!r}")
