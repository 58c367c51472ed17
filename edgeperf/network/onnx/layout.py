"""Which tensors of an ONNX graph hold their channels right behind the batch, by who takes them.

ONNX states no layout. Convolutions and poolings demand channels first; a transposition tells what it turns into what;
element-wise operators pass the demand of their consumers on to what they take. One walk against the order of the graph
tells it for all tensors.
"""

from __future__ import annotations

from typing import Final

from edgeperf.network.onnx.model import OnnxGraph
from edgeperf.network.onnx.pointwise import POINTWISE
from edgeperf.network.onnx.windows import WINDOWS

_PRODUCTS: Final = frozenset(
    {"Gemm", "MatMul", "Einsum", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"}
)
_PASSING: Final = (frozenset(POINTWISE) - _PRODUCTS) | {
    "Identity", "Dropout", "Cast", "Concat", "Split", "Slice", "Pad", "Expand",
}  # fmt: skip


def expected_layouts(graph: OnnxGraph) -> dict[str, bool | None]:
    """Tensor name → whether its channels are expected first; None or absent where nothing tells."""
    expected: dict[str, bool | None] = {}
    for node in reversed(graph.nodes):
        if node.operator in WINDOWS:
            if node.inputs:
                expected[node.inputs[0]] = True
        elif node.operator == "Transpose":
            order = node.attributes.get("perm")
            if isinstance(order, tuple) and len(order) > 2 and node.inputs:
                rank = len(order)
                if order == (0, *range(2, rank), 1):
                    expected[node.inputs[0]] = True
                elif order == (0, rank - 1, *range(1, rank - 1)):
                    expected.setdefault(node.inputs[0], False)
        elif node.operator in _PASSING and node.outputs:
            wanted = expected.get(node.outputs[0])
            if wanted is not None:
                for name in node.inputs:
                    if not expected.get(name):
                        expected[name] = wanted
    return expected
