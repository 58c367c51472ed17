"""Candidates → files that Keras and other runtimes load: untrained models with Keras' own initial weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from edgeperf.errors import MissingExtra
from search.space import Candidate, Space, Vectors

ONNX_OPSET = 13
"""The newest that TensorRT of JetPack 4 reads."""


def export_models(
    searched: Space, vectors: Vectors, count: int, directory: Path, *, onnx: bool = False
) -> tuple[Path, ...]:
    """Files of `count` candidates spread evenly over the rows of `vectors`, both ends among them.

    Raises:
        MissingExtra: ONNX files were asked for and the converter is not installed.
    """
    chosen = np.unique(np.linspace(0, len(vectors) - 1, min(count, len(vectors))).round().astype(int))
    directory.mkdir(parents=True, exist_ok=True)
    return tuple(path for row in chosen for path in _export(searched.decode(vectors[row]), directory, onnx=onnx))


def _export(candidate: Candidate, directory: Path, *, onnx: bool) -> list[Path]:
    # TensorFlow's greetings would hide what the search has to say.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    model = candidate.family.keras_model(candidate.genes)
    saved = directory / f"{candidate.name}.keras"
    model.save(saved)
    paths = [saved]
    if onnx:
        paths.append(_export_onnx(model, saved.with_suffix(".onnx")))
    keras.utils.clear_session()
    return paths


def _export_onnx(model: Any, path: Path) -> Path:
    """The model as ONNX of `ONNX_OPSET`."""
    try:
        import tensorflow as tf
        import tf2onnx  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("Writing ONNX files", "onnx") from None
    shape = [1, *model.input_shape[1:]]
    function = tf.function(model, input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
    tf2onnx.convert.from_function(
        function, input_signature=function.input_signature, opset=ONNX_OPSET, output_path=str(path)
    )
    return path
