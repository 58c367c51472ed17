"""Small networks and made-up measurements that several tests use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from edgeperf.layerwise.operations import COLUMNS, Operation, operation_table
from edgeperf.layerwise.roofline import Roof
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network, Shape

ROOF = Roof(name="made-up", peak_gflops=1000.0, bandwidth_gb_s=100.0, launch_ms=0.001)


def small_network(layers: Any | None = None) -> Network:
    """A stem with padding, a residual block, a classifier: every fusion rule has something to do."""
    layers = layers or LayerNamespace()
    image = layers.Input((32, 32, 3))
    x = layers.ZeroPadding2D(1, name="pad")(image)
    x = layers.Conv2D(16, 3, strides=2, use_bias=False, name="stem")(x)
    x = layers.BatchNormalization(name="stem_bn")(x)
    x = layers.ReLU(name="stem_relu")(x)
    y = layers.Conv2D(16, 3, padding="same", activation="relu", name="inner")(x)
    y = layers.Dropout(0.5, name="drop")(y)
    x = layers.Add(name="add")([x, y])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    network: Network = layers.Model(image, layers.Dense(10, name="dense")(x), name="small")
    return network


def network_of(build: Callable[[Any, Any], Any], shape: Shape = (8, 8, 16)) -> Network:
    """The network that `build` makes of a namespace of layers and an image."""
    layers = LayerNamespace()
    image = layers.Input(shape)
    network: Network = layers.Model(image, build(layers, image), name="made up")
    return network


def convolution(**changes: int) -> Operation:
    """A 3x3 convolution, counts filled in."""
    sizes = {"batch_size": 1, "in_height": 14, "in_channels": 32, "out_channels": 64, "kernel_height": 3, **changes}
    batch, side, channels, filters, kernel = sizes.values()
    weights = kernel * kernel * channels * filters
    return Operation(
        kind="Conv2D",
        batch_size=batch,
        in_height=side,
        in_width=side,
        in_channels=channels,
        out_height=side,
        out_width=side,
        out_channels=filters,
        kernel_height=kernel,
        kernel_width=kernel,
        stride=1,
        dilation=1,
        pad_height=kernel - 1,
        pad_width=kernel - 1,
        input_elements=batch * side * side * channels,
        output_elements=batch * side * side * filters,
        weights=weights,
        macs=batch * side * side * weights,
    )


def relu(side: int = 14, channels: int = 32) -> Operation:
    """A rectifier over an image."""
    elements = side * side * channels
    return Operation(
        kind="relu",
        batch_size=1,
        in_height=side,
        in_width=side,
        in_channels=channels,
        out_height=side,
        out_width=side,
        out_channels=channels,
        input_elements=elements,
        output_elements=elements,
    )


def made_up_table(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    """Convolutions and rectifiers of random sizes; time follows the roofline by a factor that depends on the kernel."""
    chance = np.random.default_rng(seed)
    operations = []
    for _ in range(rows // 2):
        side, channels, filters = chance.integers(4, 60), 8 * chance.integers(1, 40), 8 * chance.integers(1, 40)
        kernel = int(chance.choice([1, 3, 5]))
        operations.append(
            convolution(in_height=int(side), in_channels=int(channels), out_channels=int(filters), kernel_height=kernel)
        )
        operations.append(relu(int(side), int(channels)))
    table = operation_table(operations)
    compute, moved = 2 * table["macs"], 4 * (table["input_elements"] + table["output_elements"] + table["weights"])
    least = np.maximum(compute / ROOF.peak_gflops, moved / ROOF.bandwidth_gb_s) / 1e6 + ROOF.launch_ms
    table["latency_ms"] = least * (1.5 + 0.3 * table["kernel_height"])
    table["power_mw"] = np.where(table["kind"] == "Conv2D", 9000.0, 6000.0)
    table["energy_mj"] = table["latency_ms"] * table["power_mw"] / 1e3
    assert list(table.columns[: len(COLUMNS)]) == list(COLUMNS)
    return table


def made_up_sweep(clocks_mhz: Sequence[float], *, least_energy_mhz: float) -> pd.DataFrame:
    """`made_up_table` at every clock f: time goes with 1/f, power with 2 q^3 + f^3, so energy is least at f = q."""
    table = made_up_table().assign(phase="inference", status="ok")
    parts = []
    for clock in clocks_mhz:
        faster = clock / least_energy_mhz
        part = table.assign(set_clock_mhz=clock, latency_ms=table["latency_ms"] / faster)
        parts.append(part.assign(power_mw=table["power_mw"] * (2 + faster**3) / 3))
    return pd.concat(parts, ignore_index=True)
