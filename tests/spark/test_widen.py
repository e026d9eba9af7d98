"""Widened frames begin earlier and end later by fixed lengths, and nothing else of them changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.errors import ColumnError, SpecError, TypeMismatchError

pytestmark = pytest.mark.spark


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


CASES: list[tuple[str, dict[str, Any], str]] = [
    (
        "timestamp'2024-05-01 12:00:00'",
        {"before": "5 minutes", "after": "1 hour"},
        "2024-05-01 11:55:00|2024-05-01 13:00:00",
    ),
    (
        "timestamp_ntz'2024-05-01 12:00:00'",
        {"before": timedelta(days=1), "after": "0.000001 seconds"},
        "2024-04-30 12:00:00|2024-05-01 12:00:00.000001",
    ),
    # A day has 24 hours, also on the night in which the clocks of Berlin go forward.
    ("timestamp'2024-03-30 12:00:00'", {"after": "1 day"}, "2024-03-30 12:00:00|2024-03-31 13:00:00"),
    ("timestamp'2024-03-31 12:00:00'", {"before": "1 day"}, "2024-03-30 11:00:00|2024-03-31 12:00:00"),
    ("timestamp_ntz'2024-03-30 12:00:00'", {"after": "1 day"}, "2024-03-30 12:00:00|2024-03-31 12:00:00"),
    ("date'2024-03-01'", {"before": "1 week", "after": "48 hours"}, "2024-02-23|2024-03-03"),
    ("7", {"before": 3, "after": 2.0}, "4|9"),
    ("7L", {"before": 2**40}, f"{7 - 2**40}|7"),
    ("2.5D", {"before": 0.25, "after": 1}, "2.25|3.5"),
    ("cast(1.5 as float)", {"before": 0.5}, "1.0|1.5"),
    # An integer stays at the limit of its type.
    ("100Y", {"before": 300, "after": 300}, "-128|127"),
    ("7", {"before": 2**40, "after": 2**40}, f"{-(2**31)}|{2**31 - 1}"),
    ("-7L", {"before": 2**63 - 1, "after": 0}, f"{-(2**63)}|-7"),
    ("cast(null as int)", {"before": 1, "after": 1}, "None|None"),
    ("7", {}, "7|7"),
]


def test_bounds_move_by_fixed_lengths(berlin: SparkSession) -> None:
    moved = None
    for i, (value, options, _) in enumerate(CASES):
        frames = berlin.sql(f"select {i} as frame, {value} as start, {value} as end, 'x' as note")
        wide = wr.widen(frames, **options)
        assert wide.dtypes == frames.dtypes
        shown = wide.selectExpr("frame", "cast(start as string)", "cast(end as string)")
        moved = shown if moved is None else moved.unionAll(shown)
    assert moved is not None
    found = {row.frame: f"{row.start}|{row.end}" for row in moved.collect()}
    assert [found[i] for i in range(len(CASES))] == [expected for _, _, expected in CASES]


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        ("7", {"before": -1}, SpecError, "before: expected a duration of zero or more, got -1"),
        ("now()", {"after": "-3 minutes"}, SpecError, "after: expected a duration of zero or more, got '-3 minutes'"),
        ("now()", {"after": timedelta(hours=-1)}, SpecError, "expected a duration of zero or more"),
        ("now()", {"before": 5}, SpecError, "expected a string such as '3 minutes' or a timedelta"),
        ("now()", {"before": "a while"}, SpecError, "before: expected a duration of fixed length .*, got 'a while'"),
        ("now()", {"before": timedelta.max}, SpecError, "longer than the longest duration"),
        ("7", {"after": "5 minutes"}, SpecError, "expected a number in its unit"),
        ("7", {"after": True}, SpecError, "expected a number in its unit"),
        ("7", {"after": 0.5}, SpecError, "after: column 'end' is of type int, so expected an integer, got 0.5"),
        ("7.0D", {"after": float("inf")}, SpecError, "expected a finite duration"),
        (
            "current_date()",
            {"before": "36 hours"},
            SpecError,
            "'start' is of type date, so expected whole days, got '36 hours'",
        ),
        (
            "'noon'",
            {"before": 1},
            TypeMismatchError,
            "frames: column 'start' is of type string; expected a timestamp",
        ),
        ("1.5BD", {"before": 1}, TypeMismatchError, "frames: column 'start' is of type decimal"),
    ],
)
def test_bad_lengths(
    spark: SparkSession, value: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    frames = spark.sql(f"select {value} as start, {value} as end")
    with pytest.raises(error, match=message):
        wr.widen(frames, **options)


def test_frames_without_bounds(spark: SparkSession) -> None:
    with pytest.raises(ColumnError, match="frames: no column named 'end'; available columns: 'frame', 'start'"):
        wr.widen(spark.sql("select 0 as frame, 1 as start"), before=1)
    with pytest.raises(ColumnError, match="'start' is ambiguous"):
        wr.widen(spark.sql("select 0 as start, 1 as start, 2 as end"), before=1)
    with pytest.raises(SpecError, match="frames: expected a Spark DataFrame, got"):
        wr.widen([(1, 2)], before=1)  # type: ignore[arg-type]
