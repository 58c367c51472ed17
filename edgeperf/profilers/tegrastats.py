"""tegrastats output of any JetPack → samples with power rails, memory, temperatures and GPU clock.

The grammar differs between releases: an optional date (JetPack 5 and later), ``mW`` behind rail values (5 and later),
a third value per rail and a second per temperature (7.2), lower-case ``cpu`` (TX1). "MB" on a line means MiB.

Lines that are no complete sample (shell prompts, the output of `date`, lines cut off in the middle) are skipped and
counted. A text without any power rail is an error: it never becomes 0 W.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import overload

from edgeperf.errors import InvalidInput
from edgeperf.profilers import rails as rail_table
from edgeperf.profilers.rails import Rail

# Digits are [0-9] of bounded length: \d takes other scripts' digits, and int() refuses numbers of thousands of digits.
_NUMBER = r"[0-9]{1,7}"
_CLOCK = re.compile(r"(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d) +", re.ASCII)
_MEMORY = re.compile(rf"RAM ({_NUMBER})/({_NUMBER})MB(?= |$)")
_CPU = re.compile(r"(?i:cpu) \[[^\[\]\s]*\](?:@[0-9]+)?")  # taken out first: AGX Xavier has rails named CPU and GPU
_RAIL = re.compile(
    rf"(?<!\S)([A-Za-z][A-Za-z0-9_]*) ({_NUMBER})(mW)?/({_NUMBER})(mW)?(?:/({_NUMBER})(mW)?)?(?!\S)",
)
_TEMPERATURE = re.compile(r"(?<!\S)([A-Za-z0-9_]+)@(-?[0-9]{1,3}(?:\.[0-9]{1,4})?)C(?:/-?[0-9.]{1,8}C)?(?!\S)")
_GPU = re.compile(r"(?<!\S)GR3D(?:_FREQ)? (?:([0-9]{1,3})%)?(?:@\[?([0-9]{1,5})(?:,[0-9]{1,5})*\]?)?(?!\S)")
_COMPLETE_TAIL = re.compile(r"(?:\S+@-?[0-9.]+C(?:/-?[0-9.]+C)?|[A-Za-z0-9_]+ (?:off|[0-9]{1,3}%(?:@\S+)?))")
_NO_SENSOR_C = -256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of tegrastats.

    Attributes:
        rails: in the order of the line; two may share a name.
        ram_used_mib: memory in use on the whole board.
        ram_total_mib: memory that the board has.
        clock: date and time that the line carries, in the board's time zone; None before JetPack 5.
        temperatures_c: (zone, degrees Celsius); zones without a sensor are left out.
        gpu_load_percent: None where the line does not say.
        gpu_mhz: clock of the first GPU cluster; None where the line does not say, as without root.
        session: counts the runs of tegrastats in one text, from 0.
    """

    rails: tuple[Rail, ...]
    ram_used_mib: int
    ram_total_mib: int
    clock: datetime | None = None
    temperatures_c: tuple[tuple[str, float], ...] = ()
    gpu_load_percent: int | None = None
    gpu_mhz: int | None = None
    session: int = 0

    @property
    def gpu_mw(self) -> int | None:
        """Power of the board's GPU rail in mW, by the table in `edgeperf.profilers.rails`."""
        return rail_table.gpu_mw(self.rails)

    @property
    def total_mw(self) -> int | None:
        """Power of the whole module in mW; None where the rails do not tell."""
        return rail_table.total_mw(self.rails)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log(Sequence[Sample]):
    """A recording: a sequence of its samples.

    Attributes:
        samples: one per complete line.
        skipped_lines: how many lines were no complete sample, blank ones included.
    """

    samples: tuple[Sample, ...]
    skipped_lines: int

    @property
    def sessions(self) -> int:
        """How many runs of tegrastats the text holds."""
        return self.samples[-1].session + 1

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        return self.samples[index]


def parse_log(text: str) -> Log:
    """Samples of a whole recording.

    Args:
        text: what tegrastats wrote, perhaps several runs of it in one file.

    Raises:
        InvalidInput: no line is from tegrastats, or none has a power rail.

    >>> log = parse_log("RAM 900/3964MB (lfb 3x4MB) CPU [1%@102] POM_5V_IN 920/900 POM_5V_GPU 40/20 POM_5V_CPU 119/119")
    >>> log[0].gpu_mw, log[0].total_mw
    (40, 920)
    """
    lines = text.splitlines()
    samples = [parse_line(line) for line in lines]
    kept = _number_sessions(_drop_cut_off(samples))
    if not kept:
        raise InvalidInput(_why_empty(lines, samples))
    return Log(samples=tuple(kept), skipped_lines=len(lines) - len(kept))


