"""ONNX: every operator against the shape inference of the onnx library, and whole exports against their source."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from edgeperf import features, read_network
from edgeperf.errors import InvalidInput, UnsupportedLayer
from edgeperf.network.onnx.values import recorded
from tests.network.onnx_files import floats, onnx_bytes, small_onnx

EXPORTS = Path(__file__).with_name("exports")
IMAGE = (1, 6, 17, 20)


def _ints(*values):
    return np.asarray(values, np.int64)


# (operator, attributes, shape of x, further inputs, opset)
CASES = [
    ("Conv", {"kernel_shape": [3, 3], "strides": [2, 2]}, IMAGE, [floats(8, 6, 3, 3), floats(8)], 17),
    ("Conv", {"pads": [1, 0, 2, 1], "dilations": [2, 1]}, IMAGE, [floats(8, 6, 3, 3)], 11),
    ("Conv", {"auto_pad": "SAME_UPPER", "strides": [2, 2], "group": 6}, IMAGE, [floats(12, 1, 3, 3)], 13),
    ("Conv", {"auto_pad": "SAME_LOWER", "strides": [3, 2], "group": 2}, IMAGE, [floats(4, 3, 4, 4)], 13),
    ("Conv", {}, (1, 6, 20), [floats(8, 6, 3)], 17),
    ("Conv", {"strides": [2, 2, 2]}, (1, 2, 7, 8, 9), [floats(8, 2, 3, 3, 3)], 17),
    ("ConvTranspose", {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}, IMAGE, [floats(6, 4, 3, 3)], 17),
    ("ConvTranspose", {"strides": [2, 3], "group": 2, "dilations": [2, 1]}, IMAGE, [floats(6, 4, 3, 3), floats(8)], 11),
    ("ConvTranspose", {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, IMAGE, [floats(6, 4, 3, 3)], 17),
    ("ConvTranspose", {"strides": [2, 2], "output_shape": [34, 40]}, IMAGE, [floats(6, 4, 3, 3)], 17),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, IMAGE, [], 17),
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1}, IMAGE, [], 17),
    ("MaxPool", {"kernel_shape": [3, 3], "dilations": [2, 2]}, IMAGE, [], 17),
    ("AveragePool", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, IMAGE, [], 17),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}, IMAGE, [], 11),
    ("GlobalAveragePool", {}, IMAGE, [], 17),
    ("GlobalMaxPool", {}, (1, 6, 20), [], 17),
    ("BatchNormalization", {}, IMAGE, [floats(6)] * 4, 15),
    ("InstanceNormalization", {}, IMAGE, [floats(6)] * 2, 17),
    ("LayerNormalization", {"axis": -1}, (1, 16, 8), [floats(8)] * 2, 17),
    ("LRN", {"size": 5}, IMAGE, [], 13),
    *[(name, {}, IMAGE, [], 17) for name in
      ("Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Elu", "Selu", "Erf", "Exp", "Sqrt", "Neg", "Identity")],
    ("Gelu", {}, IMAGE, [], 20),
    ("LeakyRelu", {"alpha": 0.1}, IMAGE, [], 16),
    ("PRelu", {}, IMAGE, [floats(6, 1, 1)], 16),
    ("Clip", {}, IMAGE, [np.float32(0), np.float32(6)], 13),
    ("Softmax", {"axis": -1}, (1, 10), [], 13),
    ("Add", {}, IMAGE, [floats(6, 1, 1)], 14),
    ("Mul", {}, IMAGE, [np.float32(2)], 14),
    ("Pow", {}, IMAGE, [np.float32(2)], 15),
    ("Concat", {"axis": 1}, IMAGE, [floats(1, 2, 17, 20)], 13),
    ("Reshape", {}, IMAGE, [_ints(0, 2, 3, -1)], 14),
    ("Flatten", {"axis": 1}, IMAGE, [], 13),
    ("Flatten", {"axis": 2}, IMAGE, [], 13),
    ("Transpose", {"perm": [0, 2, 3, 1]}, IMAGE, [], 13),
    ("Transpose", {"perm": [0, 2, 1]}, (1, 16, 8), [], 13),
    ("Transpose", {"perm": [1, 0, 2]}, (1, 16, 8), [], 13),
    ("Squeeze", {}, (1, 6, 1, 1), [_ints(2, 3)], 13),
    ("Squeeze", {"axes": [3]}, (1, 6, 5, 1), [], 11),
    ("Unsqueeze", {}, (1, 6), [_ints(2, 3)], 13),
    ("Slice", {}, IMAGE, [_ints(1, -5), _ints(4, 2**62), _ints(1, 3), _ints(2, 1)], 13),
    ("Slice", {}, IMAGE, [_ints(-1), _ints(-(2**62)), _ints(2), _ints(-1)], 13),
    ("Gather", {"axis": 2}, IMAGE, [_ints(0, 3, 5)], 13),
    ("Gather", {"axis": 1}, (1, 16, 8), [np.int64(0)], 13),
    ("Expand", {}, (1, 6, 1, 1), [_ints(1, 6, 4, 4)], 13),
    ("Tile", {}, (1, 6, 4), [_ints(1, 1, 3)], 13),
    ("Pad", {}, IMAGE, [_ints(0, 0, 1, 2, 0, 0, 3, 4)], 13),
    ("Pad", {}, IMAGE, [_ints(0, 1, 0, 0, 0, 2, 0, 0)], 13),
    ("ReduceMean", {"axes": [2, 3], "keepdims": 0}, IMAGE, [], 13),
    ("ReduceMean", {"keepdims": 1}, IMAGE, [_ints(2, 3)], 18),
    ("ReduceSum", {"keepdims": 0}, IMAGE, [_ints(1)], 13),
    ("ReduceMax", {"axes": [-1]}, (1, 16, 8), [], 13),
    ("DepthToSpace", {"blocksize": 2}, (1, 8, 5, 6), [], 13),
    ("SpaceToDepth", {"blocksize": 2}, (1, 2, 6, 8), [], 13),
    ("Resize", {"mode": "nearest"}, IMAGE, [np.zeros(0, np.float32), np.asarray([1, 1, 2, 2], np.float32)], 13),
    ("Upsample", {"mode": "nearest"}, IMAGE, [np.asarray([1, 1, 2, 3], np.float32)], 9),
    ("Gemm", {"transB": 1}, (1, 16), [floats(10, 16), floats(10)], 13),
    ("MatMul", {}, (1, 9, 16), [floats(16, 10)], 13),
    ("MatMul", {}, (1, 3, 9, 16), [floats(1, 3, 16, 5)], 13),
    ("Einsum", {"equation": "bij,jk->bik"}, (1, 9, 16), [floats(16, 5)], 12),
    ("Dropout", {}, IMAGE, [], 13),
]  # fmt: skip


def _written(folder, data):
    path = folder / "m.onnx"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}{case[1] or ''}")
def test_shapes_are_those_of_the_onnx_library(case, tmp_path):
    import onnx
    from onnx import helper

    operator, attributes, shape, others, opset = case
    weights = {f"w{at}": value for at, value in enumerate(others)}
    node = helper.make_node(operator, ["x", *weights], ["y"], **attributes)
    # An identity at the end, so that operators which vanish have an output too.
    data = onnx_bytes([node, helper.make_node("Exp", ["y"], ["z"])], shape, weights, opset=opset, outputs=("z",))
    inferred = onnx.shape_inference.infer_shapes(onnx.load_from_string(data), strict_mode=True, data_prop=True)
    expected = tuple(dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim)
    layer = read_network(_written(tmp_path, data)).layers[-1]
    assert layer.output_shape in {recorded(expected, True), recorded(expected, False)}


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("size", [3, 4, 5])
def test_windows_that_start_in_the_padding_are_dropped_as_at_run_time(operator, size, tmp_path):
    """ONNX' own shape inference keeps them before opset 22; its runtime and PyTorch do not."""
    import onnx
    import onnxruntime
    from onnx import helper

    node = helper.make_node(operator, ["x"], ["y"], kernel_shape=[2, 2], strides=[3, 3], pads=[0, 0, 1, 1], ceil_mode=1)
    model = onnx.load_from_string(onnx_bytes([node], (1, 2, size, 5), {}))
    model.ir_version = 9
    path = _written(tmp_path, model.SerializeToString())
    (result,) = onnxruntime.InferenceSession(path).run(None, {"x": floats(1, 2, size, 5)})
    assert read_network(path).layers[-1].output_shape == recorded(result.shape, True)


