"""How fast features come out of a model file: ratios against Keras itself, measured in one run on one machine.

Writes results/network_speed.json and .md. Three questions:

1. Reading a ``.keras`` file and computing all features, against `keras.models.load_model` and counting the parameters;
   each in a process of its own that has imported what it needs, on 10 networks.
2. The whole command ``edgeperf features`` against ``python -c "import keras"``.
3. Whether the time is linear in the number of layers.

All times are processor time, so that a busy machine changes them little. The median of several readings in one process
counts, against the best of Keras; the first reading, when nothing is cached yet, stands beside it.

Usage: ``python benchmarks/network_speed.py [--folder DIR]``; takes a few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

NETWORKS = (
    "MobileNet", "MobileNetV2", "MobileNetV3Large", "EfficientNetB0", "EfficientNetV2B0", "ResNet50", "DenseNet121",
    "InceptionV3", "Xception", "NASNetMobile",
)  # fmt: skip
RESULTS = Path(__file__).parent / "results"
EDGEPERF = str(Path(sys.executable).with_name("edgeperf"))

_READ = """
import json, sys, time
from edgeperf import features, read_network
path, repeats = sys.argv[1], int(sys.argv[2])
started = time.process_time()
features(read_network(path, input_size=224))
first = time.process_time() - started
times = []
for _ in range(repeats):
    started = time.process_time()
    features(read_network(path, input_size=224))
    times.append(time.process_time() - started)
print(json.dumps({"first_s": first, "repeated_s": sorted(times)[len(times) // 2]}))
"""
_LOAD = """
import json, sys, time
import keras
path = sys.argv[1]
times = []
for _ in range(3):
    keras.backend.clear_session()
    started = time.process_time()
    keras.models.load_model(path, compile=False).count_params()
    times.append(time.process_time() - started)
print(json.dumps({"first_s": times[0], "best_s": min(times)}))
"""


def save_models(folder: Path) -> None:
    """Writes the networks as ``.keras`` files, as `keras.Model.save` does."""
    import keras

    for name in NETWORKS:
        path = folder / f"{name}.keras"
        if not path.exists():
            getattr(keras.applications, name)(weights=None).save(path)


def measured(code: str, *arguments: str) -> dict[str, float]:
    """What a fresh process printed as JSON."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def seconds(command: list[str], repeats: int = 7) -> float:
    """Median processor time of a whole process, user and system."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def against_keras(folder: Path) -> list[dict[str, Any]]:
    """One row per network."""
    rows = []
    for name in NETWORKS:
        path = str(folder / f"{name}.keras")
        ours, keras = measured(_READ, path, "20"), measured(_LOAD, path)
        row = {
            "network": name,
            "read_first_ms": 1e3 * ours["first_s"],
            "read_again_ms": 1e3 * ours["repeated_s"],
            "load_model_ms": 1e3 * keras["best_s"],
            "ratio": keras["best_s"] / ours["repeated_s"],
            "ratio_first": keras["first_s"] / ours["first_s"],
        }
        rows.append(row)
        print(name, {key: round(value, 2) for key, value in row.items() if isinstance(value, float)}, flush=True)
    return rows


def linearity() -> list[dict[str, float]]:
    """Time to read chains of 100 to 6,400 layers, each layer with a width of its own so that nothing is cached."""
    rows = []
    for count in (100, 200, 400, 800, 1600, 3200, 6400):
        layers = [{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 32, 32, 3]}}]
        for at in range(count):
            config = {"name": f"c{at}", "filters": 1 + at, "kernel_size": [1, 1]}
            layers.append({"class_name": "Conv2D", "config": config})
        text = json.dumps({"class_name": "Sequential", "config": {"name": "chain", "layers": layers}})
        code = (
            "import json, sys, time; from edgeperf import features, read_network\n"
            "text = sys.stdin.read(); s = time.process_time(); features(read_network(text))\n"
            "print(time.process_time() - s)"
        )
        times = [
            float(
                subprocess.run(
                    [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(3)
        ]
        rows.append({"layers": count, "ms": 1e3 * min(times), "us_per_layer": 1e6 * min(times) / count})
    return rows


def report(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    rows = [
        f"| {row['network']} | {row['read_again_ms']:.1f} | {row['read_first_ms']:.1f} | {row['load_model_ms']:.0f} "
        f"| {row['ratio']:.0f} |"
        for row in result["networks"]
    ]
    chain = [f"| {row['layers']} | {row['ms']:.1f} | {row['us_per_layer']:.1f} |" for row in result["linearity"]]
    return f"""\
# Features from a file, against Keras

Processor time. {result["machine"]}; Python {result["python"]}, Keras {result["keras"]},
TensorFlow {result["tensorflow"]}.

- Median over {len(rows)} networks of load_model's time over reading's: **{result["median_ratio"]:.0f}**;
  at the first reading of a process: {result["median_ratio_first"]:.0f}.
- `edgeperf features` as a whole process: {result["features_process_s"]:.3f} s, `import keras`:
  {result["import_keras_s"]:.3f} s, ratio **{result["process_ratio"]:.3f}**.

| network | read (ms) | read, first (ms) | load_model (ms) | ratio |
|---|---|---|---|---|
{chr(10).join(rows)}

| layers in a chain | ms | µs per layer |
|---|---|---|
{chr(10).join(chain)}
"""


def main() -> None:
    """Measures and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where models are kept between runs; a temporary folder by default")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    save_models(folder)
    rows = against_keras(folder)
    features_s = seconds([EDGEPERF, "features", str(folder / "ResNet50.keras"), "--json"])
    import_s = seconds([sys.executable, "-c", "import keras"], repeats=3)
    result: dict[str, Any] = {
        "about": __doc__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "keras": version("keras"),
        "tensorflow": version("tensorflow"),
        "networks": rows,
        "median_ratio": statistics.median(row["ratio"] for row in rows),
        "median_ratio_first": statistics.median(row["ratio_first"] for row in rows),
        "features_process_s": features_s,
        "import_keras_s": import_s,
        "process_ratio": features_s / import_s,
        "linearity": linearity(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "network_speed.json").write_text(json.dumps(result, indent=2) + "\n")
    (RESULTS / "network_speed.md").write_text(report(result))
    print(report(result))


if __name__ == "__main__":
    main()
