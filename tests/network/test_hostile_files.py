"""Broken and hostile files: nothing but `EdgePerfError` leaves the reader, soon, in little memory, and nothing runs."""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from edgeperf import features, read_network
from edgeperf.errors import EdgePerfError, InvalidInput, UnsupportedLayer
from edgeperf.network import layer_rows, memory_plan
from tests.network.mutation import archive, mutated_bytes, mutated_json
from tests.network.onnx_files import floats, onnx_bytes, small_onnx


def _layer(name, kind, config, sources, module="keras.layers"):
    history = [{"class_name": "__keras_tensor__", "config": {"shape": [], "keras_history": [*ref]}} for ref in sources]
    nodes = [{"args": [history if len(history) > 1 else history[0]], "kwargs": {}}] if sources else []
    return {
        "module": module, "class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": nodes,
        "registered_name": None,
    }  # fmt: skip


def _model(*layers, inputs=("i",), outputs=None):
    ends = outputs or [layers[-1]["name"]]
    refs = [[[name, 0, 0] for name in names] for names in (inputs, ends)]
    config = {"name": "m", "layers": list(layers), "input_layers": refs[0], "output_layers": refs[1]}
    return {"module": "keras", "class_name": "Functional", "config": config}


def _input(shape=(None, 32, 32, 3), name="i"):
    return _layer(name, "InputLayer", {"batch_shape": list(shape)}, [])


def _conv(name="c", source="i", **config):
    return _layer(name, "Conv2D", {"filters": 4, "kernel_size": [3, 3], **config}, [(source, 0, 0)])


def _deep(depth):
    model = {"class_name": "Sequential", "config": {"name": "leaf", "layers": [_input()]}}
    for number in range(depth):
        model = {"class_name": "Sequential", "config": {"name": f"m{number}", "layers": [_input(), model]}}
    return model


def _doubling(levels):
    """Models that call the model within twice: 2^levels calls in a few kilobytes."""
    inner = _model(_input(), _layer("r", "ReLU", {}, [("i", 0, 0)]))
    for number in range(levels):
        twice = {**inner, "name": f"m{number}", "config": {**inner["config"], "name": f"m{number}"}}
        calls = [
            _layer("", "", {}, [(source, at, 0)])["inbound_nodes"][0] for source, at in (("i", 0), (f"m{number}", 0))
        ]
        inner = _model(_input(), {**twice, "inbound_nodes": calls})
        inner["config"]["output_layers"] = [[f"m{number}", 1, 0]]
    return inner


