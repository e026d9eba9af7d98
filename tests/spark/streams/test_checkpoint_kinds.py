"""A query on the checkpoint of another operation is refused before it commits anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

import windrow as wr
from windrow.spark.sessions import STATE_PARTITIONS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

SECOND = 1_000_000


def land(folder: Path, number: int, groups: range) -> None:
    """A file with a few rows of each of some groups."""
    t = [(60 * number + i) * SECOND for i in range(4) for _ in groups]
    rows = {"t": pa.array(t, pa.timestamp("us", "UTC")), "g": list(groups) * 4, "v": [1.0] * len(t)}
    path = folder / f"part-{number}.parquet"
    pq.write_table(pa.table(rows), path)
    os.utime(path, (1_600_000_000 + number,) * 2)


def source(spark, folder: Path) -> DataFrame:
    return spark.readStream.schema("t timestamp, g long, v double").parquet(str(folder))


def frames(rows: DataFrame) -> DataFrame:
    return wr.frames(rows.withWatermark("t", "1 second"), wr.Gap("1 hour"), on="t", by="g")


def ordered_frames(rows: DataFrame) -> DataFrame:
    return wr.frames(rows, wr.Gap("1 hour"), on="t", by="g", ordered=True)


def slide(rows: DataFrame) -> DataFrame:
    windows = wr.Tumbling("10 seconds")
    return wr.slide(rows.withWatermark("t", "1 second"), windows, on="t", by="g", agg={"n": wr.count()})


def fill(rows: DataFrame) -> DataFrame:
    columns = "g long, frame long, start timestamp, end timestamp"
    known = rows.sparkSession.createDataFrame([], columns)
    return wr.fill(known, rows.withWatermark("t", "1 second"), on="t", by="g", agg={"n": wr.count()})


def assemble(rows: DataFrame) -> DataFrame:
    bounds = ("unix_seconds(t) frame", "t start", "t end", "t closed_at", "1L count", "true complete")
    return wr.assemble(rows.selectExpr("g", *bounds, "0L fragment", "true final"))


def run(result: DataFrame, checkpoint: Path) -> list[str]:
    """Run to the end; the batches that were committed."""
    query = (
        result.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    ).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return committed(checkpoint)


def committed(checkpoint: Path) -> list[str]:
    return sorted(path.name for path in (checkpoint / "commits").iterdir() if path.name.isdigit())


@pytest.fixture
def begun(spark, tmp_path: Path) -> Callable[[Callable[[DataFrame], DataFrame]], Path]:
    """The checkpoint of a query that has ended, with rows that came since for one group only."""
    (tmp_path / "in").mkdir()
    land(tmp_path / "in", 0, range(20))

    def begin(asked: Callable[[DataFrame], DataFrame]) -> Path:
        run(asked(source(spark, tmp_path / "in")), tmp_path / asked.__name__)
        return tmp_path / asked.__name__

    return begin


def refused(spark, other: Callable[[DataFrame], DataFrame], checkpoint: Path, copy: str, message: str) -> None:
    mine = shutil.copytree(checkpoint, checkpoint.parent / copy)
    before = committed(mine)
    with pytest.raises(StreamingQueryException, match=message):
        run(other(source(spark, checkpoint.parent / "in")), mine)
    assert committed(mine) == before


def test_frames_are_not_continued_as_something_else(spark, begun, tmp_path):
    checkpoint = begun(frames)
    land(tmp_path / "in", 1, range(7, 8))
    for other in (slide, fill):
        message = f"holds the state of wr.frames, but this is a query of wr.{other.__name__}"
        refused(spark, other, checkpoint, f"as {other.__name__}", message)
    assert len(run(frames(source(spark, tmp_path / "in")), checkpoint)) > 1


@pytest.mark.long
def test_frames_in_order_are_not_continued_as_assembled_ones(spark, begun, tmp_path):
    checkpoint = begun(ordered_frames)
    land(tmp_path / "in", 1, range(7, 8))
    message = "holds the state of wr.frames, but this is a query of wr.assemble"
    refused(spark, assemble, checkpoint, "as assemble", message)


@pytest.mark.long
def test_windows_are_not_continued_as_frames(spark, begun, tmp_path):
    checkpoint = begun(slide)
    land(tmp_path / "in", 1, range(7, 8))
    refused(spark, frames, checkpoint, "as frames", "holds the state of wr.slide, but this is a query of wr.frames")


@pytest.mark.long
def test_assembled_frames_are_not_continued_as_frames(spark, begun, tmp_path):
    checkpoint = begun(assemble)
    land(tmp_path / "in", 1, range(7, 8))
    message = "holds the state of wr.assemble, but this is a query of wr.frames"
    refused(spark, ordered_frames, checkpoint, "as frames", message)


def test_groups_are_forgotten_and_counted_in_the_progress(spark, tmp_path):
    (tmp_path / "in").mkdir()
    most: list[int] = []
    for number, groups in enumerate([range(20), range(5), range(100, 101), range(5)]):
        # The third file is a day later, so that the others are forgotten; then the first groups return as new ones.
        land(tmp_path / "in", number + (0 if number < 2 else 24 * 60 * (number - 1)), groups)
        result = wr.frames(
            source(spark, tmp_path / "in").withWatermark("t", "1 second"), wr.Gap("10 seconds"), on="t", by="g",
            keep_groups="1 hour",
        )  # fmt: skip
        query = (
            result.writeStream.format("parquet").option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        ).start()  # fmt: skip
        query.awaitTermination()
        metrics = [found for p in query.recentProgress for found in p["observedMetrics"].values()]
        most.append(max(found["groups"] or 0 for found in metrics))
        assert max(found["state_bytes"] or 0 for found in metrics) > 0
    assert most[0] == 20
    found = spark.read.parquet(str(tmp_path / "out")).where("g = 3").sort("start").collect()
    assert [row["frame"] for row in found] == [0, 1]
    assert [row["frame"] for row in wr.open_frames(spark, tmp_path / "checkpoint").where("g = 3").collect()] == [None]


def test_a_restart_keeps_the_number_of_buckets_that_its_checkpoint_holds(spark, tmp_path, tune):
    (tmp_path / "in").mkdir()
    tune(buckets=None)
    for number, partitions in enumerate(("3", "2")):
        land(tmp_path / "in", number, range(20))
        spark.conf.set(STATE_PARTITIONS, partitions)
        try:
            run(frames(source(spark, tmp_path / "in")), tmp_path / "checkpoint")
        finally:
            spark.conf.unset(STATE_PARTITIONS)
    state = spark.read.format("statestore").option("stateVarName", "groups").load(str(tmp_path / "checkpoint"))
    assert {(row["key"]["bucket"], row["value"]["buckets"]) for row in state.collect()} == {(0, 3), (1, 3), (2, 3)}
    land(tmp_path / "in", 2, range(20))
    tune(buckets=32)
    message = "the checkpoint was written with 3 buckets, but the query has 32; pass buckets=3 or use a new checkpoint"
    refused(spark, frames, tmp_path / "checkpoint", "with 32", message)
