from __future__ import annotations

from pathlib import Path

import pytest

from edgeperf.layerwise.operations import operation
from edgeperf.layerwise.tables import parse_torch, read_nicolai_networks
from edgeperf.layerwise.workloads import steps
from edgeperf.network.builder import LayerNamespace


def test_a_pooling_that_rounds_up_is_the_keras_layer_with_its_padding():
    layers = LayerNamespace()
    image = layers.Input((54, 54, 16))
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(image)
    network = layers.Model(image, layers.MaxPooling2D(3, strides=2)(x))
    module = "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=True)"
    assert parse_torch(module, (32, 16, 54, 54)) == steps(network, batch_size=32)[0].operation


@pytest.mark.parametrize(
    ("dilation", "pad", "total", "out"), [(1, 0, 0, 12), (1, 1, 2, 14), (2, 2, 4, 14), (2, 0, 0, 10)]
)
def test_a_convolution_pads_what_it_says(dilation: int, pad: int, total: int, out: int):
    module = f"Conv2d(8, 4, kernel_size=(3, 3), stride=(1, 1), padding=({pad}, {pad}), dilation=({dilation}, 1))"
    found = parse_torch(module, (1, 8, 14, 14))
    assert (found.pad_height, found.out_height) == (total, out)


@pytest.mark.parametrize("size", [1, 6])
def test_adaptive_pooling_is_the_keras_layer(size: int):
    layers = LayerNamespace()
    image = layers.Input((7, 7, 16))
    layer = layers.Model(image, layers.AdaptiveAveragePooling2D((size, size))(image)).layers[-1]
    found = parse_torch(f"AdaptiveAvgPool2d(output_size=({size}, {size}))", (32, 16, 7, 7))
    assert found.kind == operation(layer, 32).kind
    assert found.kernel_height == (7 if size == 1 else 0)
    assert found.output_elements == operation(layer, 32).output_elements


def test_networks_that_the_thesis_held_out_are_told_apart(tmp_path: Path):
    rows = [("A30_tc", "2025-02-12"), ("A30_tc_valset", "2025-02-12"), ("A30_tc", "final_fullmodel_file")]
    lines = ["device,phase,run,model,shape,time_s,power_W,energy_mJ"]
    lines += [f"{device},training,{run},resnet18,32x3x224x224,0.02,160,3200" for device, run in rows]
    (tmp_path / "models.csv").write_text("\n".join(lines) + "\n")
    found = read_nicolai_networks(tmp_path)
    assert found["device"].tolist() == ["A30_tc", "A30_tc"]
    assert found["held_out"].tolist() == [False, True]
    assert found["latency_ms"].tolist() == [20.0, 20.0]
