"""Runs in a process of its own: Keras configuration → XLA's dump of PTX and launches.

Protocol: ``python -m edgeperf.ptx.xla_compile REQUEST REPLY``. REQUEST is a JSON file with ``config`` (of the model),
``input_size`` (or null) and ``target`` (a ``GpuTargetConfig`` in text form). XLA's flags come in ``XLA_FLAGS`` and say
where the dump goes. REPLY is written last: ``{"ok": true, "network", "versions", "build_s", "compile_s"}``, or
``{"missing": package}``, or ``{"ok": false, "error": reason}``. Expected failures are replies, not exit codes.

Initialisers are replaced by zeros, which builds large models ten times faster; weights never matter to a count.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Any

PACKAGES = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12", "keras")

_ZEROS: dict[str, Any] = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None}


def main(arguments: list[str]) -> None:
    """Answers one request."""
    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    missing = _missing()
    try:
        reply = {"missing": missing} if missing else compile_request(request)
    except Exception as error:  # noqa: BLE001 - whatever the compiler says becomes part of the reply
        reply = {"ok": False, "error": f"{type(error).__name__}: {str(error)[:2000]}"}
    Path(arguments[1]).write_text(json.dumps(reply), encoding="utf-8")


def _missing() -> str | None:
    """The first package that is not installed."""
    installed = {distribution.name.lower().replace("_", "-") for distribution in importlib.metadata.distributions()}
    return next((name for name in PACKAGES if name not in installed), None)


def compile_request(request: dict[str, Any]) -> dict[str, Any]:
    """Builds the model, compiles it, and says with what and how long it took."""
    import keras

    started = time.perf_counter()
    model = keras.models.model_from_json(json.dumps(prepared(request["config"], request["input_size"])))
    built = time.perf_counter()
    compile_model(model, request["target"])
    return {
        "ok": True,
        "network": model.name,
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "build_s": round(built - started, 3),
        "compile_s": round(time.perf_counter() - built, 3),
    }


def compile_model(model: Any, target: str) -> None:
    """Compiles one inference of a live Keras model at batch size 1; XLA leaves its dump where its flags say."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies

    shape_of: Any = jax.ShapeDtypeStruct

    topology = topologies.get_topology_desc(platform="cuda", target_config=target, topology="1x1x1")
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])

    def like(shape: tuple[int, ...], dtype: Any) -> Any:
        return shape_of(shape, dtype, sharding=sharding)

    def inference(trained: Any, other: Any, *images: Any) -> Any:
        given = list(images) if len(images) > 1 else images[0]
        outputs, _ = model.stateless_call(trained, other, given, training=False)
        return outputs

    variables = [
        [like(variable.value.shape, variable.value.dtype) for variable in group]
        for group in (model.trainable_variables, model.non_trainable_variables)
    ]
    images = [like((1, *tensor.shape[1:]), jnp.float32) for tensor in model.inputs]
    jax.jit(inference).trace(*variables, *images).lower(lowering_platforms=("cuda",)).compile()


def prepared(node: Any, input_size: int | None) -> Any:
    """The configuration with initialisers of zeros, without regularisers, and with the input size that is asked for."""
    if isinstance(node, list):
        return [prepared(item, input_size) for item in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key.endswith("_initializer") and value is not None:
            result[key] = _ZEROS
        elif key.endswith(("_regularizer", "_constraint")):
            result[key] = None
        elif key in ("batch_shape", "batch_input_shape") and input_size is not None and _is_image(value):
            result[key] = [value[0], input_size, input_size, value[3]]
        else:
            result[key] = prepared(value, input_size)
    return result


def _is_image(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) == 4


if __name__ == "__main__":
    main(sys.argv[1:])
