"""Rows that come one after the other: a table that renews itself, or lines."""

import io
from typing import Any

import pytest
from rich.console import Console

from windrow.terminal import Counts, LiveRows


def progress(batch: int, **counts: int | None) -> dict[str, Any]:
    metrics = {"arrived": 0, "late": 0, "dropped": 0} | counts
    return {"batchId": batch, "observedMetrics": {"windrow": metrics} if counts else {}}


def test_a_pipe_gets_a_line_of_names_and_then_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveRows(limit=1) as view:
        view.set_status("nothing yet")
        view.add({"detector": [], "speed": []})
        view.add({"detector": [7, 8], "speed": [1.5, None]})
        view.add({"detector": [9], "speed": [2.5]})
    assert capsys.readouterr().out == "detector\tspeed\n7\t1.5\n8\t\n9\t2.5\n"


def test_a_terminal_gets_the_newest_rows_on_top_and_how_things_stand() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, height=20, force_terminal=True, color_system=None)
    with LiveRows(limit=2, console=console) as view:
        view.add({"detector": [1001, 1002]})
        view.add({"detector": [1003]})
        view.set_status("so far so good")
        during = out.getvalue().rsplit("detector", 1)[1]
    last = out.getvalue().rsplit("detector", 1)[1]
    for text in (during, last):
        assert [word for word in text.split() if word.isdigit()] == ["1003", "1002"]
    assert "so far so good" in during
    assert "so far so good" not in last


def test_a_table_is_no_longer_than_the_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, height=10, force_terminal=True, color_system=None)
    with LiveRows(limit=100, console=console) as view:
        view.add({"n": list(range(50))})
    assert " 46 " in out.getvalue()
    assert " 45 " not in out.getvalue()


def test_each_batch_is_counted_once() -> None:
    counts = Counts()
    counts.take([progress(0, arrived=10, late=None), progress(1)])
    counts.take([progress(0, arrived=10), progress(1, arrived=1200, late=2), progress(1, arrived=1200, late=2)])
    assert str(counts) == "1,210 rows, 2 late"
    counts.take([progress(2, arrived=5, dropped=3)])
    assert str(counts) == "1,215 rows, 2 late, 3 dropped because of a null"


def test_rows_held_back_and_a_watermark_ahead_of_the_clock_are_reported() -> None:
    counts = Counts()
    guarded = {
        "batchId": 0,
        "observedMetrics": {"windrow": {"arrived": 4, "late": 0, "dropped": 0}, "guard": {"held": 2}},
    }
    counts.take([{**guarded, "eventTime": {"watermark": "2024-05-01T00:00:00.000Z"}}])
    assert str(counts) == "4 rows, 0 late, 2 held back from the future"
    counts.take([{**progress(1, arrived=1), "eventTime": {"watermark": "9999-12-01T00:00:00.000Z"}}])
    assert str(counts).endswith("warning: the watermark is ahead of the clock, at 9999-12-01 00:00:00+00:00")
    counts.take([{**progress(2, arrived=1), "eventTime": {}}])
    assert "warning" not in str(counts)