@pytest.mark.parametrize(
    ("nodes", "shape", "weights", "macs", "params"),
    [
        ([("Conv", {"group": 2})], IMAGE, [floats(8, 3, 3, 3), floats(8)], 15 * 18 * 8 * 3 * 9, 8 * 27 + 8),
        ([("Conv", {"group": 6})], IMAGE, [floats(12, 1, 3, 3)], 15 * 18 * 12 * 9, 108),
        ([("ConvTranspose", {"group": 2})], IMAGE, [floats(6, 4, 3, 3)], 17 * 20 * 6 * 4 * 9, 6 * 4 * 9),
        ([("Gemm", {})], (1, 16), [floats(16, 10), floats(10)], 160, 170),
        ([("MatMul", {})], (1, 9, 16), [floats(16, 10)], 9 * 160, 160),
        ([("MatMul", {})], (1, 3, 9, 16), [floats(1, 3, 16, 5)], 3 * 9 * 16 * 5, 3 * 16 * 5),
        ([("Einsum", {"equation": "bij,jk->bik"})], (1, 9, 16), [floats(16, 5)], 9 * 16 * 5, 80),
        ([("Mul", {})], IMAGE, [floats(6, 1, 1)], 0, 6),
        ([("Mul", {})], IMAGE, [np.float32(3)], 0, 0),
        ([("BatchNormalization", {})], IMAGE, [floats(6)] * 4, 0, 24),
    ],
)
def test_macs_and_parameters_by_hand(nodes, shape, weights, macs, params, tmp_path):
    from onnx import helper

    ((operator, attributes),) = nodes
    named = {f"w{at}": value for at, value in enumerate(weights)}
    node = helper.make_node(operator, ["x", *named], ["y"], **attributes)
    layer = read_network(_written(tmp_path, onnx_bytes([node], shape, named))).layers[-1]
    assert (layer.macs, layer.params) == (macs, params)


