"""Tables on the terminal: aligned, short, and no wider than it is."""

import io
from datetime import date, datetime, timedelta

from rich.console import Console

from windrow.terminal.tables import Table, as_texts, is_numeric, print_table

FRAMES = {
    "detectorid": [1001, 1002],
    "frame": [0, 11],
    "start": [datetime(2024, 3, 5, 7, 12, 20), datetime(2024, 3, 5, 8)],
    "closed_at": [datetime(2024, 3, 5, 9), None],
    "complete": [True, False],
    "slowest": [12.5, 8.25],
    "where": ["exit 7", "a [bold]bridge[/bold]"],
}


def printed(table: Table, width: int, *, terminal: bool) -> list[str]:
    out = io.StringIO()
    print_table(table, Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False))
    return out.getvalue().rstrip().splitlines()


def test_a_pipe_gets_every_column_whatever_its_width() -> None:
    lines = printed(Table(FRAMES, more=3), width=20, terminal=False)
    assert lines[1].split() == list(FRAMES)
    assert "a [bold]bridge[/bold]" in lines[4]
    assert lines[-1] == "… and 3 more rows"


def test_numbers_are_right_aligned_and_words_are_not() -> None:
    lines = printed(Table({"n": [1, 1000], "word": ["a", "bcd"]}), width=80, terminal=True)
    assert lines[3].rstrip() == "    1   a"
    assert lines[4].rstrip() == " 1000   bcd"


def test_a_terminal_gets_what_fits_and_is_told_what_does_not() -> None:
    lines = printed(Table(FRAMES), width=80, terminal=True)
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "columns that do not fit: closed_at, complete"
    assert "2024-03-05 07:12:20" in "\n".join(lines)


def test_values_are_short_texts() -> None:
    assert as_texts([datetime(2024, 3, 5, 7, 0, 0, 500_000), None]) == ["2024-03-05 07:00:00.500", ""]
    assert as_texts([date(2024, 3, 5), 7, 0.1 + 0.2, True]) == ["2024-03-05", "7", "0.3", "true"]
    assert as_texts([timedelta(seconds=59), timedelta(minutes=61)]) == ["59 s", "1 h 01 min"]
    assert as_texts(["two\nlines"]) == ["two lines"]


def test_a_column_is_numeric_if_all_it_knows_are_numbers() -> None:
    assert is_numeric([None, 1, 2.5])
    assert not is_numeric([True])
    assert not is_numeric([None])