def parse_line(line: str) -> Sample | None:
    """The sample on one line, with no rails where it has none; None where the line is no complete sample."""
    line = line.strip()
    clock, line = _take_clock(line)
    memory = _MEMORY.match(line)
    if memory is None or int(memory[2]) == 0:
        return None
    line = _CPU.sub("", line)
    found = list(_RAIL.finditer(line))
    if found and not _tail_is_complete(line[found[-1].end() :]):
        return None
    gpu = _GPU.search(line)
    return Sample(
        rails=tuple(_rail(match) for match in found),
        ram_used_mib=int(memory[1]),
        ram_total_mib=int(memory[2]),
        clock=clock,
        temperatures_c=tuple(_temperatures(line)),
        gpu_load_percent=int(gpu[1]) if gpu and gpu[1] else None,
        gpu_mhz=int(gpu[2]) if gpu and gpu[2] else None,
    )


def _take_clock(line: str) -> tuple[datetime | None, str]:
    match = _CLOCK.match(line)
    if match is None:
        return None, line
    try:
        return datetime.strptime(match[1], "%m-%d-%Y %H:%M:%S"), line[match.end() :]
    except ValueError:  # a month 13 was never printed by a board: what follows is not read as a sample either
        return None, line


def _rail(match: re.Match[str]) -> Rail:
    third = int(match[6]) if match[6] else None
    return Rail(name=match[1], current_mw=int(match[2]), average_mw=int(match[4]), third_mw=third)


def _temperatures(line: str) -> Iterator[tuple[str, float]]:
    for zone, degrees in _TEMPERATURE.findall(line):
        if float(degrees) > _NO_SENSOR_C:
            yield zone, float(degrees)


def _tail_is_complete(tail: str) -> bool:
    """Whether what follows the last rail is nothing, or whole elements: a rail cut in half is neither."""
    return not _COMPLETE_TAIL.sub("", tail).strip()


def _drop_cut_off(samples: Sequence[Sample | None]) -> list[Sample]:
    """Samples with rails, without those whose rails are only the beginning of another line's of the same board."""
    with_rails = [sample for sample in samples if sample is not None and sample.rails]
    shapes = [_shape(sample) for sample in with_rails]
    beginnings = {(memory, names[:count]) for memory, names in set(shapes) for count in range(1, len(names))}
    return [sample for sample, shape in zip(with_rails, shapes, strict=True) if shape not in beginnings]


def _shape(sample: Sample) -> tuple[int, tuple[str, ...]]:
    """What stays the same on all complete lines of one board: memory size and rails."""
    return sample.ram_total_mib, tuple(rail.name for rail in sample.rails)


def _number_sessions(samples: Sequence[Sample]) -> list[Sample]:
    numbered: list[Sample] = []
    session = 0
    for sample in samples:
        if numbered and _starts_session(numbered[-1], sample):
            session += 1
        numbered.append(replace(sample, session=session))
    return numbered


def _starts_session(before: Sample, sample: Sample) -> bool:
    """Whether tegrastats was started anew between two samples.

    The first line of a run prints each reading as its own mean. Within a run the mean moves at most half the way to
    the reading, so a mean that arrives there from 2 mW away or more (1 mW may be rounding) was reset.
    """
    if _shape(before) != _shape(sample):
        return True
    if any(rail.current_mw != rail.average_mw for rail in sample.rails):
        return False
    pairs = zip(before.rails, sample.rails, strict=True)
    return any(abs(now.average_mw - then.average_mw) >= 2 for then, now in pairs)


def _why_empty(lines: Sequence[str], samples: Sequence[Sample | None]) -> str:
    if not any(samples):
        return (
            f"None of {len(lines)} line(s) is from tegrastats. "
            "Expected lines such as 'RAM 900/3964MB (lfb 3x4MB) CPU [...] ...'. "
            "Record again with: tegrastats --interval 100"
        )
    return (
        f"No power rail in {len(lines)} line(s) of tegrastats. Expected readings such as 'VDD_IN 3056/3056'. "
        "This board, or this user, cannot read its power sensors: record again as root, or read INA3221 in sysfs."
    )