def test_shape_arithmetic_is_folded_and_a_bias_joins_its_product(tmp_path):
    network = read_network(_written(tmp_path, small_onnx()))
    assert [(layer.kind, layer.output_shape) for layer in network.layers] == [
        ("InputLayer", (32, 32, 3)),
        ("Conv2D", (16, 16, 8)),
        ("BatchNormalization", (16, 16, 8)),
        ("ReLU", (16, 16, 8)),
        ("Add", (16, 16, 8)),
        ("MaxPooling2D", (8, 8, 8)),
        ("Reshape", (512,)),
        ("Dense", (10,)),
        ("Softmax", (10,)),
    ]
    assert network.layers[7].params == 512 * 10 + 10
    assert network.layers[1].padding == ((1, 1), (1, 1))


@pytest.mark.parametrize("batch", [1, 4, "N"])
def test_a_batch_that_the_export_wrote_into_its_shapes_is_taken_for_one(batch, tmp_path):
    from onnx import helper

    images = 1 if batch == "N" else batch
    nodes = [
        helper.make_node("Reshape", ["x", "split"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["t", "joined"], ["r"]),
        helper.make_node("Reshape", ["r", "flat"], ["y"]),
    ]
    weights = {"split": _ints(images, 2, 4, 8, 8), "joined": _ints(images, 8, 8, 8), "flat": _ints(images, -1)}
    network = read_network(_written(tmp_path, onnx_bytes(nodes, (batch, 8, 8, 8), weights)))
    assert network.layers[-1].output_shape == (512,)
    assert network.batch_size == images


@pytest.mark.parametrize(("dtype", "precision"), [("f4", "float32"), ("f2", "float16"), ("f8", "float64")])
def test_the_precision_of_most_weights_is_the_networks(dtype, precision, tmp_path):
    from onnx import helper

    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"]), helper.make_node("Reshape", ["c", "flat"], ["y"])]
    weights = {"w": floats(4, 3, 3, 3).astype(dtype), "b": floats(4), "flat": _ints(1, -1)}
    network = read_network(_written(tmp_path, onnx_bytes(nodes, ("N", 3, 8, 8), weights)))
    assert network.precision == precision


def test_pads_that_are_turned_round_while_reading_are_folded(tmp_path):
    """As PyTorch exports them: last axis first, in pairs, turned round by slices and transpositions of a matrix."""
    from onnx import helper

    node = helper.make_node
    nodes = [
        node("Reshape", ["pads", "pairs"], ["p"]),
        node("Slice", ["p", "start", "stop", "rows", "back"], ["r"]),
        node("Transpose", ["r"], ["t"], perm=[1, 0]),
        node("Reshape", ["t", "all"], ["ends"]),
        node("Pad", ["x", "ends"], ["y"]),
    ]
    weights = {
        "pads": _ints(0, 5, 0, 3, 0, 0, 0, 0), "pairs": _ints(-1, 2), "start": _ints(-1), "stop": _ints(-(2**63) + 1),
        "rows": _ints(0), "back": _ints(-1), "all": _ints(-1),
    }  # fmt: skip
    network = read_network(_written(tmp_path, onnx_bytes(nodes, (1, 3, 20, 20), weights)))
    assert network.layers[-1].output_shape == (23, 25, 3)


def test_a_table_that_is_gathered_counts_its_own_weights_and_a_mask_none(tmp_path):
    from onnx import helper

    node = helper.make_node
    nodes = [
        node("MatMul", ["coordinates", "w"], ["m"]),
        node("Relu", ["m"], ["table"]),
        node("Gather", ["table", "index"], ["flat"], axis=0),
        node("Reshape", ["flat", "square"], ["bias"]),
        node("Add", ["x", "bias"], ["a"]),
        node("ConstantOfShape", ["square"], ["zeros"]),
        node("ScatterND", ["zeros", "place", "ones"], ["mask"]),
        node("Add", ["a", "mask"], ["y"]),
    ]
    weights = {
        "coordinates": floats(9, 2), "w": floats(2, 4), "index": _ints(*range(9)).repeat(4)[:9],
        "square": _ints(1, 4, 3, 3), "place": _ints(0, 0, 0, 0).reshape(1, 4), "ones": floats(1),
    }  # fmt: skip
    network = read_network(_written(tmp_path, onnx_bytes(nodes, (1, 4, 3, 3), weights)))
    assert [layer.kind for layer in network.layers] == ["InputLayer", "Add", "Add"]
    assert [layer.params for layer in network.layers] == [0, 9 * 2 + 2 * 4, 0]


def test_a_token_that_joins_the_image_is_a_weight(tmp_path):
    from onnx import helper

    nodes = [helper.make_node("Concat", ["token", "x"], ["y"], axis=1)]
    network = read_network(_written(tmp_path, onnx_bytes(nodes, (1, 49, 16), {"token": floats(1, 1, 16)})))
    assert (network.layers[-1].output_shape, network.layers[-1].params) == ((50, 16), 16)


def test_parts_that_do_not_fit_are_refused(tmp_path):
    from onnx import helper

    nodes = [helper.make_node("Concat", ["token", "x"], ["y"], axis=1)]
    with pytest.raises(InvalidInput, match="does not fit the others along axis 1"):
        read_network(_written(tmp_path, onnx_bytes(nodes, (1, 49, 16), {"token": floats(3, 1, 16)})))


def test_weights_that_two_nodes_use_count_once(tmp_path):
    from onnx import helper

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="first", pads=[1] * 4),
        helper.make_node("Conv", ["a", "w"], ["y"], name="second", pads=[1] * 4),
    ]
    data = onnx_bytes(nodes, IMAGE, {"w": floats(6, 6, 3, 3)})
    one, two = read_network(_written(tmp_path, data)).layers[1:]
    assert (one.name, two.name, two.shares_weights_with) == ("first", "first#2", "first")
    assert (one.params, two.params, two.macs) == (324, 0, one.macs)


