from __future__ import annotations

import stat
from pathlib import Path

import pytest

from edgeperf.errors import BoardError, InvalidInput
from edgeperf.profilers.transport import BoardGone, Local, Ssh
from tests.profilers.fake_board import FakeBoard


@pytest.mark.parametrize("target", ["", "-oProxyCommand=evil", "user@host -v", "a\nb"])
def test_what_ssh_would_take_for_an_option_is_no_board(target: str) -> None:
    with pytest.raises(InvalidInput, match="is no board"):
        Ssh(target)


@pytest.mark.parametrize(
    ("stderr", "returncode", "advice"),
    [
        ("Host key verification failed.", 255, "host key"),
        ("user@tx2: Permission denied (publickey).", 255, "ssh-copy-id user@tx2"),
        ("ssh: Could not resolve hostname tx2: Name or service not known", 255, "No such host"),
        ("timeout: failed to run command 'python3': No such file or directory", 127, "Install Python 3.6"),
        ("write remote: No space left on device", 1, "disk is full"),
    ],
)
def test_what_needs_a_person_says_what_to_do(stderr: str, returncode: int, advice: str) -> None:
    problem = Ssh("user@tx2").explain(returncode, stderr, "ssh user@tx2")
    assert not isinstance(problem, BoardGone)
    assert advice in str(problem)
    assert stderr in str(problem)


@pytest.mark.parametrize(
    "stderr", ["ssh: connect to host tx2 port 22: No route to host", "Connection reset by peer", ""]
)
def test_what_may_pass_is_waited_for(stderr: str) -> None:
    assert isinstance(Ssh("user@tx2").explain(255, stderr, "ssh user@tx2"), BoardGone)


def test_files_with_odd_names_go_there_and_back(fake_board: FakeBoard, tmp_path: Path) -> None:
    source = tmp_path / 'a "quoted" \\ name'
    source.write_bytes(bytes(range(256)))
    board = Ssh(fake_board.name, config_file=fake_board.ssh_config)
    for _ in range(2):  # the second replaces the first
        board.put({"odd name; $(touch x)": source})
    remote = f"{fake_board.workdir}/odd name; $(touch x)"
    assert Path(remote).read_bytes() == source.read_bytes()
    board.get(remote, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()
    board.remove(remote)
    assert list(fake_board.workdir.iterdir()) == []
    with pytest.raises(BoardError, match="not found") as caught:
        board.get(remote, tmp_path / "gone")
    assert not isinstance(caught.value, BoardGone)


def test_nobody_else_may_use_the_connection(
    fake_board: FakeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Ssh(fake_board.name)
    (folder,) = tmp_path.glob("edgeperf-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    with pytest.raises(InvalidInput, match="others may enter"):
        Ssh(fake_board.name)


def test_local_files_appear_whole(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("content")
    local = Local(tmp_path / "work")
    local.put({"name": source})
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["name"]
