"""Rebuilds a network from its recipe and runs it: the child process of a measurement with Keras.

Copied to the board beside the agent, or run on the host. Python 3.6 and the Keras of TensorFlow 2.7 (JetPack 4.6) up to
Keras 3 on TensorFlow, JAX or PyTorch. A recipe is what `edgeperf.profilers.recipes` makes of a model: layer classes
with their arguments and how they are connected. Weights are random, as in the paper's protocol.

    python3 board_inference.py JOB.json

    {"recipe": PATH, "batch_size": 1, "precision": "float32", "seed": 0, "warmup_runs": 10, "timed_runs": 100,
     "idle_s": 30, "settle_s": 2.2, "repeats": 50, "repeat_s": 0.25, "phases": ["idle", "latency", "plateau"]}

Phases may also be "kernels" (JAX and PyTorch: a trace of ten inferences in trace.json) and "training" (`timed_runs`
steps of gradient descent with batches of `train_batch`).

Each thing that happens is a line ``EDGEPERF {"event": ..., "t": SECONDS}`` on standard output, with seconds of
CLOCK_MONOTONIC: `before` (memory in use, framework loaded, network not), `built`, `idle` (begin, end), `latency` (ms
of each run on an image of its own), `repeat` (begin, end, runs), `training` (ms of each step), `after` (peak memory of
the process and of the GPU).
"""

# Python 3.6 runs this file; annotations that it would understand are those that newer ones have dropped.
# mypy: ignore-errors

import ctypes
import json
import os
import sys
import time

TRACED_RUNS = 10
WARM_UP_STEPS = 3
TIMES_PER_LINE = 100  # the agent cuts lines of more than 8000 bytes


def say(event, **fields):
    fields.update(event=event, t=time.monotonic())
    print("EDGEPERF " + json.dumps(fields), flush=True)


def load_keras():
    """Keras 3 where it is installed, else TensorFlow's; and the name of the backend."""
    try:
        import keras

        if int(keras.__version__.split(".")[0]) >= 3:
            return keras, keras.backend.backend()
    except ImportError:
        pass
    from tensorflow import keras as tensorflow_keras

    return tensorflow_keras, "tensorflow"


def versions(keras, backend):
    """What runs the networks: results of other versions are not to be mixed with these."""
    own = getattr(sys.modules.get(backend), "__version__", None)
    return {"backend": backend, "backend_version": own, "keras": keras.__version__}


def own_activations(keras):
    """Activations that a recipe may name and TensorFlow 2.7 does not know."""
    relu6 = keras.layers.ReLU(6.0)

    def hard_sigmoid_3(x):
        return relu6(x + 3.0) * (1.0 / 6.0)

    def hard_silu(x):
        return x * hard_sigmoid_3(x)

    def silu(x):
        return x * keras.activations.sigmoid(x)

    return {"relu6": relu6, "hard_silu": hard_silu, "hard_swish": hard_silu, "silu": silu, "swish": silu}


def make_layer(keras, call, own):
    arguments = dict(call["kwargs"])
    activation = arguments.get("activation")
    if activation in own and not hasattr(keras.activations, activation):
        arguments["activation"] = own[activation]
    if call["kind"] == "LeakyReLU" and int(keras.__version__.split(".")[0]) < 3:
        arguments["alpha"] = arguments.pop("negative_slope")
    return getattr(keras.layers, call["kind"])(name=call["name"], **arguments)


def build(recipe, keras, batch_size=None):
    """The recipe as an untrained `keras.Model`.

    The recipe's calls come in topological order; a layer named twice is the same layer called again.
    """
    own = own_activations(keras)
    layers, tensors = {}, {}

    def tensor(reference):
        outputs = tensors[reference[0]]
        return outputs[reference[1]] if isinstance(outputs, (list, tuple)) else outputs

    for call in recipe["calls"]:
        if call["kind"] == "InputLayer":
            shape = tuple(call["kwargs"]["shape"])
            tensors[call["id"]] = keras.Input(shape, batch_size=batch_size, name=call["name"])
            continue
        if call["name"] not in layers:
            layers[call["name"]] = make_layer(keras, call, own)
        inputs = [tensor(reference) for reference in call["inputs"]]
        tensors[call["id"]] = layers[call["name"]](inputs if len(inputs) > 1 else inputs[0])
    inputs = [tensor([name, 0]) for name in recipe["inputs"]]
    outputs = [tensor(reference) for reference in recipe["outputs"]]
    model_inputs, model_outputs = (each if len(each) > 1 else each[0] for each in (inputs, outputs))
    return keras.Model(model_inputs, model_outputs, name=recipe["name"])


def make_runner(model, backend):
    """Two functions: one makes the backend's tensors of arrays, one runs the model on them and returns when done."""
    if backend == "jax":
        import jax

        weights = [v.value for v in model.trainable_variables], [v.value for v in model.non_trainable_variables]
        compiled = jax.jit(lambda images: model.stateless_call(weights[0], weights[1], images, training=False)[0])
        return jax.device_put, lambda images: jax.block_until_ready(compiled(images))
    if backend == "torch":
        import torch

        def run(images):
            with torch.inference_mode():
                model(images, training=False)
            if torch.cuda.is_available():
                torch.cuda.synchronize()

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return lambda arrays: [torch.from_numpy(array).to(device) for array in arrays], run
    import tensorflow

    graph = tensorflow.function(lambda images: model(images, training=False), autograph=False)
    return lambda arrays: [tensorflow.constant(array) for array in arrays], lambda images: first(graph(images)).numpy()


def first(outputs):
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs


