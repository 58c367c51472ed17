"""Executed PTX instructions of the networks that were measured on three Jetson boards.

Needs the extra ``ptx`` and the measured tables. One process compiles all networks, since starting the compiler takes
longer than most of them. Resumes: rows that are in the result are not compiled again.

    python benchmarks/ptx_bouzidi_counts.py [--arch sm_53] [--sizes 224,128,448,64] [--shard 0/2]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.xla import compiler_environment, target_config

RESULT = Path(__file__).parent / "results" / "ptx_bouzidi_counts.csv"
DATA = Path(os.environ.get("EDGEPERF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "bouzidi"
CATEGORIES = ("f32", "fma_f32", "special", "integer", "logic", "compare", "move", "convert", "control")
MEMORY = ("load_global", "store_global", "load_shared", "store_shared", "load_param")
FIELDS = ("arch_id", "input_size", "arch", "launches", "executed", "warp_executed", *CATEGORIES, *MEMORY)
FIELDS += ("refused", "compile_s", "analysis_s")


def keras_model(template: dict, size: int):
    """The network of a template at an input size, with initialisers of zeros."""
    import keras

    tensors: dict[str, list] = {}
    zeros = dict.fromkeys(("kernel_initializer", "bias_initializer"), "zeros")
    for name, kind, config, calls in template["layers"]:
        if kind == "InputLayer":
            tensors[name] = [keras.Input((size, size, 3))]
            continue
        if kind == "Lambda":
            apply = _operation(config)
        else:
            layer_type = {"FixedDropout": "Dropout"}.get(kind, kind)
            settings = {key: _activation(key, value) for key, value in config.items()}
            if kind in ("Conv2D", "Dense"):
                settings |= zeros
            elif kind == "DepthwiseConv2D":
                settings |= {"depthwise_initializer": "zeros"}
            elif kind == "SeparableConv2D":
                settings |= {"depthwise_initializer": "zeros", "pointwise_initializer": "zeros"}
            settings.pop("noise_shape", None)
            apply = getattr(keras.layers, layer_type)(**settings)
        tensors[name] = []
        for call in calls:
            given = [
                tensors[source[0] if isinstance(source, list) else source][_node(source)] for source in _sources(call)
            ]
            tensors[name].append(
                apply(given if len(given) > 1 or kind in ("Add", "Concatenate", "Multiply") else given[0])
            )
    return keras.Model(
        [tensors[name][node] for name, node, _ in template["inputs"]],
        [tensors[name][node] for name, node, _ in template["outputs"]],
    )


def _sources(call):
    return [call] if isinstance(call, str) else call


def _node(source) -> int:
    return source[1] if isinstance(source, list) and len(source) > 1 else 0


def _activation(key: str, value):

    names = {"_relu6": "relu6", "swish": "silu", "_hard_swish": "hard_silu", "hard_swish": "hard_silu"}
    return names.get(value, value) if key == "activation" and isinstance(value, str) else value


def _operation(config: dict):
    import keras

    def channel_shuffle(x):
        _, height, width, channels = x.shape
        groups = config["groups"]
        split = keras.ops.reshape(x, (-1, height, width, groups, channels // groups))
        return keras.ops.reshape(keras.ops.transpose(split, (0, 1, 2, 4, 3)), (-1, height, width, channels))

    return {
        "slice_channels": lambda x: x[..., config.get("start") : config.get("stop")],
        "scaled_residual_add": lambda xs: xs[0] + config["scale"] * xs[1],
        "expand_dims_hw": lambda x: x[:, None, None, :],
        "channel_shuffle": channel_shuffle,
        "scale": lambda x: x * config["value"],
    }[config["op"]]


def measured() -> dict[tuple[str, int], int]:
    """(template, input size) → on how many boards its latency was measured."""
    boards: dict[tuple[str, int], set[str]] = {}
    with (DATA / "latency_ms.csv").open() as file:
        for row in csv.DictReader(file):
            if row["arch_id"]:
                boards.setdefault((row["arch_id"], int(row["input_size"])), set()).add(row["device"])
    return {key: len(devices) for key, devices in boards.items()}


def count_one(template: dict, size: int, arch: str, dump: Path) -> dict:
    """One row of the result."""
    from edgeperf.ptx.xla_compile import compile_model

    shutil.rmtree(dump)
    dump.mkdir()
    model = keras_model(template, size)
    started = time.perf_counter()
    compile_model(model, target_config(arch))
    compiled = time.perf_counter()
    count = count_bundle(read_bundle(dump))
    row = {
        "arch_id": template["arch_id"],
        "input_size": size,
        "arch": arch,
        "launches": count.launches,
        "executed": count.executed,
        "warp_executed": count.warp_executed,
        "refused": len(count.refused),
        "compile_s": round(compiled - started, 3),
        "analysis_s": round(time.perf_counter() - compiled, 3),
    }
    return row | {name: count.categories.get(name, 0) for name in (*CATEGORIES, *MEMORY)}


def main() -> None:
    """Compiles and counts what is not in the result yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="sm_53")
    parser.add_argument("--sizes", default="224,128,448,64,320")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    dump = Path(tempfile.mkdtemp(prefix="edgeperf-ptx-"))
    os.environ.update(compiler_environment("all", dump))
    with gzip.open(DATA / "architectures.jsonl.gz", "rt") as file:
        templates = {template["arch_id"]: template for template in map(json.loads, file)}
    done: set[tuple[str, int, str]] = set()
    if RESULT.exists():
        with RESULT.open() as file:
            done = {(row["arch_id"], int(row["input_size"]), row["arch"]) for row in csv.DictReader(file)}
    everywhere = [key for key, boards in measured().items() if boards == 3 and key[1] in sizes and key[0] in templates]
    # Sizes in the order that is asked for, small networks first: a run that is cut short still covers all families.
    wanted = sorted(everywhere, key=lambda key: (sizes.index(key[1]), len(templates[key[0]]["layers"]), key[0]))
    with RESULT.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for arch_id, size in wanted:
            if (arch_id, size, arguments.arch) in done:
                continue
            try:
                row = count_one(templates[arch_id], size, arguments.arch, dump)
            except Exception as error:  # noqa: BLE001 - one network that does not compile must not end the run
                print(f"{arch_id} at {size}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            writer.writerow(row)
            file.flush()
            print(arch_id, size, row["executed"], row["compile_s"], row["analysis_s"], flush=True)
    shutil.rmtree(dump)


if __name__ == "__main__":
    main()
