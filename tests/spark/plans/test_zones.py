"""Windrow measures the time that passes: the session's time zone changes nothing, not even where clocks are changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from cases import frame_locally, rows_of
from sweeps import sweep

pytestmark = pytest.mark.spark

SPRING, AUTUMN = 1711843200, 1729987200
"""An hour before clocks change in Berlin."""
CHANGES = (SPRING, AUTUMN, 1710054000, 1730613600, 1696086000, 1712415600)
"""The same there, in New York, and on Lord Howe Island, where clocks change by half an hour."""
SCHEMA = "t timestamp, local timestamp_ntz, x bigint"


@pytest.fixture(
    params=sweep(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"], "Australia/Lord_Howe")
)
def zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", before)


def instants(spark: SparkSession, *seconds: int) -> DataFrame:
    values = ", ".join(f"({s})" for s in seconds)
    return spark.sql(f"select timestamp_seconds(s) t, 1 x from values {values} v(s)")


def spans(frames: DataFrame) -> list[tuple[int, int]]:
    rows = frames.selectExpr("unix_seconds(start)", "unix_seconds(end)").collect()
    return sorted((row[0], row[1]) for row in rows)


@pytest.mark.parametrize("plan", ["native", "shuffle"])
def test_a_gap_is_the_time_that_passes(spark: SparkSession, zone: str, plan: str) -> None:
    spring = instants(spark, SPRING + 1800, SPRING + 3600)
    one = [(SPRING + 1800, SPRING + 3600)]
    assert spans(wr.frames(spring, wr.Gap("1 hour"), on="t", plan=plan)) == one
    assert spans(wr.frames(spring, wr.Threshold("x = 1", max_gap="1 hour"), on="t", plan=plan)) == one
    assert spans(wr.frames(spring, wr.Threshold("x = 1", min_duration="1 hour"), on="t", plan=plan)) == []
    autumn = instants(spark, AUTUMN + 1800, AUTUMN + 4200)
    apart = [(AUTUMN + 1800, AUTUMN + 1800), (AUTUMN + 4200, AUTUMN + 4200)]
    assert spans(wr.frames(autumn, wr.Gap("30 minutes"), on="t", plan=plan)) == apart
    long = wr.Threshold("x = 1", min_duration="30 minutes")
    assert spans(wr.frames(autumn, long, on="t", plan=plan)) == [(AUTUMN + 1800, AUTUMN + 4200)]


def around_changes() -> pa.Table:
    """Rows of the hours around clock changes, as instants and as the same readings of a clock without a zone."""
    rng = np.random.default_rng(17)
    seconds = np.repeat(np.array(CHANGES), 40) + rng.integers(-5400, 3 * 3600, 40 * len(CHANGES))
    micros = 1_000_000 * seconds + rng.integers(0, 2, seconds.size) * 500_000
    micros = np.concatenate([micros, -micros])
    return pa.table(
        {
            "t": pa.array(micros, pa.timestamp("us", "UTC")),
            "local": pa.array(micros, pa.timestamp("us")),
            "x": pa.array(rng.integers(0, 2, micros.size)),
        }
    )


@pytest.mark.parametrize("on", ["t", "local"])
def test_native_frames_around_clock_changes_are_those_of_the_kernel(spark: SparkSession, zone: str, on: str) -> None:
    table = around_changes()
    df = spark.createDataFrame(table, SCHEMA)
    for scheme in (
        wr.Gap("10 minutes"),
        wr.Threshold("x = 1", max_gap="7 minutes", min_duration="2 minutes"),
        wr.Boundary({"x": 1}, max_gap="20 minutes"),
    ):
        expected = rows_of(frame_locally(table, scheme, on, [], {}), [])
        assert rows_of(wr.frames(df, scheme, on=on, plan="native").toArrow(), []) == expected, scheme


@pytest.mark.parametrize("on", ["t", "local"])
def test_native_windows_around_clock_changes_are_those_of_the_kernel(spark: SparkSession, zone: str, on: str) -> None:
    df = spark.createDataFrame(around_changes(), SCHEMA)
    asked = {"on": on, "agg": {"n": wr.count(), "first": wr.min("local"), "last": wr.max("t")}}
    windows = wr.Sliding("1 hour", every="10 minutes")
    native, shuffle = (
        sorted(map(tuple, wr.slide(df, windows, plan=plan, **asked).collect())) for plan in ("native", "shuffle")
    )
    assert native == shuffle


def test_a_reading_that_clocks_skip_stays_in_its_window(spark: SparkSession, zone: str) -> None:
    df = spark.sql("select timestamp_ntz'2024-03-31 02:30:00' t")
    for plan in ("native", "shuffle"):
        (row,) = wr.slide(df, wr.Tumbling("1 hour"), on="t", agg={"last": wr.max("t")}, plan=plan).collect()
        assert row.start == datetime(2024, 3, 31, 2)
        assert row.end == datetime(2024, 3, 31, 3)
        assert row["last"] == datetime(2024, 3, 31, 2, 30)
