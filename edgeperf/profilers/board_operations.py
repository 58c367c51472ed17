"""Measures small models one after the other in one process: the child process of a campaign over operations.

Copied to the board beside the agent and `board_inference.py`, or run on the host. Python 3.6 and the Keras of
TensorFlow 2.7 (JetPack 4.6) up to Keras 3 on TensorFlow, JAX or PyTorch.

    python3 board_operations.py JOB.json

    {"operations": [{"key": KEY, "recipe": RECIPE}, ...], "batch_size": 1, "training": false, "seed": 0,
     "cache_bytes": 67108864, "most_instances": 8, "warmup_blocks": 3, "settle_s": 0.0, "least_timing_s": 0.005,
     "least_s": 0.3, "least_timings": 10, "share_s": 1800.3}

Of every model several instances with weights and inputs of their own are built, together larger than `cache_bytes`
where that takes at most `most_instances`. A block runs each once, so that caches are neither always hit nor always
missed. One timing covers as many blocks as `least_timing_s` needs; timings go on for `least_s`, after blocks that let
the sensor settle. While training, a call is the forward pass and the gradients of inputs and weights for a given
gradient of the output. The process ends itself where one operation, or its own start, takes longer than `share_s`.

Each thing that happens is a line ``EDGEPERF {"event": ..., "t": SECONDS}`` on standard output, with seconds of
CLOCK_MONOTONIC: `begin` (share_s), `times` (ms per call of each timing), then `operation` (begin, end, calls), or
`failed` (message).

Reference: Nicolai 2025, measurement protocol of operations.
"""

# Python 3.6 runs this file; annotations that it would understand are those that newer ones have dropped.
# mypy: ignore-errors

import faulthandler
import gc
import json
import sys
import time

from board_inference import TIMES_PER_LINE, build, load_keras, say, versions

LONGEST_MESSAGE = 500


def make_call(model, inputs, gradient, backend, training):
    """A function that runs the model once, or one step of training, and returns what to wait for."""
    maker = {"jax": _jax_call, "torch": _torch_call}.get(backend, _tensorflow_call)
    return maker(model, inputs, gradient, training)


def _tensorflow_call(model, inputs, gradient, training):
    import tensorflow

    given = [tensorflow.constant(array) for array in inputs]
    given = given if len(given) > 1 else given[0]
    if not training:
        forward = tensorflow.function(lambda tensors: model(tensors, training=False), autograph=False)
        traced = forward.get_concrete_function(given)  # spares each call the choice of a trace
        return lambda: traced(given)

    def step(tensors, upstream):
        with tensorflow.GradientTape() as tape:
            tape.watch(tensors)
            output = model(tensors, training=True)
        return tape.gradient(output, [tensors, model.trainable_variables], output_gradients=upstream)

    upstream = tensorflow.constant(gradient)
    traced = tensorflow.function(step, autograph=False).get_concrete_function(given, upstream)
    return lambda: traced(given, upstream)


def _jax_call(model, inputs, gradient, training):
    import jax

    given = [jax.device_put(array) for array in inputs]
    given = given if len(given) > 1 else given[0]
    weights, fixed = [v.value for v in model.trainable_variables], [v.value for v in model.non_trainable_variables]

    def forward(own, tensors):
        return model.stateless_call(own, fixed, tensors, training=training)[0]

    if not training:
        compiled = jax.jit(forward)
        return lambda: compiled(weights, given)
    upstream = jax.device_put(gradient)
    train = jax.jit(lambda own, tensors, above: jax.vjp(forward, own, tensors)[1](above))
    return lambda: train(weights, given, upstream)


def _torch_call(model, inputs, gradient, training):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [torch.from_numpy(array).to(device).requires_grad_(training) for array in inputs]
    tensors = given if len(given) > 1 else given[0]
    if not training:

        def run():
            with torch.inference_mode():
                return model(tensors, training=False)

        return run
    upstream = torch.from_numpy(gradient).to(device)
    wanted = given + [variable.value for variable in model.trainable_variables]
    return lambda: torch.autograd.grad(model(tensors, training=True), wanted, upstream)


def wait_for(results, backend):
    """Returns when the results of one block are there."""
    if backend == "jax":
        import jax

        jax.block_until_ready(results)
    elif backend == "torch":
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()
    else:
        import tensorflow

        last = results[-1]
        while isinstance(last, (list, tuple)):
            last = last[0]
        tensorflow.reshape(last, [-1])[:1].numpy()  # one number, so that copying the output does not count


def make_block(recipe, keras, backend, job):
    """One call per instance."""
    import numpy

    random = numpy.random.RandomState(job["seed"])
    calls, count = [], 1
    while len(calls) < count:
        model = build(recipe, keras)
        shapes = [(job["batch_size"],) + tuple(tensor.shape)[1:] for tensor in model.inputs + model.outputs]
        arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
        held = sum(array.nbytes for array in arrays) + 4 * model.count_params()
        count = min(job["most_instances"], max(2, -(-job["cache_bytes"] // held)))
        calls.append(make_call(model, arrays[:-1], arrays[-1], backend, job["training"]))
    return calls


def run_blocks(block, backend, blocks):
    """Seconds that so many blocks take."""
    begin = time.perf_counter()
    for _ in range(blocks):
        results = [call() for call in block]
    wait_for(results, backend)
    return time.perf_counter() - begin


def run_for(block, backend, blocks, seconds, least):
    """Timings of so many blocks each, for so many seconds and at least so often."""
    timings, end = [], time.monotonic() + seconds
    while len(timings) < least or time.monotonic() < end:
        timings.append(run_blocks(block, backend, blocks))
    return timings


def measure(each, keras, backend, job):
    block = make_block(each["recipe"], keras, backend, job)
    run_blocks(block, backend, job["warmup_blocks"])
    blocks = max(1, int(job["least_timing_s"] / run_blocks(block, backend, 1)))
    run_for(block, backend, blocks, job["settle_s"], 1)
    begin = time.monotonic()
    timings = run_for(block, backend, blocks, job["least_s"], job["least_timings"])
    end, calls = time.monotonic(), blocks * len(block)
    per_call = [float("%.6g" % (1000.0 * seconds / calls)) for seconds in timings]
    for start in range(0, len(per_call), TIMES_PER_LINE):
        say("times", key=each["key"], ms=per_call[start : start + TIMES_PER_LINE])
    say("operation", key=each["key"], begin=begin, end=end, calls=calls * len(timings))


def end_after(seconds):
    """Ends this process then, whatever it is stuck in, unless asked again before."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.stdout)


def main(path):
    with open(path) as handle:
        job = json.load(handle)
    end_after(job["share_s"])
    keras, backend = load_keras()
    say("before", **versions(keras, backend))
    for each in job["operations"]:
        end_after(job["share_s"])
        say("begin", key=each["key"], share_s=job["share_s"])
        try:
            measure(each, keras, backend, job)
        except Exception as problem:  # noqa: BLE001 - out of memory, or what this Keras cannot run; the others go on
            say("failed", key=each["key"], message=" ".join(str(problem).split())[:LONGEST_MESSAGE])
        keras.backend.clear_session()
        gc.collect()


if __name__ == "__main__":
    main(sys.argv[1])
