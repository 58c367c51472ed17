"""Recipe → ONNX file that every TensorRT since JetPack 4.6 reads: opset 13, static shape, fixed batch.

``python -m edgeperf.profilers.onnx_export RECIPE.json OUT.onnx BATCH`` is run as a process of its own, so that
TensorFlow's memory and messages stay out of a campaign that lasts for days.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from edgeperf.errors import InvalidInput, MissingExtra
from edgeperf.profilers import board_inference

OPSET = 13
"""The highest that TensorRT 8.2 of JetPack 4.6 reads; later ones read it too."""
_TIME_LIMIT_S = 900.0


def export(recipe: Path, out: Path, *, batch_size: int = 1) -> None:
    """Writes the network of a recipe as ONNX, with random weights.

    Raises:
        MissingExtra: tf2onnx is not installed.
        InvalidInput: the network cannot be converted.
    """
    command = [sys.executable, "-m", "edgeperf.profilers.onnx_export", str(recipe), str(out), str(batch_size)]
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"Writing {recipe.stem} as ONNX took over {_TIME_LIMIT_S:.0f} s. Export it yourself."
        ) from None
    if "No module named 'tf2onnx'" in done.stderr or "No module named 'onnx'" in done.stderr:
        raise MissingExtra("Writing ONNX for TensorRT", "onnx")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise InvalidInput(f"{recipe.stem} cannot be written as ONNX: {last[0]}. Export it yourself and pass the file.")


def _convert(recipe: Path, out: Path, batch_size: int) -> None:
    import keras
    import tensorflow as tf
    import tf2onnx  # type: ignore[import-untyped]

    model = board_inference.build(json.loads(recipe.read_text(encoding="utf-8")), keras, batch_size)  # type: ignore[no-untyped-call]
    inputs = [tf.TensorSpec(tensor.shape, tf.float32, name=f"input_{n}") for n, tensor in enumerate(model.inputs)]
    function = tf.function(lambda *images: model(list(images) if len(images) > 1 else images[0], training=False))
    part = out.with_suffix(".part")
    tf2onnx.convert.from_function(function, input_signature=inputs, opset=OPSET, output_path=str(part))
    part.replace(out)


if __name__ == "__main__":
    _convert(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
