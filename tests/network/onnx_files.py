"""Small ONNX models, written by the onnx library."""

from __future__ import annotations

from typing import Any

import numpy as np


def onnx_bytes(
    nodes: list[Any],
    shape: tuple[Any, ...],
    weights: dict[str, Any],
    *,
    opset: int = 17,
    outputs: tuple[str, ...] = ("y",),
) -> bytes:
    """A model with one input ``x`` of `shape`, the given nodes and initialisers."""
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return bytes(model.SerializeToString())


def floats(*shape: int) -> Any:
    """Weights of a shape."""
    return np.zeros(shape, np.float32)


def small_onnx() -> bytes:
    """A convolution with all that comes along: shape arithmetic, slices, a residual sum, a dense layer."""
    from onnx import helper

    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("Add", ["r", "c"], ["a"]),
        node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["p"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"]),
        node("Unsqueeze", ["batch", "axis"], ["rows"]),
        node("Concat", ["rows", "rest"], ["target"], axis=0),
        node("Reshape", ["p", "target"], ["flat"]),
        node("MatMul", ["flat", "k"], ["m"]),
        node("Add", ["m", "kb"], ["d"]),
        node("Softmax", ["d"], ["y"]),
    ]
    weights = {
        "w": floats(8, 3, 3, 3), "b": floats(8), "s": floats(8), "k": floats(8 * 64, 10), "kb": floats(10),
        "zero": np.asarray(0), "axis": np.asarray([0]), "rest": np.asarray([-1]),
    }  # fmt: skip
    return onnx_bytes(nodes, ("N", 3, 32, 32), weights)