HOSTILE_CONFIGS = {
    "no config": {"class_name": "Functional", "config": None},
    "no layers": {"class_name": "Functional", "config": {"name": "m"}},
    "no outputs": {"class_name": "Functional", "config": {"name": "m", "layers": []}},
    "empty sequential": {"class_name": "Sequential", "config": {"name": "m", "layers": []}},
    "layers are text": {"class_name": "Functional", "config": {"name": "m", "layers": "Conv2D"}},
    "class is a number": {"class_name": "Sequential", "config": {"layers": [{"class_name": 3, "config": {}}]}},
    "subclassed": {"class_name": "MyModel", "config": {"width": 3}},
    "duplicate names": _model(_input(), _conv(), _conv()),
    "cycle": _model(_input(), _conv("a", "b"), _conv("b", "a")),
    "itself": _model(_input(), _conv("a", "a")),
    "dangling": _model(_input(), _conv("a", "nowhere")),
    "absent output": _model(_input(), _conv(), outputs=["nowhere"]),
    "absent input": _model(_input(), _conv(), inputs=["nowhere"]),
    "huge filters": _model(_input(), _conv(filters=2**31), _conv("d", "c", filters=2**31)),
    "huge input": _model(_input((None, 2**31, 2**31, 3)), _conv()),
    "huge number": _model(_input(), _conv(filters=10**400)),
    "endless number": _model(_input((None, float("inf"), 3, 3)), _conv()),
    "negative": _model(_input(), _conv(filters=-4)),
    "zero stride": _model(_input(), _conv(strides=[0, 0])),
    "zero groups": _model(_input(), _conv(groups=0)),
    "text for a number": _model(_input(), _conv(kernel_size="3x3")),
    "list for a number": _model(_input(), _conv(filters=[4])),
    "dictionary for padding": _model(_input(), _conv(padding={"a": 1})),
    "activation is a list": _model(_input(), _conv(activation=["relu"])),
    "many dimensions": _model(_input([1] * 100_000), _layer("r", "ReLU", {}, [("i", 0, 0)])),
    "long parameter": _model(_input(), _layer("r", "Reshape", {"target_shape": [1] * 100_000}, [("i", 0, 0)])),
    "wrapped nothing": _model(_input(), _layer("w", "TimeDistributed", {"layer": {}}, [("i", 0, 0)])),
    "wrapper in wrapper": _model(_input(), _layer("w", "TimeDistributed", {"layer": {
        "class_name": "TimeDistributed", "module": "keras.layers", "config": {"layer": None}}}, [("i", 0, 0)])),
    "model in wrapper": _model(_input(), _layer("w", "TimeDistributed", {"layer": _deep(1)}, [("i", 0, 0)])),
    "nested deeply": _deep(100),
    "calls without end": _doubling(30),
    "batch reshaped": _model(_input(), _layer("r", "Reshape", {"newshape": [5, -1]}, [("i", 0, 0)],
                             "keras.src.ops.numpy")),
    "split into atoms": _model(_input(), _layer("s", "Split", {"indices_or_sections": 10**9, "axis": 1}, [("i", 0, 0)],
                               "keras.src.ops.numpy")),
    "bad einsum": _model(_input(), _layer("e", "EinsumDense", {"equation": "a->b", "output_shape": 3}, [("i", 0, 0)])),
    "python in a lambda": _model(_input(), _layer("l", "Lambda", {"function": {
        "class_name": "__lambda__", "config": {"code": "4wEAAAA=", "defaults": None}}}, [("i", 0, 0)])),
    "module to import": _model(_input(), _layer("l", "system", {}, [("i", 0, 0)], "os")),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_CONFIGS)
def test_hostile_configurations_are_refused(name, tmp_path):
    text = json.dumps(HOSTILE_CONFIGS[name])
    path = tmp_path / "m.keras"
    path.write_bytes(archive(text.encode()))
    for source in (text, path):
        with pytest.raises(InvalidInput) as caught:
            read_network(source)
        assert 20 < len(str(caught.value)) < 2000


def test_deep_json_is_refused():
    with pytest.raises(InvalidInput, match="JSON"):
        read_network('{"class_name":' * 100_000)
    nested = '{"class_name": "Sequential", "config": {"name": "m", "layers": [' * 10_000 + "]}}" * 10_000
    with pytest.raises(InvalidInput):
        read_network(nested)


@pytest.fixture(scope="module")
def good_config():
    return json.dumps(_model(_input(), _conv(), _layer("r", "ReLU", {}, [("c", 0, 0)])))


def _zip_bomb():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file, file.open("config.json", "w") as member:
        for _ in range(200):
            member.write(b" " * 2**20)
    return packed.getvalue()


def _with_flag(data, bit):
    """Sets a general-purpose flag of every entry: bit 0 says encrypted."""
    out = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = out.find(signature)
        while at >= 0:
            out[at + offset] |= 1 << bit
            at = out.find(signature, at + 1)
    return bytes(out)