class Images:
    """Random images, none twice; made outside the timed part."""

    def __init__(self, model, job, to_backend):
        import numpy

        self.random = numpy.random.RandomState(job["seed"])
        shapes = [tuple(tensor.shape)[1:] for tensor in model.inputs]
        self.shapes = [(job["batch_size"],) + shape for shape in shapes]
        self.to_backend = to_backend

    def __call__(self):
        arrays = [self.random.random_sample(shape).astype("float32") for shape in self.shapes]
        tensors = self.to_backend(arrays)
        return tensors if len(tensors) > 1 else tensors[0]


class Profiler:
    """Tells nvprof or nsys which part counts (`--profile-from-start off`, `--capture-range cudaProfilerApi`)."""

    def __init__(self):
        self.library = None
        for name in ("libcudart.so", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so.10.2"):
            try:
                self.library = ctypes.CDLL(name)
                break
            except OSError:
                continue

    def __enter__(self):
        if self.library is not None:
            self.library.cudaProfilerStart()

    def __exit__(self, *_problem):
        if self.library is not None:
            self.library.cudaProfilerStop()


def memory_kib(field):
    """A field of this process's memory status in KiB: `VmRSS` now, `VmHWM` the peak."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return None


def reset_peak():
    """Lets the peak start from now, so that building and compiling do not count; not every kernel allows it."""
    try:
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("5")
    except OSError:
        pass


def run_latency(run, images, job):
    times = []
    for _ in range(job["warmup_runs"]):
        run(images())
    with Profiler():
        for _ in range(job["timed_runs"]):
            batch = images()
            begin = time.perf_counter()
            run(batch)
            times.append(1000.0 * (time.perf_counter() - begin))
    for start in range(0, len(times), TIMES_PER_LINE):
        say("latency", ms=times[start : start + TIMES_PER_LINE])


def run_until(run, batches, end):
    runs = 0
    while runs == 0 or time.monotonic() < end:
        run(batches[runs % len(batches)])
        runs += 1
    return runs


def run_plateau(run, images, job):
    """Inferences back to back: long enough for the sensor's filter to settle, then `repeats` windows without a gap."""
    batches = [images() for _ in range(4)]
    run_until(run, batches, time.monotonic() + job["settle_s"])
    for _ in range(job["repeats"]):
        begin = time.monotonic()
        runs = run_until(run, batches, begin + job["repeat_s"])
        say("repeat", begin=begin, end=time.monotonic(), runs=runs)


def run_kernels(run, images, backend):
    """Leaves a trace of ten inferences in trace.json, in the format of Chrome's tracer."""
    batches = [images() for _ in range(TRACED_RUNS)]
    if backend == "jax":
        import glob
        import gzip

        import jax

        with jax.profiler.trace("trace"):
            for batch in batches:
                run(batch)
        newest = max(glob.glob("trace/plugins/profile/*/*.trace.json.gz"), key=os.path.getmtime)
        with gzip.open(newest) as packed, open("trace.json", "wb") as plain:
            plain.write(packed.read())
    if backend == "torch":
        import torch

        with torch.profiler.profile() as profiler:
            for batch in batches:
                run(batch)
        profiler.export_chrome_trace("trace.json")
    say("kernels", runs=TRACED_RUNS)


def run_training(model, job):
    import numpy

    random = numpy.random.RandomState(job["seed"])
    batch = job["train_batch"]
    images = random.random_sample((batch,) + tuple(model.inputs[0].shape)[1:]).astype("float32")
    labels = random.random_sample((batch,) + tuple(model.outputs[0].shape)[1:]).astype("float32")
    model.compile(optimizer="sgd", loss="mean_squared_error")
    times = []
    for step in range(WARM_UP_STEPS + job["timed_runs"]):
        begin = time.perf_counter()
        model.train_on_batch(images, labels)  # returns the loss as a number, so the step is over
        if step >= WARM_UP_STEPS:
            times.append(1000.0 * (time.perf_counter() - begin))
    for start in range(0, len(times), TIMES_PER_LINE):
        say("training", ms=times[start : start + TIMES_PER_LINE], batch_size=batch)


def gpu_peak_bytes(backend):
    """Most memory that the framework held on the GPU; None on a CPU, or where it does not tell."""
    if backend == "jax":
        import jax

        return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    if backend == "torch":
        import torch

        return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
    return None


def main(path):
    with open(path) as handle:
        job = json.load(handle)
    with open(job["recipe"]) as handle:
        recipe = json.load(handle)
    keras, backend = load_keras()
    if job["precision"] != "float32":
        keras.mixed_precision.set_global_policy(job["precision"])
    say("before", memory_kib=memory_kib("VmRSS"), **versions(keras, backend))
    model = build(recipe, keras, job["batch_size"])
    to_backend, run = make_runner(model, backend)
    images = Images(model, job, to_backend)
    run(images())  # traces and compiles
    reset_peak()
    say("built", params=model.count_params())
    if "idle" in job["phases"]:
        begin = time.monotonic()
        time.sleep(job["idle_s"])
        say("idle", begin=begin, end=time.monotonic())
    if "latency" in job["phases"]:
        run_latency(run, images, job)
    if "plateau" in job["phases"]:
        run_plateau(run, images, job)
    say("after", peak_kib=memory_kib("VmHWM"), gpu_peak_bytes=gpu_peak_bytes(backend))
    if "kernels" in job["phases"]:
        run_kernels(run, images, backend)
    if "training" in job["phases"]:
        run_training(build(recipe, keras), job)
        say("trained", gpu_peak_bytes=gpu_peak_bytes(backend))


if __name__ == "__main__":
    main(sys.argv[1])