def test_open_sizes_are_closed_by_input_size(tmp_path):
    from onnx import helper

    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2])
    path = _written(tmp_path, onnx_bytes([node], ("N", 3, "H", "W"), {"w": floats(4, 3, 3, 3)}))
    with pytest.raises(InvalidInput, match="--input-size PIXELS, or in Python with input_size=") as caught:
        read_network(path)
    assert "neither" not in str(caught.value)
    assert "Expected" not in str(caught.value)
    assert read_network(path, input_size=(33, 65)).layers[-1].output_shape == (16, 32, 4)


def test_open_channels_are_for_the_model_to_fix(tmp_path):
    from onnx import helper

    node = helper.make_node("Conv", ["x", "w"], ["y"])
    path = _written(tmp_path, onnx_bytes([node], (1, "C", 32, 32), {"w": floats(4, 3, 3, 3)}))
    with pytest.raises(InvalidInput, match="fix the others in the model"):
        read_network(path)


def test_unknown_operators_are_listed_at_once_and_can_be_declared(tmp_path):
    from onnx import helper

    nodes = [
        helper.make_node("Mystery", ["x"], ["a"], name="first", domain="mine"),
        helper.make_node("Relu", ["a"], ["b"], name="known"),
        helper.make_node("NonZero", ["b"], ["y"], name="second"),
    ]
    path = _written(tmp_path, onnx_bytes(nodes, IMAGE, {}))
    with pytest.raises(UnsupportedLayer) as caught:
        read_network(path)
    assert caught.value.offenders == (("first", "Mystery"), ("second", "NonZero"))
    declared = {"Mystery": {"output_shape": (5, 5, 2), "macs": 7}, "second": {"kind": "Identity"}}
    network = read_network(path, declared=declared)
    assert [(layer.output_shape, layer.macs) for layer in network.layers[1:]] == [
        ((5, 5, 2), 7),
        ((5, 5, 2), 0),
        ((5, 5, 2), 0),
    ]


