"""Results of streams as input of further operators in the same query: nothing is lost, and `known_at` is event time."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import windrow as wr

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

FILES, ROWS = 4, 150
BEGAN = datetime(2024, 5, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HIGH = wr.Threshold("x > 0")
BUSY = wr.Gap("25 seconds")


class Run(NamedTuple):
    """The rows of a query with the number of their batch, and the watermark of each batch."""

    rows: pa.Table
    watermarks: dict[int, datetime]
    late: int


def land(folder: Path, number: int, groups: str = "abc", first: int | None = None) -> None:
    """Write a file: one row per second and group, out of order by a few seconds."""
    rng = np.random.default_rng(number)
    seconds = (number if first is None else first) * ROWS + np.arange(ROWS)
    rows = []
    for group in groups:
        x = rng.choice([-1.0, 1.0], ROWS).cumsum()
        at = [BEGAN + timedelta(seconds=int(second)) for second in seconds]
        rows += [*zip(seconds + rng.integers(0, 6, ROWS), [group] * ROWS, at, x.tolist(), strict=True)]
    rows.sort()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{number}.parquet"
    instants = pa.array([row[2] for row in rows], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"g": [row[1] for row in rows], "t": instants, "x": [row[3] for row in rows]}), path)
    os.utime(path, (1_600_000_000 + number,) * 2)


@pytest.fixture(scope="module")
def landed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("chains") / "in"
    for number in range(FILES):
        land(folder, number)
    return folder


@pytest.fixture
def run(spark, tmp_path) -> Callable[[DataFrame], Run]:
    def run(result: DataFrame) -> Run:
        batches: list[pa.Table] = []

        def keep(batch: DataFrame, number: int) -> None:
            batches.append(batch.withColumn("batch", F.lit(number)).toArrow())

        at = tmp_path / f"checkpoint-{len(list(tmp_path.iterdir()))}"
        write = result.writeStream.foreachBatch(keep).option("checkpointLocation", str(at))
        query = write.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = query.recentProgress
        marks = {p["batchId"]: datetime.fromisoformat(p["eventTime"]["watermark"]) for p in progress if p["eventTime"]}
        metrics = [metric.asDict() for p in progress for metric in p["observedMetrics"].values()]
        dropped = sum(op["numRowsDroppedByWatermark"] for p in progress for op in p["stateOperators"])
        return Run(pa.concat_tables(batches), marks, dropped + sum(metric.get("late") or 0 for metric in metrics))

    return run


def stream(spark, folder: Path, delay: str = "10 seconds") -> DataFrame:
    read = spark.readStream.schema("g string, t timestamp, x double").option("maxFilesPerTrigger", 1)
    return read.parquet(str(folder)).withWatermark("t", delay)


def frames(spark, folder: Path) -> DataFrame:
    return wr.frames(stream(spark, folder), HIGH, on="t", by="g", agg={"peak": wr.max("x")})


def lines(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in names) for row in table.to_pylist()), key=str)


def windows_past(rows: list[dict[str, Any]], length: timedelta) -> list[tuple[Any, ...]]:
    """The sums of `jams` by group and window of `end`, of the windows that the last row of their group is past."""
    sums: dict[tuple[str, datetime], int] = {}
    last: dict[str, datetime] = {}
    for row in rows:
        start = row["end"] - (row["end"] - EPOCH) % length
        sums[row["g"], start] = sums.get((row["g"], start), 0) + row["jams"]
        last[row["g"]] = max(row["end"], last.get(row["g"], row["end"]))
    past = [(g, start, n) for (g, start), n in sums.items() if start + length <= last[g]]
    return sorted(past, key=str)


def test_known_at_follows_the_watermark_and_serves_operators_of_spark(spark, landed, run):
    jams = frames(spark, landed)
    assert jams.columns[-3:] == ["fragment", "final", "known_at"]
    reported = run(jams)
    rows = reported.rows.to_pylist()
    assert len(rows) > 20
    for row in rows:
        assert row["known_at"] - reported.watermarks[row["batch"]] == timedelta(microseconds=1)
    last = max(reported.watermarks.values())

    counted = run(jams.groupBy(F.window("known_at", "1 minute").alias("w"), "g").agg(F.count(F.lit(1)).alias("n")))
    wanted: dict[tuple[datetime, str], int] = {}
    for row in rows:
        start = row["known_at"] - (row["known_at"] - EPOCH) % timedelta(minutes=1)
        if start + timedelta(minutes=1) <= last:
            wanted[start, row["g"]] = wanted.get((start, row["g"]), 0) + 1
    assert {(row["w"]["start"], row["g"]): row["n"] for row in counted.rows.to_pylist()} == wanted
    assert wanted
    assert counted.late == 0

    twice = jams.withColumn("copy", F.explode(F.array(F.lit(1), F.lit(2))))
    once = run(twice.dropDuplicatesWithinWatermark(["g", "frame"]))
    assert lines(once.rows, "g", "frame") == lines(reported.rows, "g", "frame")
    assert once.late == 0

    windows = wr.slide(stream(spark, landed), wr.Tumbling("1 minute"), on="t", by="g", agg={"mean": wr.mean("x")})
    windows = windows.select(*(F.col(name).alias(f"w_{name}") for name in windows.columns))
    during = (jams["g"] == windows["w_g"]) & jams["start"].between(windows["w_start"], windows["w_end"])
    during &= jams["known_at"] <= windows["w_known_at"] + F.expr("interval 1 hour")
    joined = run(jams.join(windows, during))
    inside = {(row["g"], row["frame"]) for row in joined.rows.to_pylist()}
    whole = [row for row in rows if row["start"] < last - timedelta(minutes=1)]
    assert {(row["g"], row["frame"]) for row in whole} <= inside
    assert joined.late == 0


def test_frames_of_frames_and_windows_of_those_come_in_order(spark, landed, run):
    jams = frames(spark, landed)
    first = run(jams)
    agg = {"jams": wr.count(), "peak": wr.max("peak")}
    again = wr.frames(jams.where("count > 1"), BUSY, on="start", by="g", agg=agg)
    assert again.columns[-1] == "known_at"
    second = run(again)
    table = spark.createDataFrame(first.rows.drop_columns(["batch", "known_at"]))
    wanted = wr.frames(table.where("count > 1"), BUSY, on="start", by="g", agg=agg)
    names = ["g", "frame", "start", "end", "closed_at", "count", "jams", "peak"]
    # The rows come in order, so a frame is closed by the next row, and the last one of each group stays open.
    assert lines(second.rows, *names) == lines(wanted.where("closed_at is not null").toArrow(), *names)
    assert second.rows.num_rows > 5
    assert second.late == 0

    busiest = wr.slide(
        again.withColumnRenamed("g", "place"), wr.Tumbling("2 minutes"), on="end", by="place", agg={"n": wr.sum("jams")}
    )
    third = run(busiest)
    assert lines(third.rows, "place", "start", "n") == windows_past(second.rows.to_pylist(), timedelta(minutes=2))
    assert third.rows.num_rows > 1
    assert third.late == 0


def test_frames_that_are_reported_while_the_watermark_stands_still_are_not_lost(spark, tmp_path, run):
    """Group z is far ahead, so the watermark stays where it is while the other groups, in order, catch up."""
    folder = tmp_path / "in"
    land(folder, 0, "z", first=100)
    for number in range(1, 4):
        land(folder, number, "ab")
    jams = wr.frames(stream(spark, folder, "0 seconds"), HIGH, on="t", by="g", ordered=True)
    found = run(jams.where("g <> 'z'").dropDuplicatesWithinWatermark(["g", "frame"]))
    reported = run(jams.where("g <> 'z'"))
    still = [mark for batch, mark in sorted(reported.watermarks.items()) if batch > 0]
    assert len(set(still)) == 1
    assert len(set(reported.rows["batch"].to_pylist())) > 1
    assert lines(found.rows, "g", "frame", "start") == lines(reported.rows, "g", "frame", "start")


def test_selected_frames_are_filled_like_all_frames_and_filtered_after(spark, landed, run):
    jams = wr.widen(frames(spark, landed), before="2 seconds")
    rows = stream(spark, landed)
    agg = {"n": wr.count(), "lowest": wr.min("x")}
    selected = jams.where("count > 2").withColumnRenamed("g", "place").select("frame", "place", "start", "end", "peak")
    found = run(wr.fill(selected, rows.withColumnRenamed("g", "place"), on="t", by="place", agg=agg))
    assert found.rows.column_names == ["frame", "place", "start", "end", "peak", "n", "lowest", "known_at", "batch"]
    wanted = run(wr.fill(jams, rows, on="t", by="g", agg=agg).where("count > 2"))
    names = ["frame", "start", "end", "peak", "n", "lowest", "known_at", "batch"]
    assert lines(found.rows, "place", *names) == lines(wanted.rows, "g", *names)
    assert found.rows.num_rows > 10
    assert found.late == 0


def test_what_cannot_follow_is_refused_before_the_query_starts(spark, landed):
    jams, rows = frames(spark, landed), stream(spark, landed)
    with pytest.raises(wr.SpecError, match="on: column 'known_at' is the watermark at which a row was reported"):
        wr.frames(jams, BUSY, on="known_at", by="g")
    with pytest.raises(wr.SpecError, match=r"do not arrive in the order of 'start' in each group of \[\].*delay="):
        wr.frames(jams, BUSY, on="start")
    with pytest.raises(wr.SpecError, match="do not arrive in the order of 'start'"):
        wr.frames(jams.unionAll(jams), BUSY, on="start", by="g")
    overlapping = wr.frames(rows, wr.DoubleBoundary({"x": 5.0}), on="t", by="g")
    with pytest.raises(wr.SpecError, match="do not arrive in the order of 'end'"):
        wr.slide(overlapping, wr.Tumbling("1 minute"), on="end", by="g", agg={"n": wr.count()})
    early = wr.slide(rows, wr.Sliding("1 minute", "30 seconds", emit="10 seconds"), on="t", agg={"n": wr.count()})
    with pytest.raises(wr.SpecError, match="do not arrive in the order of 'end'"):
        wr.frames(early, BUSY, on="end")
    with pytest.raises(wr.UnsupportedError, match=r"computed from the result of wr\.frames"):
        wr.fill(jams.withColumn("start", F.col("start") - F.expr("interval 1 hour")), rows, on="t", by="g")
    with pytest.raises(wr.UnsupportedError, match="flush: rows or columns of this stream of frames were selected"):
        wr.fill(jams.where("count > 2"), rows, on="t", by="g", flush="there")
    pieces = wr.frames(rows, HIGH, on="t", by="g", fragments=True)
    with pytest.raises(wr.UnsupportedError, match="rows or columns of this stream of fragments were selected"):
        wr.fill(pieces.where("count > 2"), rows, on="t", by="g")
    with pytest.raises(wr.SpecError, match="buckets: a stream of frames is filled in the buckets it was"):
        wr.fill(jams, rows, on="t", by="g", buckets=7)
    with pytest.raises(wr.ColumnError, match="the result would have two columns named 'known_at'"):
        wr.frames(rows, HIGH, on="t", by="g", agg={"known_at": wr.count()})
