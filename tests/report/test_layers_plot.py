from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.shares import LayerCost, LayerTable
from edgeperf.report.layers_plot import BOTTOM, TOP, write_layers_plot

SVG = "{http://www.w3.org/2000/svg}"


def layer(name: str, latency_ms: float, operations: float) -> LayerCost:
    return LayerCost(
        name=name,
        kind="Conv2D",
        output_shape=(4, 4, 8),
        latency_ms=latency_ms,
        latency_share=latency_ms / 4,
        energy_mj=2 * latency_ms,
        energy_share=latency_ms / 4,
        operations=operations,
        intensity=operations / 1e6,
        bound="compute",
        roofline_ms=latency_ms / 2,
    )


TABLE = LayerTable(
    network="net <1>",
    device="jetson-tx2",
    method="predicted",
    phase="inference",
    batch_size=1,
    latency_ms=4.0,
    energy_mj=8.0,
    peak_gflops=665.0,
    bandwidth_gb_s=58.0,
    layers=(layer("a", 1.0, 1e8), layer("b", 3.0, 4e8), layer("view", 0.0, 0.0)),
    note="Made up.",
)


def parts(path: Path, tag: str) -> list[ET.Element]:
    return [each for each in ET.parse(path).iter(SVG + tag) if each.get("class") == "layer"]  # noqa: S314


def test_bars_are_as_tall_as_their_share_and_dots_lie_under_the_roof(tmp_path: Path):
    path = write_layers_plot(TABLE, tmp_path / "layers.svg")
    heights = [float(bar.get("height", 0)) for bar in parts(path, "rect")]
    assert heights == pytest.approx([(BOTTOM - TOP) / 3, BOTTOM - TOP] * 2, abs=0.1)
    first, second = (float(dot.get("cy", 0)) for dot in parts(path, "circle"))
    assert first > second  # 100 GFLOP/s lie below 133
    roof = re.search(r'class="roof" d="M[\d. ]+L[\d.]+ ([\d.]+)', path.read_text())
    assert roof is not None
    assert float(roof[1]) < second
    assert "net &lt;1&gt;" in path.read_text()


def test_without_energy_there_is_no_panel_of_it(tmp_path: Path):
    path = write_layers_plot(replace(TABLE, energy_mj=None), tmp_path / "layers.svg")
    assert len(parts(path, "rect")) == 2


def test_a_plot_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "layers.svg", tmp_path / "folder"):
        with pytest.raises(InvalidInput, match="Cannot write"):
            write_layers_plot(TABLE, path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_network_that_takes_no_time_is_not_drawn(tmp_path: Path):
    with pytest.raises(InvalidInput, match="nothing to draw"):
        write_layers_plot(replace(TABLE, layers=TABLE.layers[2:]), tmp_path / "layers.svg")
