"""Aggregates over time are the same in every plan, in streams, in SQL and on every clock."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from fuzz.over_time import over_time
from windrow.aggregates.base import name_of
from windrow.aggregates.over_time.base import OverTime

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
AGG: dict[str, OverTime] = {
    "usual": wr.time_mean("x", max_hold="90 seconds"),
    "line": wr.integral("x", method="linear"),
    "covered": wr.duration(),
    "high": wr.time_in("x > 2", max_hold="2 minutes"),
    "carried": wr.time_mean("x", carry=True),
    "high_carried": wr.time_in("x > 2", carry=True),
}
VALUES = (3.0, None, 1.0, 4.0, None, 2.0, 5.0)


def rows_of_groups() -> list[tuple[str, int, float | None, int]]:
    """Rows of two groups: the second, its value, and whether a frame is on."""
    return [
        (g, 37 * i + (i * i * 13) % 30 + k, VALUES[(i * 3 + k) % 7], (i // 4 + k) % 3)
        for k, g in enumerate("ab")
        for i in range(40)
    ]


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    schema = "g string, second long, x double, state int"
    plain = spark.createDataFrame(rows_of_groups(), schema).repartition(3)
    return plain.withColumn("t", F.timestamp_seconds(F.lit(BEGIN.timestamp()) + F.col("second"))).drop("second")


def seconds(instant: datetime) -> int:
    return round((instant.astimezone(UTC) - BEGIN).total_seconds())


def wanted(aggregate: OverTime, group: str, start: int, end: int, *, closed: bool) -> float | None:
    """The result for all rows from `start` to `end`, both in seconds."""
    name = name_of(type(aggregate))
    rows = [
        (t, 1.0 if name == "duration" else float(x is not None and x > 2) if name == "time_in" else x)
        for g, t, x, _ in sorted(rows_of_groups(), key=lambda row: row[1])
        if g == group
    ]
    own = [row for row in rows if start <= row[0] <= end and (closed or row[0] < end)]
    before = [row for row in rows if row[0] < start and row[1] is not None]
    hold = {None: None, "90 seconds": 90, "2 minutes": 120}[aggregate.max_hold]
    carried = before[-1] if aggregate.carry and before else None
    return over_time(name, own, start, end, method=aggregate.method, max_hold=hold, before=carried)


def check(found: list[Any], agg: dict[str, OverTime], *, closed: bool = True) -> None:
    assert len(found) > 5
    for row in found:
        for name, aggregate in agg.items():
            expected = wanted(aggregate, row["g"], seconds(row["start"]), seconds(row["end"]), closed=closed)
            assert (row[name] is None) == (expected is None), (name, row)
            assert expected is None or math.isclose(row[name], expected, abs_tol=1e-9), (name, row, expected)


FRAMES = wr.Threshold("state < 2")


def test_frames_in_every_plan(spark: SparkSession, readings: DataFrame, tmp_path: Path) -> None:
    options: Any = {"on": "t", "by": "g", "agg": AGG}
    shuffled = wr.frames(readings, FRAMES, **options)
    check(shuffled.collect(), AGG)
    readings.coalesce(1).sortWithinPartitions("t").write.parquet(str(tmp_path / "readings"))
    stored = wr.parquet(spark, str(tmp_path / "readings"))
    assert str(wr.explain(stored, FRAMES, **options)).startswith("plan: scan")
    check(wr.frames(stored, FRAMES, **options).collect(), AGG)
    with pytest.raises(wr.UnsupportedError, match=r"plan='native': .*time_mean"):
        wr.frames(readings, FRAMES, plan="native", **options)


def test_windows_and_filled_frames(spark: SparkSession, readings: DataFrame) -> None:
    options: Any = {"on": "t", "by": "g", "agg": AGG}
    check(wr.slide(readings, wr.Sliding("5 minutes", every="1 minute"), **options).collect(), AGG, closed=False)
    frames = wr.slide(readings, wr.Tumbling("100 seconds"), on="t", by="g", agg={"n": wr.count()})
    frames = frames.select("g", F.lit(0).alias("frame"), "start", "end")
    check(wr.fill(frames, readings, **options).collect(), AGG)


def test_streams(spark: SparkSession, readings: DataFrame, tmp_path: Path) -> None:
    """Frames, windows and filled frames of one stream; fill refuses to carry values in."""
    readings.repartition(2, "t").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(readings.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    marked = stream.withWatermark("t", "1 day")
    plain = {name: aggregate for name, aggregate in AGG.items() if not aggregate.carry}
    frames = wr.frames(readings, FRAMES, on="t", by="g")
    with pytest.raises(wr.UnsupportedError, match="agg 'carried': carry=True requires tables"):
        wr.fill(frames, marked, on="t", by="g", agg=AGG)
    queries = {
        "framed": (lambda flush: wr.frames(marked, FRAMES, on="t", by="g", agg=AGG, flush=flush), AGG),
        "slid": (lambda flush: wr.slide(marked, wr.Tumbling("5 minutes"), on="t", by="g", agg=AGG, flush=flush), AGG),
        "filled": (lambda flush: wr.fill(frames, marked, on="t", by="g", agg=plain, flush=flush), plain),
    }
    for name, (query, agg) in queries.items():
        checkpoint = str(tmp_path / f"{name}.ckpt")
        writer = query(None).writeStream.format("memory").queryName(name).option("checkpointLocation", checkpoint)
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        columns = ["g", "start", "end", *agg]
        left = query(checkpoint).select(*columns).collect()
        check([*spark.table(name).select(*columns).collect(), *left], agg, closed=name != "slid")


def test_sql_takes_options_by_name(spark: SparkSession, readings: DataFrame) -> None:
    wr.register_sql(spark)
    readings.createOrReplaceTempView("held_readings")
    texts = {
        "usual": "time_mean(x, max_hold=90 seconds)",
        "line": "integral(x, method=linear)",
        "covered": "duration()",
        "high": "time_in(x > 2, max_hold=2 minutes)",
        "carried": "time_mean(x, carry=true)",
        "high_carried": "time_in((x > 2), carry=true)",
    }
    listed = ", ".join(f"'{name}', '{text}'" for name, text in texts.items())
    frames = (
        f"threshold_frames(TABLE(held_readings), on => 't', by => 'g', predicate => 'state < 2', agg => map({listed}))"
    )
    check(spark.sql(f"SELECT * FROM {frames}").collect(), AGG)
    windows = f"slide_windows(TABLE(held_readings), on => 't', by => 'g', length => '3 minutes', agg => map({listed}))"
    check(spark.sql(f"SELECT * FROM {windows}").collect(), AGG, closed=False)


def test_units_of_time(spark: SparkSession) -> None:
    days = [(date(2026, 1, 1) + timedelta(days=n), n, float(n)) for n in (0, 1, 4)]
    table = spark.createDataFrame(days, "d date, n long, x double")
    agg = {"area": wr.integral("x", max_hold="36 hours"), "time": wr.duration()}
    assert wr.frames(table, wr.Gap("10 days"), on="d", agg=agg).select("area", "time").first() == (1.5, 4.0)
    with pytest.raises(wr.SpecError, match="max_hold: `on` is a number"):
        wr.frames(table, wr.Gap(10), on="n", agg=agg)
    with pytest.raises(wr.SpecError, match=r"max_hold: .*'3 lightyears'"):
        wr.frames(table, wr.Gap("1 day"), on="d", agg={"t": wr.duration(max_hold="3 lightyears")})
    with pytest.raises(wr.ColumnError, match=r"agg 't' 'speed > 3'.*speed"):
        wr.frames(table, wr.Gap("1 day"), on="d", agg={"t": wr.time_in("speed > 3")})