def test_external_data_are_not_opened(tmp_path):
    """The weights lie in a file that does not exist; its name points outside the folder."""
    import onnx
    from onnx import TensorProto, helper

    model = onnx.load_from_string(
        onnx_bytes([helper.make_node("Conv", ["x", "w"], ["y"])], IMAGE, {"w": floats(4, 6, 3, 3)})
    )
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../../../../etc/passwd")
    path = _written(tmp_path, model.SerializeToString())
    assert read_network(path).layers[-1].params == 4 * 54


@pytest.mark.parametrize(
    "broken",
    [
        lambda node: [node("Relu", ["nowhere"], ["y"])],
        lambda node: [node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["x"], ["y"])],
        lambda node: [node("Reshape", ["x", "x"], ["y"])],
        lambda node: [node("Conv", ["x"], ["y"])],
        lambda node: [node("Conv", ["x", "x"], ["y"])],
        lambda node: [node("Transpose", ["x"], ["y"], perm=[0, 0, 1, 2])],
        lambda node: [node("MaxPool", ["x"], ["y"], kernel_shape=[99, 99])],
        lambda node: [node("Concat", ["x", "x"], ["y"], axis=9)],
        lambda node: [node("If", ["x"], ["y"])],
    ],
)
def test_broken_graphs_are_refused_in_words(broken, tmp_path):
    from onnx import helper

    path = _written(tmp_path, onnx_bytes(broken(helper.make_node), IMAGE, {}))
    with pytest.raises(InvalidInput, match=r"m\.onnx"):
        read_network(path)


