"""The README shows what the benchmarks found, and names only commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from benchmarks.readme import README, accuracy, with_tables
from tests.cli.conftest import Run

TEXT = README.read_text(encoding="utf-8")


def test_tables_are_those_of_the_results() -> None:
    assert with_tables(TEXT) == TEXT
    assert accuracy() in TEXT


def test_pictures_and_pages_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (README.parent / target).exists(), target


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^edgeperf (\w+)", TEXT, flags=re.MULTILINE))))
def test_commands_exist_with_the_options_that_are_shown(edgeperf: Run, command: str) -> None:
    joined = TEXT.replace("\\\n", " ")
    lines = re.findall(rf"^edgeperf {command} .*$", joined, flags=re.MULTILINE)
    subcommand = ["import"] if command == "data" else []
    known = edgeperf(command, *subcommand, "--help").stdout
    for line in lines:
        for word in shlex.split(line, comments=True):
            if word.startswith("--"):
                assert word in known, line


def test_top_level_folders_are_explained() -> None:
    for folder in ("edgeperf/network", "search", "benchmarks", "notebooks"):
        assert f"`{folder}" in TEXT
        assert (Path(README).parent / folder).is_dir()
