from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.profilers.tegrastats import Log, parse_line, parse_log
from tests.profilers import lines

ALPHABET = "0123456789 /@%[],.-mWCRAMGPU\t\n\x00\ufeff٣²"


@pytest.mark.parametrize(
    ("line", "gpu_mw", "total_mw"),
    [
        (lines.NANO, 1520, 4010),
        (lines.TX1_EARLY, 19, 2500),
        (lines.TX2_JETPACK_3, 154, 1931),
        (lines.TX2_JETPACK_4, 152, 3056),
        (lines.AGX_XAVIER, 310, 310 + 311 + 932 + 0 + 621 + 1482),
        (lines.ORIN_NX, 773, 5299),
        (lines.AGX_ORIN, 9565, 9565 + 4780 + 6067),
        (lines.JETPACK_7, None, None),
    ],
)
def test_gpu_and_total_power_follow_the_table_of_rails(line: str, gpu_mw: int | None, total_mw: int | None) -> None:
    log = parse_log(line)
    assert (len(log), log.skipped_lines) == (1, 0)
    assert (log[0].gpu_mw, log[0].total_mw) == (gpu_mw, total_mw)


def test_a_rail_holds_the_reading_and_the_running_mean() -> None:
    rail = parse_log(lines.NANO)[0].rails[1]
    assert (rail.name, rail.current_mw, rail.average_mw, rail.third_mw) == ("POM_5V_GPU", 1520, 1200, None)
    assert parse_log(lines.JETPACK_7)[0].rails[0].third_mw == 5000


def test_rails_of_one_name_are_kept_apart() -> None:
    names = [rail.name for rail in parse_log(lines.AGX_ORIN)[0].rails]
    assert names.count("NC") == 2


def test_memory_swap_and_iram_are_no_rails() -> None:
    sample = parse_log(lines.NANO)[0]
    assert [rail.name for rail in sample.rails] == ["POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"]
    assert (sample.ram_used_mib, sample.ram_total_mib) == (900, 3964)


def test_clock_temperatures_and_gpu_frequency_are_read() -> None:
    sample = parse_log(lines.ORIN_NX)[0]
    assert sample.clock is not None
    assert sample.clock.isoformat() == "2026-11-21T10:15:30"
    assert sample.temperatures_c == (("CPU", 47.937), ("tj", 48.875))  # CV0 has no sensor
    assert (sample.gpu_load_percent, sample.gpu_mhz) == (0, 611)
    assert parse_log(lines.AGX_ORIN)[0].gpu_mhz == 1300
    assert parse_log(lines.TX1_EARLY)[0].gpu_mhz == 76
    assert parse_log(lines.JETPACK_7)[0].temperatures_c == (("cpu", 40.1), ("tj", 44.0))


@pytest.mark.parametrize("noise", ["", "user@nano:~$ ", "Tue Jan 26 18:22:31 UTC 2021", "^C", lines.NO_RAILS, "RAM 9"])
def test_other_lines_are_skipped_and_counted(noise: str) -> None:
    log = parse_log(f"{noise}\n{lines.NANO}\n{noise}\n")
    assert (len(log), log.skipped_lines) == (1, 2)


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_line_cut_off_at_its_end_never_gives_a_smaller_board(cut: int) -> None:
    log = parse_log(f"{lines.TX2_JETPACK_4}\n{lines.TX2_JETPACK_4[:-cut]}")
    names = {tuple(rail.name for rail in sample.rails) for sample in log}
    assert len(names) == 1
    assert len(log) + log.skipped_lines == 2


@pytest.mark.parametrize("line", [lines.NANO, lines.TX2_JETPACK_4, lines.AGX_XAVIER, lines.ORIN_NX])
def test_a_single_line_cut_off_inside_its_last_rail_is_no_sample(line: str) -> None:
    name, _, last = line.rpartition(" ")
    assert len(parse_log(line)) == 1
    for kept in range(last.index("/") + 1):  # up to and with the slash: no second number is left
        with pytest.raises(InvalidInput):
            parse_log(f"{name} {last[:kept]}")


@pytest.mark.parametrize("text", ["", "\n\n", lines.NO_RAILS, f"{lines.NO_RAILS}\n{lines.NO_RAILS}", "no such thing"])
def test_a_text_without_power_rails_is_an_error(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"rail|tegrastats"):
        parse_log(text)


def test_a_total_with_a_missing_part_is_none_rather_than_smaller() -> None:
    assert parse_log(lines.AGX_XAVIER.replace("SOC 932/932 ", ""))[0].total_mw is None
    assert parse_log(lines.NANO.replace("POM_5V_IN 4010/3900 ", ""))[0].total_mw is None
    assert parse_log(lines.NANO.replace("POM_5V_IN 4010/3900", "POM_5V_IN 0/0"))[0].total_mw is None


