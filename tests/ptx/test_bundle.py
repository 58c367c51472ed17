"""Bundles, launch lists and whole networks; files from strangers."""

from __future__ import annotations

import io
import json
import lzma
import random
import tarfile
from pathlib import Path

import pytest

from edgeperf.errors import EdgePerfError, InvalidInput
from edgeperf.ptx import bundle as bundles
from edgeperf.ptx.bundle import Bundle, read_bundle, write_bundle
from edgeperf.ptx.launches import LaunchList, parse_launch_list, parse_thunks, to_entries
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.records import Launch
from edgeperf.ptx.source import count
from tests.ptx.helpers import HEADER, REGISTERS
from tests.ptx.test_hand_written import SAXPY, SAXPY_PARAMETERS
from tests.ptx.test_mutations import CONVOLUTION, LAUNCH

_BODY = SAXPY.replace("k_", "saxpy_")
_LIST = SAXPY_PARAMETERS.replace("k_", "saxpy_")
TEXT = f"{HEADER}.visible .entry saxpy({_LIST})\n{{\n{REGISTERS}{_BODY}\n}}\n"
LOADED = TEXT.replace("saxpy", "loaded").replace("ld.param.u32 	%r5, [loaded_n];", "ld.global.u32 %r5, [%rd1];")
LOADED = LOADED.replace("ld.param.u32 %r5, [loaded_n];", "ld.param.u64 %rd1, [loaded_x];\nld.global.u32 %r5, [%rd1];")
LAUNCHES = (
    Launch(kernel="saxpy", grid=(3, 1, 1), block=(64, 1, 1), arguments={"saxpy_n": 150}),
    LAUNCH,
    Launch(kernel="saxpy", grid=(3, 1, 1), block=(64, 1, 1), arguments={"saxpy_n": 150}),
)
BUNDLE = Bundle(
    network="net",
    texts={"a.ptx": TEXT, "b.ptx": CONVOLUTION, "c.ptx": LOADED},
    launches=LaunchList(
        launches=(*LAUNCHES, Launch(kernel="loaded", grid=(1, 1, 1), block=(32, 1, 1))),
        library_calls=("kGemm", "kGemm"),
    ),
    compiler={"name": "XLA", "versions": {"jax": "1.2"}, "flags": ["--a"]},
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "net-sm53.tar.xz")
    assert read_bundle(tmp_path / "net-sm53.tar.xz") == BUNDLE
    write_bundle(BUNDLE, tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == (tmp_path / "net-sm53.tar.xz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.tar.xz", "net-sm53.tar.xz"]


def test_a_bundle_may_be_read_by_whom_a_plain_file_may(tmp_path: Path) -> None:
    write_bundle(BUNDLE, tmp_path / "net-sm53.tar.xz")
    (tmp_path / "plain").touch()
    assert (tmp_path / "net-sm53.tar.xz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_totals_count_every_launch_and_list_what_is_not_counted() -> None:
    found = count_bundle(BUNDLE)
    once = count_bundle(Bundle(network="one", texts={"a.ptx": TEXT}, launches=LaunchList(launches=LAUNCHES[:1])))
    convolution = count_bundle(
        Bundle(network="two", texts={"b.ptx": CONVOLUTION}, launches=LaunchList(launches=(LAUNCH,)))
    )
    assert found.executed == 2 * once.executed + convolution.executed
    assert found.launches == 3
    assert found.compiler == "XLA (jax 1.2; --a)"
    refused = {item.kernel: item for item in found.refused}
    assert refused["loaded"].launches == 1
    assert "ld.global.u32" in refused["loaded"].reason
    assert refused["kGemm"].launches == 2
    shape = found.to_dict()
    assert list(shape) == [
        "network",
        "arch",
        "compiler",
        "launches",
        "kernels",
        "executed",
        "warp_executed",
        "categories",
        "refused",
    ]
    assert sum(shape["categories"].values()) == sum(found.opcodes.values()) == found.executed
    assert json.loads(json.dumps(shape)) == shape


def test_a_ptx_file_with_a_launch_list(tmp_path: Path) -> None:
    (tmp_path / "mine.ptx").write_text(TEXT)
    with pytest.raises(InvalidInput, match=r"mine\.launches\.json"):
        read_bundle(tmp_path / "mine.ptx")
    entry = {"kernel": "saxpy", "grid": [3], "block": [64], "arguments": {"saxpy_n": 150}, "times": 2}
    (tmp_path / "mine.launches.json").write_text(json.dumps([entry]))
    assert count(tmp_path / "mine.ptx").launches == 2
    assert count(tmp_path / "mine.ptx", arch="sm_53").network == "mine"
    with pytest.raises(InvalidInput, match="compiled for sm_53, not for sm_72"):
        count(tmp_path / "mine.ptx", arch="sm_72")
    (tmp_path / "other.json").write_text(json.dumps([entry | {"times": 5}]))
    assert count(tmp_path / "mine.ptx", launches=tmp_path / "other.json").launches == 5


def test_a_folder_as_xla_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "module_0001.jit_f.1.ptx").write_text(CONVOLUTION)
    (tmp_path / "module_0001.jit_f.2.ptx").write_text("\n")
    (tmp_path / "module_0001.jit_f.thunk_sequence.txt").write_text(
        "000: kCommandBuffer [source | sink]\n"
        "    001: kCustomKernel [source | next=002 (1)] k grid: [2, 1, 1] threads: [64, 1, 1]  shared_memory: 0 bytes\n"
        "    002: kConvolution [prev=001 | sink] cudnn-conv\n"
    )
    found = count_bundle(read_bundle(tmp_path))
    assert found.launches == 1
    assert [item.kernel for item in found.refused] == ["kConvolution"]


@pytest.mark.parametrize("text", ["001: nonsense", "hello", "1: kCustomKernel"])
def test_thunks_that_cannot_be_read(text: str) -> None:
    if text.startswith("1:"):
        assert parse_thunks(text).library_calls == ("kCustomKernel",)
        return
    with pytest.raises(InvalidInput, match="Line 1"):
        parse_thunks(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("{}", "array"),
        ("[1]", "names no kernel"),
        ('[{"kernel": "k", "grid": [1], "block": [32], "colour": 1}]', "colour"),
        ('[{"kernel": "k", "grid": [1], "block": [32], "arguments": {"n": 1.5}}]', "integers"),
        ('[{"kernel": "k", "grid": [1], "block": [32], "times": 0}]', "times"),
        ('[{"kernel": "k", "grid": [1], "block": [32], "times": 10000000}]', "times"),
        ('[{"kernel": "k", "grid": "many", "block": [32]}]', "grid"),
        ('[{"kernel": "k", "grid": [1], "block": [2048]}]', "cannot be launched"),
        ('[{"kernel": "k", "grid": [true], "block": [1]}]', "grid"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_launch_lists_that_cannot_be_read(text: str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        parse_launch_list(text)


def test_launch_lists_survive_a_round_trip() -> None:
    assert parse_launch_list(json.dumps(to_entries(LaunchList(launches=LAUNCHES)))).launches == LAUNCHES


def archive(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return lzma.compress(buffer.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


LIST = json.dumps(to_entries(LaunchList(launches=(LAUNCH,)))).encode()


def test_nothing_is_written_and_links_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.xz"
    path.write_bytes(
        archive(
            [
                (member("../../escape.ptx"), CONVOLUTION.encode()),
                (member("/etc/passwd.ptx", tarfile.SYMTYPE, "/etc/passwd"), b""),
                (member("launches.json"), LIST),
            ]
        )
    )
    found = read_bundle(path)
    assert list(found.texts) == ["escape.ptx"]
    assert [item.name for item in tmp_path.iterdir()] == ["x.tar.xz"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "cut short|damaged"),
        (b"hello", "damaged"),
        (lzma.compress(b"hello"), "damaged|no PTX"),
        (archive([(member("launches.json"), LIST)]), "no PTX"),
        (archive([(member("a.ptx"), CONVOLUTION.encode())]), "must hold"),
        (archive([(member("a.ptx"), b"\xff\xfe"), (member("launches.json"), LIST)]), "damaged"),
        (archive([(member("a/a.ptx"), b"x"), (member("b/a.ptx"), b"y")]), "twice"),
        (archive([(member("a.ptx"), b"x"), (member("bundle.json"), b'{"format": 99}')]), "format"),
        (archive([(member("a.ptx"), b"x"), (member("bundle.json"), b"[" * 10_000)]), "JSON"),
        (archive([(member("a.ptx"), b"x"), (member("launches.json"), LIST)])[:-20], "cut short|damaged"),
    ],
)
def test_damaged_bundles(content: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tar.xz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=what):
        read_bundle(path)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MOST_BYTES", 10_000)
    path = tmp_path / "x.tar.xz"
    path.write_bytes(archive([(member("a.ptx"), b"\0" * 1_000_000)]))
    assert path.stat().st_size < 2_000
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        read_bundle(path)


def test_random_damage_never_escapes_as_another_error(tmp_path: Path) -> None:
    whole = archive([(member("a.ptx"), CONVOLUTION.encode()), (member("launches.json"), LIST)])
    plain = lzma.decompress(whole)
    path = tmp_path / "x.tar.xz"
    chooser = random.Random(1)  # noqa: S311 - tests, not secrets
    outcomes = set()
    for _ in range(300):
        source = bytearray(chooser.choice((whole, plain)))
        for _ in range(chooser.randint(1, 4)):
            source[chooser.randrange(min(len(source), 1024))] = chooser.randrange(256)
        path.write_bytes(bytes(source) if source[:1] == whole[:1] else lzma.compress(bytes(source)))
        try:
            count_bundle(read_bundle(path))
            outcomes.add("read")
        except EdgePerfError as error:
            outcomes.add(type(error).__name__)
    assert "InvalidInput" in outcomes


@pytest.mark.parametrize("change", ["unknown kernel", "twice", "two architectures"])
def test_bundles_that_contradict_themselves(change: str) -> None:
    texts = {"b.ptx": CONVOLUTION}
    launches = LaunchList(launches=(LAUNCH,))
    if change == "unknown kernel":
        launches = LaunchList(launches=(Launch(kernel="other", grid=(1, 1, 1), block=(1, 1, 1)),))
    elif change == "twice":
        texts["c.ptx"] = CONVOLUTION
    else:
        texts["a.ptx"] = TEXT.replace("sm_53", "sm_72")
    with pytest.raises(InvalidInput, match=r"not in its PTX|twice|mixes"):
        count_bundle(Bundle(network="x", texts=texts, launches=launches))


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        count(tmp_path / "nothing.keras", arch="sm_53")
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(InvalidInput, match="--arch"):
        count(tmp_path / "model.json")
    (tmp_path / "x.bin").write_text("")
    with pytest.raises(InvalidInput, match="no compiled network"):
        read_bundle(tmp_path / "x.bin")