def _archives(config):
    good = archive(config.encode())
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    yield "zip bomb", _zip_bomb()
    yield "encrypted", _with_flag(good, 0)
    yield "no config", empty.getvalue()
    yield "lzma", archive(config.encode(), compression=zipfile.ZIP_LZMA)
    yield "config is no JSON", archive(b"\x80\x04pickled")
    yield "wrong checksum", good.replace(b'"filters"', b'"filterz"', 1)
    yield "large directory", good[:-22] + good[-22:-10] + struct.pack("<II", 2**31, 0) + b"\0\0"
    for size in (1, 10, 100, len(good) // 2, len(good) - 30, len(good) - 1):
        yield f"cut to {size}", good[:size]


def test_broken_archives_are_refused(tmp_path, good_config):
    accepted = []
    for name, data in _archives(good_config):
        path = tmp_path / f"{name}.keras"
        path.write_bytes(data)
        with contextlib.suppress(EdgePerfError):
            read_network(path)
            accepted.append(name)
    assert not accepted


def test_a_configuration_beyond_the_limit_is_refused(tmp_path, good_config):
    """Valid JSON of a valid model, but for 16 MiB of spaces in front."""
    path = tmp_path / "m.keras"
    path.write_bytes(archive(b" " * 2**24 + good_config.encode(), compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(InvalidInput, match="more than"):
        read_network(path)


def test_the_good_archive_is_read(tmp_path, good_config):
    path = tmp_path / "m.keras"
    path.write_bytes(archive(good_config.encode(), compression=zipfile.ZIP_DEFLATED))
    assert len(read_network(path).layers) == 3


def test_nothing_in_a_lambda_runs(tmp_path):
    """A layer that would write a file if anything loaded its code."""
    import keras

    witness = str(tmp_path / "ran")
    image = keras.Input((4,))
    double = keras.layers.Lambda(lambda x: (open(witness, "w").close(), x)[1], output_shape=(4,), name="evil")  # noqa: PTH123
    model = keras.Model(image, double(image))
    path = tmp_path / "evil.keras"
    model.save(path)
    Path(witness).unlink(missing_ok=True)
    with pytest.raises(UnsupportedLayer, match="evil"):
        read_network(path)
    read_network(path, declared={"evil": {"kind": "Identity"}})
    assert not Path(witness).exists()


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n\x1a\n" + bytes(100), b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", bytes(999), b"[]", b"{"]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "m.keras"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"m\.keras"):
        read_network(path)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Real files of every form, small enough to mutate often."""
    import keras

    layers = keras.layers
    keras.backend.clear_session()
    image = keras.Input((32, 32, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(image)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    inner = keras.Sequential([layers.Conv2D(8, 1), layers.Activation("silu")])
    x = layers.Add()([inner(y), inner(x)]) * 2.0
    x = keras.ops.concatenate([x, x[..., :4]], axis=-1)
    x = layers.MaxPooling2D()(x)
    tokens = layers.Reshape((64, 12))(x)
    tokens = layers.MultiHeadAttention(2, 4)(tokens, tokens)
    model = keras.Model(image, layers.Dense(3)(layers.GlobalAveragePooling1D()(tokens)))
    folder = tmp_path_factory.mktemp("seeds")
    model.save(folder / "m.keras")
    model.save(folder / "m.h5")
    (folder / "m.json").write_text(model.to_json())
    (folder / "m.onnx").write_bytes(small_onnx())
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


def _fuzz(seeds, count, seed, folder):
    """Reads `count` mutants; returns how many were refused."""
    rng = random.Random(seed)  # noqa: S311 - no secrets here
    config = json.loads(seeds[".json"])
    refused = 0
    for _ in range(count):
        suffix = rng.choice([*seeds, ".json", ".onnx"])
        if suffix == ".json" and rng.random() < 0.8:
            data = json.dumps(mutated_json(config, rng)).encode()
        elif suffix == ".keras" and rng.random() < 0.5:
            data = archive(json.dumps(mutated_json(config, rng)).encode())
        else:
            data = mutated_bytes(seeds[suffix], rng)
        path = folder / f"mutant{suffix}"
        path.write_bytes(data)
        started = time.monotonic()
        try:
            network = read_network(path, input_size=rng.choice((None, None, 16)))
            features(network), layer_rows(network), memory_plan(network)
        except EdgePerfError:
            refused += 1
        except BaseException:
            (folder / "culprit").write_bytes(data)
            raise
        if time.monotonic() - started > 5:
            raise AssertionError(f"a mutant took longer than 5 s: {path}")
    return refused


def test_mutants_are_read_or_refused(seeds, tmp_path):
    refused = _fuzz(seeds, 600, 7, tmp_path)
    assert 200 < refused < 600


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_mutants_are_read_or_refused(seeds, tmp_path, seed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = _fuzz(seeds, 5000, seed, tmp_path)
    assert refused > 1000
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 2**20


_LIMITED = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
from edgeperf.errors import EdgePerfError
from edgeperf import features, read_network
started = time.process_time()
try:
    features(read_network(sys.argv[1]))
except EdgePerfError as error:
    print(type(error).__name__, error)
print(time.process_time() - started, file=sys.stderr)
"""


def _worst_cases():
    """Files at the edge of what the limits let through, meant to take long or much."""
    wide = [_layer(f"r{at}", "ReLU", {}, [("i", 0, 0)]) for at in range(30_000)]
    yield "many layers", json.dumps(_model(_input(), *wide)).encode()[: 2**24]
    yield "many small lists", b'{"class_name": "Functional", "config": [' + b"[]," * (2**24 // 3 - 100) + b"[]]}"
    yield "many small dictionaries", b'{"class_name": "Functional", "config": [' + b"{}," * (2**24 // 3 - 100) + b"{}]}"
    yield (
        "backwards",
        json.dumps(
            _model(
                _input(),
                *[_conv(f"c{at}", f"c{at + 1}", padding="same") for at in range(20_000)][::-1],
                _conv("c20000"),
            )
        ).encode(),
    )
    yield "calls without end", json.dumps(_doubling(30)).encode()
    split = {"indices_or_sections": 4096, "axis": 1}
    parts = [_layer(f"s{at}", "Split", split, [("i", 0, 0)], "keras.src.ops.numpy") for at in range(5000)]
    yield "many parts", json.dumps(_model(_input((None, 4096, 3)), *parts)).encode()
    yield "zip bomb", _zip_bomb()


def _worst_graphs():
    """ONNX files of the same intent: many operators, and constants that multiply."""
    from onnx import helper

    def chain(operator, count, *weights, **attributes):
        ends = ["x", *(f"t{at}" for at in range(count - 1)), "y"]
        return [helper.make_node(operator, [ends[at], *weights], [ends[at + 1]], **attributes) for at in range(count)]

    image = (1, 3, 8, 8)
    yield "many activations", onnx_bytes(chain("Relu", 90_000), image, {})
    yield "many convolutions", onnx_bytes(chain("Conv", 60_000, "w", pads=[1] * 4), image, {"w": floats(3, 3, 3, 3)})
    sums = [helper.make_node("Add", ["c", "d"], [f"k{at}"]) for at in range(50_000)]
    tables = {"c": floats(32, 1), "d": floats(1, 32)}
    yield "many sums of constants", onnx_bytes([*sums, helper.make_node("Relu", ["x"], ["y"])], image, tables)


@pytest.mark.slow
def test_the_worst_files_end_within_5_seconds_and_1_gb(tmp_path):
    for name, data in (*_worst_cases(), *_worst_graphs()):
        path = tmp_path / "worst.keras"
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", _LIMITED, str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (name, done.stderr[-500:])
        assert float(done.stderr.split()[-1]) < 5, name


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_an_archive_that_is_cut_off_is_said_to_be_incomplete(tmp_path, share):
    whole = archive(json.dumps(_model(_input(), _conv())).encode())
    path = tmp_path / "cut.keras"
    path.write_bytes(whole[: int(share * len(whole)) - 22])
    with pytest.raises(InvalidInput, match=r"^cut\.keras: it is damaged or incomplete.*again"):
        read_network(path)