def test_a_reset_of_the_running_mean_marks_a_new_session() -> None:
    text = "\n".join([lines.session(100, 900, 500), lines.session(1200, 1300), lines.session(80)])
    log = parse_log(text)
    assert [sample.session for sample in log] == [0, 0, 0, 1, 1, 2]
    assert log.sessions == 3


def test_one_session_stays_one() -> None:
    chance = random.Random(1)  # noqa: S311
    assert parse_log(lines.session(*(chance.randrange(40, 9000) for _ in range(300)))).sessions == 1
    assert parse_log(lines.session(*[500] * 50)).sessions == 1


@given(
    st.lists(st.integers(0, 20_000), min_size=1, max_size=30), st.lists(st.integers(0, 20_000), min_size=1, max_size=30)
)
@settings(max_examples=50, deadline=None)
def test_sessions_are_never_overcounted(first: list[int], second: list[int]) -> None:
    log = parse_log(f"{lines.session(*first)}\n{lines.session(*second)}")
    assert log.sessions <= 2
    if abs(second[0] - sum(first) // len(first)) >= 2:
        assert log.sessions == 2


def test_lines_of_two_boards_in_one_file_all_count() -> None:
    text = "\n".join(lines.ALL_WITH_RAILS)
    log = parse_log(text)
    assert (len(log), log.skipped_lines, log.sessions) == (len(lines.ALL_WITH_RAILS), 0, len(lines.ALL_WITH_RAILS))


def mutate(line: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 6)):
        at, end = sorted((chance.randrange(len(line) + 1), chance.randrange(len(line) + 1)))
        action = chance.randrange(5)
        if action == 0:
            line = line[:at] + line[at + 1 :]
        elif action == 1:
            line = line[:at] + chance.choice(ALPHABET) + line[at:]
        elif action == 2:
            line = line[:at] + chance.choice(ALPHABET) + line[at + 1 :]
        elif action == 3:
            line = line[:at] + line[min(end, at + 20) :]
        else:
            line = line[:at] + line[at : at + 30] * 2 + line[at + 30 :]
    return line


def check_mutated(texts: list[str], count: int) -> None:
    """Either our own error, or samples whose powers were on the line."""
    chance = random.Random(11)  # noqa: S311
    for _ in range(count):
        mutated = mutate(chance.choice(texts), chance)
        try:
            log = parse_log(mutated)
        except InvalidInput:
            continue
        assert isinstance(log, Log)
        for sample in log:
            assert sample.rails
            assert sample.total_mw is None or sample.total_mw > 0
            for rail in sample.rails:
                assert f"{rail.name} " in mutated


def test_mutated_lines_give_our_error_or_no_power_that_was_not_there() -> None:
    check_mutated(list(lines.ALL_WITH_RAILS), 4000)


@pytest.mark.slow
def test_a_hundred_thousand_mutated_lines() -> None:
    check_mutated([*lines.ALL_WITH_RAILS, lines.NO_RAILS], 100_000)


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_samples_or_our_error(text: str) -> None:
    parse_line(text)
    try:
        parse_log(text)
    except InvalidInput:
        return


@pytest.mark.data
class TestRecordings:
    """The recordings of real boards, where they are at hand."""

    def paths(self, logs: Path) -> list[Path]:
        return sorted((logs / "tegrastats").glob("*.log"))

    def test_each_parses_wholly_or_says_that_it_has_no_rails(self, logs: Path) -> None:
        for path in self.paths(logs):
            text = path.read_text(errors="replace")
            if "norails" in path.name or "drive" in path.name:
                with pytest.raises(InvalidInput, match="No power rail"):
                    parse_log(text)
                continue
            log = parse_log(text)
            remarks = sum(not line.lstrip("0123456789-: ").startswith("RAM") for line in text.splitlines())
            assert log.skipped_lines == remarks, path.name
            assert log.sessions == 1
            assert all(sample.gpu_mw is not None and sample.total_mw for sample in log), path.name

    def test_the_second_number_is_the_running_mean(self, logs: Path) -> None:
        checked = 0
        for path in self.paths(logs):
            if any(part in path.name for part in ("norails", "drive", "issue1206", "issue3240")):
                continue  # no rails, or recorded from the middle of a session
            log = parse_log(path.read_text(errors="replace"))
            if len(log) == 1:
                continue
            for rail in range(len(log[0].rails)):
                seen = [sample.rails[rail].current_mw for sample in log]
                for count, sample in enumerate(log, start=1):
                    assert abs(sum(seen[:count]) / count - sample.rails[rail].average_mw) <= 1
                    checked += 1
        assert checked > 5000

    @pytest.mark.slow
    def test_a_hundred_thousand_mutated_lines_of_recordings(self, logs: Path) -> None:
        texts = [line for path in self.paths(logs) for line in path.read_text(errors="replace").splitlines() if line]
        check_mutated(texts, 100_000)
