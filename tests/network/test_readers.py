"""One network through every door: .keras, JSON, .h5 and a live model; nested, shared, several inputs and outputs."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from edgeperf import features, read_network
from edgeperf.errors import InvalidInput, UnsupportedLayer


@pytest.fixture(scope="module")
def model():
    """Nested, shared, with an operation, two inputs and two outputs."""
    import keras

    layers = keras.layers
    left, right = keras.Input((32, 48, 3), name="left"), keras.Input((32, 48, 3), name="right")
    stem = keras.Sequential([layers.Conv2D(8, 3, padding="same", name="conv"), layers.ReLU(name="relu")], name="stem")
    joined = layers.Concatenate(name="join")([stem(left), stem(right)])
    shared = layers.Conv2D(16, 1, name="shared")
    twice = layers.Add(name="twice")([shared(joined), shared(layers.Dropout(0.1, name="drop")(joined)) * 2.0])
    pooled = layers.GlobalAveragePooling2D(name="mean")(twice)
    return keras.Model([left, right], [layers.Dense(5, name="head")(pooled), twice], name="siamese")


def _written(model, folder, kind):
    path = folder / f"siamese.{kind}"
    if kind == "json":
        path.write_text(model.to_json())
    else:
        model.save(path)
    return path


@pytest.mark.parametrize("kind", ["keras", "json", "h5"])
@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file")
def test_every_file_gives_the_live_models_network(model, tmp_path, kind):
    live, read = read_network(model), read_network(_written(model, tmp_path, kind))
    assert read == live
    assert read.name == "siamese"


def test_json_text_and_dictionary_are_sources_too(model):
    text = model.to_json()
    assert read_network(text) == read_network(json.loads(text)) == read_network(model)


def test_shared_layers_appear_once_per_call_and_count_once(model):
    network = read_network(model)
    by_name = {layer.name: layer for layer in network.layers}
    first, second = by_name["shared"], by_name["shared#2"]
    assert (first.params, second.params, second.weights) == (16 * 16 + 16, 0, 16 * 16 + 16)
    assert first.macs == second.macs == 32 * 48 * 16 * 16
    assert second.shares_weights_with == "shared"
    assert by_name["stem/conv#2"].shares_weights_with == "stem/conv"
    assert sum(layer.params for layer in network.layers) == model.count_params()


def test_inputs_and_outputs_keep_their_order(model):
    network = read_network(model)
    assert network.inputs == ("left", "right")
    assert network.outputs == ("head", "twice")


@pytest.mark.parametrize("policy", ["float32", "float16", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("kind", ["keras", "json"])
def test_the_policy_of_most_layers_is_the_networks_precision(policy, kind, tmp_path):
    import keras

    image = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 3, dtype=policy)(image)
    x = keras.layers.GlobalAveragePooling2D(dtype=policy)(x)
    model = keras.Model(image, keras.layers.Dense(2, dtype="float32")(x), name="siamese")
    assert read_network(_written(model, tmp_path, kind)).precision == policy


@pytest.mark.parametrize(
    ("dtype", "precision"),
    [
        ("float16", "float16"),
        ({"class_name": "Policy", "config": {"name": "mixed_float16"}}, "mixed_float16"),  # as Keras 2 writes it
        *((odd, "float32") for odd in (None, 16, "int64", "\x1b[2J", ["float16"], {"config": {"name": ["float16"]}})),
    ],
)
def test_precisions_are_read_as_every_keras_writes_them_and_others_are_none(dtype, precision):
    dense = {"name": "d", "units": 2, "batch_input_shape": [None, 3], "dtype": dtype}
    layers = [{"class_name": "Dense", "config": dense}]
    assert read_network({"class_name": "Sequential", "config": {"layers": layers}}).precision == precision


@pytest.mark.parametrize("batch", [None, 1, 4])
def test_a_batch_that_the_file_fixes_is_kept_and_shapes_are_of_one_image(batch, tmp_path):
    import keras

    image = keras.Input((8, 8, 3), batch_size=batch)
    model = keras.Model(image, keras.layers.Conv2D(4, 3)(image), name="siamese")
    network = read_network(_written(model, tmp_path, "keras"))
    assert network.batch_size == (batch or 1)
    assert network.layers[-1].output_shape == (6, 6, 4)


@pytest.mark.parametrize(("first", "batch"), [(4, 4), (-4, 1), (0, 1), (True, 1), ("4", 1), (4.0, 1)])
def test_what_is_no_batch_size_fixes_none(first, batch):
    dense = {"name": "d", "units": 2, "batch_input_shape": [first, 3]}
    layers = [{"class_name": "Dense", "config": dense}]
    assert read_network({"class_name": "Sequential", "config": {"layers": layers}}).batch_size == batch


def test_the_batch_that_a_sequential_model_was_built_with_binds_nobody():
    layers = [{"class_name": "Dense", "config": {"name": "d", "units": 2}}]
    config = {"layers": layers, "build_input_shape": [4, 3]}
    network = read_network({"class_name": "Sequential", "config": config})
    assert network.batch_size == 1
    assert network.input_shape == (3,)


def test_input_size_is_inferred_again_not_scaled(model):
    assert read_network(model, input_size=(7, 9)).layers[2].output_shape == (7, 9, 8)
    assert features(read_network(model, input_size=17)).values["input_pixels"] == 17 * 17


@pytest.mark.parametrize("size", [0, -3, (3,), "8x8", 2**31, (8, 8, 8)])
def test_input_size_must_be_a_size(model, size):
    with pytest.raises(InvalidInput, match="input_size"):
        read_network(model, input_size=size)


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((None, None, 3), "--input-size PIXELS, or in Python with input_size="),
        ((8, 8, None), "fix the others in the model"),
        ((None,), "fix the others in the model"),
    ],
)
def test_open_sizes_are_told_with_who_can_close_them(shape, advice):
    image = {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [None, *shape]}}
    layers = [image, {"class_name": "ReLU", "config": {"name": "r"}}]
    with pytest.raises(InvalidInput, match=advice):
        read_network({"class_name": "Sequential", "config": {"name": "m", "layers": layers}})


def test_old_keras_2_json_is_read():
    """As Keras 2.3 writes it: no module names, nodes as nested lists, the input shape in the first layer."""
    conv = {"name": "c", "batch_input_shape": [None, 8, 8, 3], "filters": 4, "kernel_size": [3, 3], "padding": "same"}
    dense = {"name": "d", "units": 2, "activation": "softmax"}
    sequential = {
        "class_name": "Sequential",
        "config": {
            "name": "old",
            "layers": [
                {"class_name": "Conv2D", "config": conv},
                {"class_name": "Flatten", "config": {"name": "f"}},
                {"class_name": "Dense", "config": dense},
            ],
        },
        "keras_version": "2.3.1",
        "backend": "tensorflow",
    }
    functional = {
        "class_name": "Model",
        "config": {
            "name": "old",
            "layers": [
                {
                    "name": "c_input", "class_name": "InputLayer", "inbound_nodes": [],
                    "config": {"batch_input_shape": [None, 8, 8, 3], "name": "c_input"},
                },
                {"name": "c", "class_name": "Conv2D", "config": conv, "inbound_nodes": [[["c_input", 0, 0, {}]]]},
                {"name": "f", "class_name": "Flatten", "config": {"name": "f"}, "inbound_nodes": [[["c", 0, 0, {}]]]},
                {"name": "d", "class_name": "Dense", "config": dense, "inbound_nodes": [[["f", 0, 0]]]},
            ],
            "input_layers": [["c_input", 0, 0]],
            "output_layers": [["d", 0, 0]],
        },
    }  # fmt: skip
    # Before Keras 2.2.3 a Sequential model's configuration was the bare list.
    bare = {"class_name": "Sequential", "config": sequential["config"]["layers"]}
    networks = [read_network(source) for source in (sequential, functional, bare)]
    assert networks[0] == networks[1]
    assert networks[2].layers == networks[0].layers
    assert [layer.output_shape for layer in networks[0].layers] == [(8, 8, 3), (8, 8, 4), (256,), (2,)]
    assert sum(layer.params for layer in networks[0].layers) == 112 + 514


def test_tensorflow_functions_of_keras_2_are_operations():
    """Keras 2.4 to 2.15 wrap them as TFOpLambda and SlicingOpLambda layers."""

    def layer(name, kind, config, nodes):
        return {"name": name, "class_name": kind, "config": {"name": name, **config}, "inbound_nodes": nodes}

    open_end = {"start": None, "stop": None, "step": None}
    layers = [
        layer("i", "InputLayer", {"batch_input_shape": [None, 8, 6, 4]}, []),
        layer("add", "TFOpLambda", {"function": "__operators__.add"}, [["i", 0, 0, {"y": 3.0, "name": None}]]),
        layer("relu", "TFOpLambda", {"function": "nn.relu6"}, [["add", 0, 0, {"name": None}]]),
        layer("mul", "TFOpLambda", {"function": "math.multiply"}, [["i", 0, 0, {"y": ["relu", 0, 0], "name": None}]]),
        layer("cat", "TFOpLambda", {"function": "concat"}, [[["i", 0, 0, {"axis": -1}], ["mul", 0, 0, {"axis": -1}]]]),
        layer("part", "SlicingOpLambda", {"function": "__operators__.getitem"},
              [["cat", 0, 0, {"slice_spec": [open_end, {"start": 1, "stop": None, "step": 2}]}]]),
        layer("mean", "TFOpLambda", {"function": "math.reduce_mean"}, [["part", 0, 0, {"axis": [1, 2]}]]),
    ]  # fmt: skip
    config = {"name": "m", "layers": layers, "input_layers": [["i", 0, 0]], "output_layers": [["mean", 0, 0]]}
    network = read_network({"class_name": "Functional", "config": config})
    assert [(layer.kind, layer.output_shape) for layer in network.layers[1:]] == [
        ("Add", (8, 6, 4)),
        ("Activation", (8, 6, 4)),
        ("Multiply", (8, 6, 4)),
        ("Concatenate", (8, 6, 8)),
        ("Slice", (4, 6, 8)),
        ("GlobalAveragePooling2D", (8,)),
    ]


def test_all_unsupported_layers_are_listed_at_once():
    import keras

    @keras.saving.register_keras_serializable("mine")
    class Mine(keras.layers.Layer):
        def call(self, x):
            return x

    image = keras.Input((8, 8, 3))
    double = keras.layers.Lambda(lambda x: keras.ops.concatenate([x, x]), output_shape=(8, 8, 6), name="double")
    inner = keras.Sequential([Mine(name="deep")], name="inner")
    x = keras.layers.Conv2D(4, 1, name="conv")(inner(double(Mine(name="first")(image))))
    model = keras.Model(image, x)
    with pytest.raises(UnsupportedLayer) as caught:
        read_network(model)
    assert [name for name, _ in caught.value.offenders] == ["first", "double", "inner/deep"]
    assert "declared=" in str(caught.value)

    declared = {
        "Mine": {"kind": "Identity"},
        "mine>Mine": {"kind": "Identity"},
        "double": {"output_shape": (8, 8, 6), "macs": 10, "flops": 3, "params": 7},
    }
    network = read_network(model, declared=declared)
    by_name = {layer.name: layer for layer in network.layers}
    assert (by_name["double"].macs, by_name["double"].flops, by_name["double"].params) == (10, 23, 7)
    assert by_name["conv"].input_shapes == ((8, 8, 6),)


@pytest.mark.parametrize("declaration", [{"kind": "Nonsense"}, {"shape": (3,)}, 3])
def test_a_wrong_declaration_says_what_is_possible(declaration):
    import keras

    lambda_layer = keras.layers.Lambda(lambda x: x, name="odd")
    model = keras.Sequential([keras.Input((8,)), lambda_layer])
    with pytest.raises(InvalidInput, match="odd"):
        read_network(model, declared={"odd": declaration})


def test_a_class_that_only_shares_a_name_with_keras_is_not_taken_for_it():
    import keras

    @keras.saving.register_keras_serializable("mine")
    class Dense(keras.layers.Layer):
        def call(self, x):
            return x

    with pytest.raises(UnsupportedLayer, match="Dense"):
        read_network(keras.Sequential([keras.Input((8,)), Dense()]))


def test_reading_files_needs_nothing_but_the_standard_library(model, tmp_path):
    path = _written(model, tmp_path, "keras")
    code = (
        "import sys; from edgeperf import features, read_network\n"
        f"features(read_network({str(path)!r}))\n"
        "heavy = {'keras', 'tensorflow', 'torch', 'numpy', 'pandas', 'h5py', 'onnx'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", [3, None, "", "no/such/file.keras", "/"])
def test_what_is_no_model_is_refused(source):
    with pytest.raises(InvalidInput):
        read_network(source)


@pytest.mark.parametrize("options", [{}, {"libver": "latest"}, {"track_order": True}], ids=str)
@pytest.mark.parametrize(
    "encode", [str, str.encode, lambda text: np.bytes_(text.encode())], ids=["text", "bytes", "fixed"]
)
def test_hdf5_files_of_every_sort_hold_the_same_network(tmp_path, options, encode):
    import h5py

    layers = [
        {"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 8, 8, 3]}},
        *({"class_name": "Conv2D", "config": {"name": f"c{at}", "filters": 3, "kernel_size": 1}} for at in range(20)),
    ]
    text = json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": layers}})
    path = tmp_path / "m.h5"
    with h5py.File(path, "w", **options) as file:
        file.create_group("model_weights").create_dataset("w", data=np.zeros(10))
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = encode(text)
        file.attrs["keras_version"] = "2.3.1"
    assert read_network(path) == read_network(text)


def test_weights_alone_are_no_model(tmp_path):
    import h5py

    path = tmp_path / "weights.h5"
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = ["a", "b"]
    with pytest.raises(InvalidInput, match="model_config"):
        read_network(path)
