"""The compiler without a GPU; runs where the extra ``ptx`` is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgeperf.errors import InvalidInput, MissingExtra
from edgeperf.ptx import xla
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.source import count
from edgeperf.ptx.xla_compile import prepared

SMALL = Path(__file__).with_name("compiled") / "small.json"
HAS_COMPILER = all(importlib.util.find_spec(name) for name in ("jax", "jax_cuda12_plugin", "keras"))


def test_every_architecture_is_described_from_its_data_sheet() -> None:
    for arch in xla.ARCHITECTURES:
        text = xla.target_config(arch)
        major, minor = arch.removeprefix("sm_")[0], arch.removeprefix("sm_")[1]
        assert f"major: {major} minor: {minor}" in text
        assert text.count("{") == text.count("}")


def test_initialisers_become_zeros_and_the_input_size_changes() -> None:
    config = json.loads(SMALL.read_text())
    found = json.dumps(prepared(config, 32))
    assert "GlorotUniform" not in found
    assert '"batch_shape": [null, 32, 32, 3]' in found
    assert prepared(config, None)["config"]["layers"][0]["config"]["batch_shape"] == [None, 16, 16, 3]


def test_wrong_requests(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Unknown architecture 'sm_1'"):
        xla.compile_network(SMALL, arch="sm_1")
    with pytest.raises(InvalidInput, match="Unknown choice"):
        xla.compile_network(SMALL, arch="sm_53", kernels="some")  # type: ignore[arg-type]
    (tmp_path / "x.onnx").write_bytes(b"\x08\x01onnx")
    with pytest.raises(InvalidInput, match="no Keras model"):
        xla.compile_network(tmp_path / "x.onnx", arch="sm_53")


class FakeCompiler:
    """Stands in for the compiler's process: answers with a reply, or not at all."""

    def __init__(self, reply: dict[str, Any] | None) -> None:
        self.reply = reply

    def __call__(self, command: list[str], **_: Any) -> Any:
        if self.reply is not None:
            Path(command[-1]).write_text(json.dumps(self.reply))
        return subprocess.CompletedProcess(command, 1, stdout="", stderr="first\nlast words")


@pytest.mark.parametrize(
    ("reply", "error", "what"),
    [
        ({"missing": "jaxlib"}, MissingExtra, r"jaxlib.*edgeperf\[ptx\]"),
        ({"ok": False, "error": "no such layer"}, InvalidInput, "no such layer"),
        (None, InvalidInput, "(?s)exit code 1.*last words"),
    ],
)
def test_what_the_compiler_answers(
    reply: dict[str, Any] | None, error: type[Exception], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xla.subprocess, "run", FakeCompiler(reply))
    with pytest.raises(error, match=what):
        xla.compile_network(SMALL, arch="sm_53")


def test_a_compiler_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(command: list[str], **given: Any) -> Any:
        raise subprocess.TimeoutExpired(command, given["timeout"])

    monkeypatch.setattr(xla.subprocess, "run", endless)
    with pytest.raises(InvalidInput, match="did not end within 5 s"):
        xla.compile_network(SMALL, arch="sm_53", timeout_s=5)


def test_without_the_extra_its_name_is_given() -> None:
    if HAS_COMPILER:
        pytest.skip("the extra `ptx` is installed")
    with pytest.raises(MissingExtra, match=r"pip install 'edgeperf\[ptx\]'"):
        count(SMALL, arch="sm_53")


@pytest.mark.skipif(not HAS_COMPILER, reason="needs the extra `ptx`")
@pytest.mark.parametrize("arch", ["sm_53", "sm_87"])
def test_compiling_a_small_network(arch: str) -> None:
    first, second = (xla.compile_network(SMALL, arch=arch) for _ in range(2))
    assert first.texts == second.texts
    assert first.launches == second.launches
    found = count_bundle(first)
    assert found.network == "small"
    assert found.refused == ()
    assert xla.compile_network(SMALL, arch=arch, input_size=32).launches != first.launches


def test_importing_the_analyzer_is_light() -> None:
    heavy = ("jax", "keras", "tensorflow", "pandas", "sklearn")
    code = f"import sys, edgeperf.ptx.source; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
