"""NAS-Bench-201: the operations on a cell's six edges → network.

A cell has four nodes; each edge carries one of five operations, and a node sums what its edges bring. Edges whose
operation is ``none``, and those that no path from the cell's input to its output uses, vanish, as they would from any
functional model. A cell without such a path gives zeros; its output is then the cell's input times zero.

Reference: Dong and Yang 2020, NAS-Bench-201 (arXiv:2001.00326), figure 1 and section 2.1.
"""

from __future__ import annotations

from typing import Any

from edgeperf.zoo.family import Family, Gene, Genes
from edgeperf.zoo.layers import Layers, Tensor, block, channels, image_input

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""(from, to) of each edge, in the order of NAS-Bench-201's strings."""

EDGE_GENES = tuple(f"edge{start}{end}" for start, end in EDGES)
_OUTPUT = 3
_STAGES = (16, 32, 64)
_CELLS = 5
CIFAR_SIZE = 32

Cell = tuple[str, ...]
"""Operation of each edge, in the order of `EDGES`."""


def cell_of(genes: Genes) -> Cell:
    """The operations that the genes name."""
    return tuple(str(genes[name]) for name in EDGE_GENES)


def live_cell(cell: Cell) -> Cell:
    """The cell with every operation that no path from input to output uses turned to ``none``."""
    reached = {0}
    for (start, end), operation in zip(EDGES, cell, strict=True):
        if operation != "none" and start in reached:
            reached.add(end)
    leading = {_OUTPUT}
    for (start, end), operation in reversed(list(zip(EDGES, cell, strict=True))):
        if operation != "none" and end in leading:
            leading.add(start)
    return tuple(
        operation if start in reached and end in leading else "none"
        for (start, end), operation in zip(EDGES, cell, strict=True)
    )


def parse(text: str) -> Cell:
    """The cell of a NAS-Bench-201 string, ``"|avg_pool_3x3~0|+|..."``."""
    return tuple(part.partition("~")[0] for node in text.split("+") for part in node.strip("|").split("|"))


def _operation(layers: Layers, x: Tensor, operation: str, *, name: str) -> Tensor:
    if operation == "skip_connect":
        return x
    if operation == "avg_pool_3x3":
        return layers.AveragePooling2D(3, strides=1, padding="same", name=f"{name}_pool")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    size = 1 if operation == "nor_conv_1x1" else 3
    x = layers.Conv2D(channels(x), size, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x)


@block
def cell(layers: Layers, x: Tensor, *, name: str, operations: Cell) -> Tensor:
    """The output node of a cell of live operations."""
    arriving: dict[int, list[Tensor]] = {0: [x], 1: [], 2: [], 3: []}
    for (start, end), operation in zip(EDGES, operations, strict=True):
        if operation != "none":
            node = _sum(layers, arriving, start, name=f"{name}_node{start}")
            arriving[end].append(_operation(layers, node, operation, name=f"{name}_edge{start}{end}"))
    if not arriving[_OUTPUT]:
        return layers.Rescaling(0.0, name=f"{name}_zero")(x)
    return _sum(layers, arriving, _OUTPUT, name=f"{name}_node{_OUTPUT}")


def _sum(layers: Layers, arriving: dict[int, list[Tensor]], node: int, *, name: str) -> Tensor:
    """What arrives at a node, summed once."""
    if len(arriving[node]) > 1:
        arriving[node] = [layers.Add(name=name)(arriving[node])]
    return arriving[node][0]


@block
def _halve(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    """The residual block of stride 2 between stages."""
    y = layers.Activation("relu", name=f"{name}_relu1")(x)
    y = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False, name=f"{name}_conv1")(y)
    y = layers.BatchNormalization(name=f"{name}_bn1")(y)
    y = layers.Activation("relu", name=f"{name}_relu2")(y)
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv2")(y)
    y = layers.BatchNormalization(name=f"{name}_bn2")(y)
    x = layers.AveragePooling2D(2, strides=2, padding="same", name=f"{name}_pool")(x)
    x = layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_shortcut")(x)
    return layers.Add(name=f"{name}_add")([x, y])


@block
def _stem(layers: Layers, x: Tensor, *, name: str, filters: int) -> Tensor:
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x)


@block
def _top(layers: Layers, x: Tensor, *, name: str, classes: int) -> Tensor:
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    x = layers.Activation("relu", name=f"{name}_relu")(x)
    x = layers.GlobalAveragePooling2D(name=f"{name}_pool")(x)
    return layers.Dense(classes, activation="softmax", name=f"{name}_dense")(x)


def _build(layers: Layers, genes: Genes) -> Any:
    operations = live_cell(cell_of(genes))
    image = x = image_input(layers, genes)
    x = _stem(layers, x, filters=_STAGES[0], name="stem")
    for stage, filters in enumerate(_STAGES, start=1):
        if stage > 1:
            x = _halve(layers, x, filters=filters, name=f"reduction{stage}")
        for number in range(1, _CELLS + 1):
            x = cell(layers, x, operations=operations, name=f"stage{stage}_cell{number}")
    x = _top(layers, x, classes=100, name="top")
    return layers.Model(image, x, name=genes["name"])


NASBENCH201 = Family(
    name="nasbench201",
    title="NAS-Bench-201",
    genes=(
        *(Gene(name=name, values=OPERATIONS) for name in EDGE_GENES),
        Gene(name="input_size", values=(CIFAR_SIZE,)),
    ),
    build=_build,
)
