"""Model files as users have them, and the command line as they run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def edgeperf() -> Run:
    """Runs `edgeperf ARGUMENTS` as a process of its own."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "edgeperf", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    return run


@pytest.fixture(scope="session")
def mobilenet_v2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MobileNetV2 as Keras saves it."""
    import keras

    path = tmp_path_factory.mktemp("models") / "mobilenet_v2.keras"
    keras.applications.MobileNetV2(weights=None).save(path)
    return path


@pytest.fixture(scope="session")
def with_lambda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The JSON of a model with two layers that nobody can read without running their code."""
    layers = [
        {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 32, 32, 3], "name": "image"}},
        {"class_name": "Lambda", "config": {"name": "twice", "function": ["4wEAAAA=", None, None]}},
        {"class_name": "HomeMade", "config": {"name": "mine"}},
    ]
    path = tmp_path_factory.mktemp("models") / "with_lambda.json"
    model = {"class_name": "Sequential", "config": {"name": "odd", "layers": layers}, "keras_version": "2.3.1"}
    path.write_text(json.dumps(model))
    return path