_EXPORTED = json.loads((EXPORTS / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(_EXPORTED))
def test_exports_of_pytorch_have_the_macs_that_pytorch_counts(name):
    """The files come from export.py beside them, the numbers from torch.utils.flop_counter, attention by formula."""
    network = read_network(EXPORTS / name)
    values = features(network).values
    assert values["macs"] == _EXPORTED[name]["macs"]
    assert network.input_shape == tuple(_EXPORTED[name]["input_shape"])
    assert network.layers[-1].output_shape == tuple(_EXPORTED[name]["output_shape"])
    # Normalisations are folded or rewritten, by some exporters more than by others.
    assert abs(values["params"] - _EXPORTED[name]["params"]) <= 0.01 * _EXPORTED[name]["params"]


def _exported_from_keras(model, folder, opset):
    import tensorflow as tf
    import tf2onnx

    spec = [tf.TensorSpec([None, *model.input_shape[1:]], tf.float32, name="input")]
    function = tf.function(lambda x: model(x, training=False))
    path = folder / "m.onnx"
    tf2onnx.convert.from_function(function, input_signature=spec, opset=opset, output_path=str(path))
    return path


def _keras_model():
    import keras

    layers = keras.layers
    image = keras.Input((32, 48, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    y = layers.Conv2D(8, 1, activation="relu")(y)
    x = layers.Concatenate()([layers.Add()([x, y]), x])
    x = layers.MaxPooling2D(3, 2, padding="same")(layers.ZeroPadding2D(1)(x))
    gate = layers.GlobalAveragePooling2D(keepdims=True)(x)
    x = layers.Multiply()([x, layers.Conv2D(16, 1, activation="sigmoid")(gate)])
    x = layers.SeparableConv2D(24, 3)(x)
    x = layers.UpSampling2D(2)(x)
    x = layers.Dense(12)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(image, layers.Dense(5, activation="softmax")(x))
    # Exporters drop what is zero, as fresh biases are.
    random = np.random.default_rng(1)
    model.set_weights([random.uniform(0.5, 1.0, weight.shape) for weight in model.get_weights()])
    return model


@pytest.mark.parametrize(
    "opset", [11, 17, *(pytest.param(opset, marks=pytest.mark.slow) for opset in (12, 13, 14, 15, 16, 18))]
)
@pytest.mark.filterwarnings("ignore")
def test_exports_of_keras_agree_with_their_source(tmp_path, opset):
    model = _keras_model()
    keras_network = read_network(model)
    network = read_network(_exported_from_keras(model, tmp_path, opset))
    ours, theirs = features(network).values, features(keras_network).values
    assert ours["macs"] == theirs["macs"]
    assert ours["num_dense"] == theirs["num_dense"]
    assert network.input_shape == keras_network.input_shape

    def windows(of):
        return Counter(
            (layer.kind, layer.input_shapes, layer.output_shape, layer.macs, layer.kernel_size, layer.strides)
            for layer in of.layers
            if layer.filters and layer.kind != "SeparableConv2D"
        )

    # A separable convolution becomes a depthwise and a plain one; all others are as they were.
    missing = windows(keras_network) - windows(network)
    added = windows(network) - windows(keras_network)
    assert not missing
    assert [kind for kind, *_ in added] == ["DepthwiseConv2D", "Conv2D"]
    # The batch normalisation is folded: of its 4 parameters per channel a bias remains.
    assert theirs["params"] - ours["params"] == 3 * 8
    assert ours["num_batch_norm"] == 0
