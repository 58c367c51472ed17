"""Under which names the figures of this machine may be filed."""

from __future__ import annotations

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.profilers import naming
from edgeperf.profilers.bench import HOST_CPU, uses_host_gpu

A100 = ("NVIDIA A100-PCIE-40GB", "8.0")


def machine(
    monkeypatch: pytest.MonkeyPatch,
    *,
    gpu: tuple[str, str] | None = None,
    missing: str | None = None,
    jetson: bool = False,
) -> None:
    """This test runs on that machine: with a GPU, with none for the reason that is `missing`, or on a Jetson."""
    monkeypatch.setattr("edgeperf.profilers.nvml.why_missing", lambda: missing)
    monkeypatch.setattr("edgeperf.profilers.nvml.identity", lambda: gpu)
    monkeypatch.setattr(naming, "is_jetson", lambda: jetson)


def asked(device: str, *, wanted: bool | None = None, on_board: bool = False) -> bool:
    return uses_host_gpu(device, on_board=on_board, wanted=wanted)


@pytest.mark.parametrize("device", ["", "  ", "\t"])
@pytest.mark.parametrize("on_board", [True, False])
def test_a_device_needs_a_name(device: str, on_board: bool) -> None:
    with pytest.raises(InvalidInput, match="is no name for a device"):
        asked(device, on_board=on_board)


@pytest.mark.parametrize("device", ["a100-40gb", "Tesla P4", "2080ti"])
def test_a_cpu_is_not_filed_under_the_name_of_a_gpu(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    machine(monkeypatch, missing="NVML does not start")
    with pytest.raises(InvalidInput, match=rf"^{device} is no name.*CPU would be measured, since NVML.*{HOST_CPU}"):
        asked(device)
    machine(monkeypatch, gpu=A100)
    with pytest.raises(InvalidInput, match="a run on the CPU was asked for"):
        asked(device, wanted=False)


@pytest.mark.parametrize("device", ["jetson-nano", "TX2", "jetson-of-mine"])
def test_what_is_no_jetson_is_not_filed_under_the_name_of_one(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    machine(monkeypatch, gpu=A100)
    for wanted in (None, True, False):
        with pytest.raises(InvalidInput, match="it is no Jetson"):
            asked(device, wanted=wanted)
    assert not asked(device, on_board=True)


def test_a_gpu_is_not_filed_under_the_name_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, gpu=A100)
    assert asked("a100-40gb")
    for other in ("t4", "a100-80gb", "a30"):
        with pytest.raises(InvalidInput, match=r"its GPU is NVIDIA A100-PCIE-40GB, of compute capability 8\.0"):
            asked(other)


def test_a_gpu_that_no_table_names_is_told_by_its_compute_capability(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, gpu=("NVIDIA Something", "9.0"))
    assert asked("h200")
    with pytest.raises(InvalidInput, match=r"compute capability 9\.0"):
        asked("l4")
    machine(monkeypatch)
    assert asked("l4")


def test_names_of_ones_own_are_those_of_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, gpu=A100)
    assert (asked("my-box"), asked("my-box", wanted=False), asked(HOST_CPU)) == (True, False, False)
    machine(monkeypatch, missing="NVML does not start")
    assert not asked("my-box")
    assert "CPU of this machine is measured, under the name my-box" in naming.cpu_remark("my-box")


def test_a_jetson_measures_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, missing="this is a Jetson, where NVML answers no power query", jetson=True)
    assert asked("jetson-nano")
    assert not asked(HOST_CPU)
    for name, why in (("l4", "it is a Jetson"), ("jetson-nano", "CPU would be measured")):
        with pytest.raises(InvalidInput, match=why):
            asked(name, wanted=False)
