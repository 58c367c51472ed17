"""The plot of local against offloaded: well-formed, and marked where the closed form says."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.ptx.offload import Link, Task, decide
from edgeperf.report.offload_plot import LEFT, RIGHT, WIDTH, write_offload_plot

SVG = "{http://www.w3.org/2000/svg}"
TASK = Task(sent_bytes=150_000, received_bytes=4_000, local_latency_ms=120, local_energy_mj=600, server_latency_ms=10)
LINK = Link(round_trip_ms=20, radio_uj_per_byte=1.0, idle_power_mw=800)


def test_the_marks_stand_where_the_answer_turns(tmp_path: Path) -> None:
    path = write_offload_plot(TASK, LINK, tmp_path / "plot.svg", lowest_mbit_s=1, highest_mbit_s=100)
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    found = decide(TASK, LINK, bandwidth_mbit_s=1)
    marks = [item for item in root.iter(f"{SVG}path") if item.get("class") == "turn"]
    places = [float(str(mark.get("d")).removeprefix("M").split()[0]) for mark in marks]
    for place, turn in zip(places, (found.faster_from_mbit_s, found.cheaper_from_mbit_s), strict=True):
        assert turn is not None
        assert place == pytest.approx(LEFT + (WIDTH - LEFT - RIGHT) * math.log10(turn) / 2, abs=0.1)
    assert len(list(root.iter(f"{SVG}polyline"))) == 2


def test_where_nothing_turns_it_says_so(tmp_path: Path) -> None:
    slow = Link(round_trip_ms=500, radio_uj_per_byte=100.0)
    text = write_offload_plot(TASK, slow, tmp_path / "plot.svg").read_text()
    assert text.count("the device wins everywhere here") == 2
    assert 'class="turn"' not in text


def test_an_empty_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lowest"):
        write_offload_plot(TASK, LINK, tmp_path / "plot.svg", lowest_mbit_s=5, highest_mbit_s=5)


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Cannot write .*plot\.svg"):
        write_offload_plot(TASK, LINK, tmp_path / "nowhere" / "plot.svg")
    (tmp_path / "plot.svg").mkdir()
    with pytest.raises(InvalidInput, match=r"Cannot write .*plot\.svg"):
        write_offload_plot(TASK, LINK, tmp_path / "plot.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]
