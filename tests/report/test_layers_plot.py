from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.layer_table import LayerCost, LayerTable
from edgeperf.report.layers_plot import BOTTOM, LEFT, TOP, write_layers_plot

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
    power_rail="GPU-rail",
    peak_gflops=665.0,
    bandwidth_gb_s=58.0,
    layers=(layer("a", 1.0, 1e8), layer("b", 3.0, 4e8), layer("view", 0.0, 0.0)),
    note="Made up.",
)


def parts(path: Path, tag: str) -> list[ET.Element]:
    return [each for each in ET.parse(path).iter(SVG + tag) if each.get("class") == "layer"]  # noqa: S314


def words(path: Path, cls: str | None = None) -> list[str]:
    """The visible texts, top down; only those of a class where one is given."""
    texts = ET.parse(path).iter(SVG + "text")  # noqa: S314
    return ["".join(each.itertext()) for each in texts if cls is None or each.get("class") == cls]


@pytest.mark.parametrize(
    ("phase", "batch_size", "rail", "heading", "labels"),
    [
        ("inference", 1, "GPU-rail", "inference at batch size 1", ("per inference,", "GPU-rail energy per inference,")),
        ("inference", 32, "GPU-board", "inference at batch size 32", ("per pass of 32 images", "GPU-board energy per")),
        ("training", 8, None, "training at batch size 8", ("per training step of 8 images", "Energy per training")),
    ],
)
def test_what_was_run_and_measured_is_to_be_seen(
    tmp_path: Path, phase: str, batch_size: int, rail: str | None, heading: str, labels: tuple[str, ...]
):
    table = replace(TABLE, phase=phase, batch_size=batch_size, power_rail=rail)
    path = write_layers_plot(table, tmp_path / "layers.svg")
    assert words(path, "heading") == [f"net <1> on jetson-tx2, {heading}", "Made up."]
    shown = words(path)
    assert all(any(label in line for line in shown) for label in labels)
    assert any("GPU-rail" in line for line in shown) is (rail == "GPU-rail")


def test_speeds_can_be_read_off_the_roofline_at_every_power_of_ten(tmp_path: Path):
    path = write_layers_plot(TABLE, tmp_path / "layers.svg")
    assert words(path, "speed") == ["100", "1,000"]  # of layers at 100 and 133 GFLOP/s
    slow = replace(TABLE, layers=(layer("a", 1.0, 1e8), layer("b", 3.0, 4e4)))
    assert words(write_layers_plot(slow, path), "speed") == ["0.01", "0.1", "1", "10", "100", "1,000"]


def test_labels_of_small_values_are_not_cut_at_the_left_edge(tmp_path: Path):
    small = replace(TABLE, layers=(replace(layer("a", 1.23e-4, 1e3), energy_mj=5.73e-5),))
    path = write_layers_plot(small, tmp_path / "layers.svg")
    ends = [each for each in ET.parse(path).iter(SVG + "text") if each.get("text-anchor") == "end"]  # noqa: S314
    left = [each for each in ends if float(each.get("x", 0)) < LEFT]
    assert "0.0000573 mJ" in [each.text for each in left]
    # A digit of a sans-serif font takes less than 0.6 of its size, which is 12 pixels.
    assert all(float(each.get("x", 0)) > 0.6 * 12 * len(each.text or "") for each in left)


def test_long_notes_run_over_several_lines(tmp_path: Path):
    path = write_layers_plot(replace(TABLE, note="of operations " * 30), tmp_path / "layers.svg")
    assert len(words(path, "heading")) > 3
    assert max(map(len, words(path, "heading"))) < 160


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
