"""PTX text → `Module`.

Reads what LLVM (XLA, Triton, Julia), nvcc and NVRTC print: kernels with parameters, register declarations, nested
scopes, labels, predicated instructions, debug directives. Every name in an operand must be declared, and whatever is
not understood is an error with its line, so that a damaged file never yields a count. Opcodes are checked later, kernel
by kernel (`edgeperf.ptx.opcodes`).

Reference: NVIDIA, Parallel Thread Execution ISA 8.8, chapters 4, 5 and 11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgeperf.ptx.body import Body
from edgeperf.ptx.errors import MalformedPtx
from edgeperf.ptx.records import Extent, Kernel, Module
from edgeperf.ptx.text import NAME, Text

_HEADER = re.compile(
    r"\s*\.version\s+(?P<version>\d+\.\d+)\s*\n\s*\.target\s+(?P<target>sm_\w+)[^\n]*\n\s*\.address_size\s+(?:32|64)\s*\n"
)
_LINKAGE = r"(?:\.(?:visible|extern|weak|common)\s+)*"
_TOP = re.compile(
    rf"\s*(?:(?P<line>\.(?:file|loc)\b[^\n]*)|(?P<section>\.section\b[^{{;]*)|"
    rf"{_LINKAGE}(?:\.entry\s+(?P<entry>{NAME})|(?P<func>\.func\b)|(?P<variable>\.(?:global|const|shared)\b)|"
    rf"(?P<other>\.(?:pragma|alias)\b[^;{{}}]*;)))"
)
_PARAMETER = re.compile(
    rf"\s*\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)\s+(?:\.ptr\s*)?(?:\.(?:global|shared|const|local)\s*)?"
    rf"(?:\.align\s+\d+\s+)?(?P<name>{NAME})\s*(?:\[\s*\d*\s*\])?\s*"
)
_TUNING = re.compile(
    r"\s*\.(?:(?P<key>reqntid|maxntid)\s+(?P<sizes>\d{1,6}(?:\s*,\s*\d{1,6}){0,2})|"
    r"(?:minnctapersm|maxnreg|maxclusterrank)\s+\d+|"
    r"(?:reqnctapercluster\s+\d+(?:\s*,\s*\d+){0,2}|noreturn|explicitcluster|blocksareclusters)|pragma[^;]*;)"
)
_OPENING = re.compile(r"\s*\(")
_CLOSING = re.compile(r"\s*\)")
_FUNCTION = re.compile(rf"\s*(?:\([^)]*\)\s*)?({NAME})")
_VARIABLE = re.compile(rf"(?<![.\w%$])({NAME})\s*(?:\[\]\s*)*(?:,|$)")


def parse(text: str) -> Module:
    """The module that the text describes.

    Raises:
        MalformedPtx: the text is not PTX; the message holds the line.
    """
    source = Text(text)
    header = _HEADER.match(source.text)
    if header is None:
        raise MalformedPtx(1, "expected .version, .target and .address_size at the top, one line each")
    reader = _ModuleReader(source)
    reader.read(header.end())
    kernels: dict[str, Kernel] = {}
    for entry in reader.entries:
        if entry.name in kernels:
            raise MalformedPtx(source.line(entry.head), f"kernel {entry.name} is defined twice")
        kernels[entry.name] = _kernel(source, entry, reader.variables, reader.functions)
    return Module(version=header["version"], target=header["target"], kernels=kernels, header_end=header.end())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """Where a kernel stands: from its parameter list to the opening brace, and from there to the closing one."""

    name: str
    head: int
    opening: int
    closing: int


class _ModuleReader:
    """Finds kernels, variables and functions at the top level of a file."""

    def __init__(self, source: Text) -> None:
        self._source = source
        self.entries: list[_Entry] = []
        self.variables: dict[str, str] = {}
        self.functions: set[str] = set()

    def read(self, position: int) -> None:
        end = len(self._source.text.rstrip())
        while position < end:
            found = _TOP.match(self._source.text, position)
            if found is None:
                raise self._source.unreadable(position)
            position = self._statement(found)

    def _statement(self, found: re.Match[str]) -> int:
        """Notes one statement; returns where the next one begins."""
        if found["section"]:
            return self._source.closing_brace(self._source.find("{", found.end())) + 1
        if found["variable"]:
            return self._variable(found["variable"][1:], found.end())
        if found["func"]:
            return self._function(found.end())
        if found["entry"]:
            opening = self._source.find("{", found.end())
            closing = self._source.closing_brace(opening)
            self.entries.append(_Entry(name=found["entry"], head=found.end(), opening=opening, closing=closing))
            return closing + 1
        return found.end()

    def _variable(self, space: str, position: int) -> int:
        end = self._source.find(";", position)
        declared = self._source.text[position:end].partition("=")[0]
        names = _VARIABLE.findall(re.sub(r"\[[^\]]*\]", "[]", declared).strip())
        if not names:
            raise self._source.unreadable(position, end)
        self.variables.update(dict.fromkeys(names, space))
        return end + 1

    def _function(self, position: int) -> int:
        """Skips a device function; calling one that has a body is refused where it happens."""
        found = _FUNCTION.match(self._source.text, position)
        if found is None:
            raise self._source.unreadable(position)
        self.variables[found[1]] = "function"
        opening = self._source.text.find("{", position)
        semicolon = self._source.find(";", position)
        if 0 <= opening < semicolon:
            self.functions.add(found[1])
            return self._source.closing_brace(opening) + 1
        return semicolon + 1


def _kernel(source: Text, entry: _Entry, variables: dict[str, str], functions: set[str]) -> Kernel:
    parameters, position = _parameters(source, entry)
    required, maximal = _tuning(source, position, entry.opening)
    body = Body(source, {*parameters, *variables, entry.name})
    body.read(entry.opening + 1, entry.closing)
    return Kernel(
        name=entry.name,
        parameters=parameters,
        registers=body.registers,
        register_ranges=body.ranges,
        instructions=tuple(body.instructions),
        labels=body.labels,
        variables={**variables, **body.variables},
        functions=frozenset(functions),
        required_block=required,
        maximal_threads=maximal,
    )


def _parameters(source: Text, entry: _Entry) -> tuple[dict[str, str], int]:
    """Parameter name → type, and where the list ends."""
    text, end = source.text, entry.opening
    opening = _OPENING.match(text, entry.head, end)
    if opening is None:
        return {}, entry.head
    parameters: dict[str, str] = {}
    position = opening.end()
    while not (closing := _CLOSING.match(text, position, end)):
        found = _PARAMETER.match(text, position, end)
        if found is None or found["name"] in parameters:
            raise source.unreadable(position, end)
        parameters[found["name"]] = found["type"]
        position = found.end()
        if text[position] == ",":
            position += 1
        elif text[position] != ")":
            raise source.unreadable(position, end)
    return parameters, closing.end()


def _tuning(source: Text, position: int, end: int) -> tuple[Extent | None, int | None]:
    """Block size that the kernel requires, and the most threads that it allows."""
    required: Extent | None = None
    maximal: int | None = None
    while source.text[position:end].strip():
        found = _TUNING.match(source.text, position, end)
        if found is None:
            raise source.unreadable(position, end)
        if found["key"]:
            x, y, z, *_ = [*(int(size) for size in found["sizes"].split(",")), 1, 1]
            if found["key"] == "reqntid":
                required = (x, y, z)
            else:
                maximal = x * y * z
        position = found.end()
    return required, maximal
