"""Streams with a delay of their own: no watermark, any type of `on`, and no group that waits for another."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

import windrow as wr
from cases import frame_locally, rows_of, table
from fuzz.schemes import QUERIES
from streamed import AGG, SECOND, in_seconds, run, stream, whole

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

DELAY = 40
WHOLE = {"total": wr.sum("v"), "opening": wr.first("v")}
"""Aggregates of integers: the pieces of a frame are merged, which rounds floats differently."""


def arriving(*, of_timestamps: bool) -> pa.Table:
    """Rows in the order of arrival, none of which is late; half the groups are a day behind the others."""
    made = table(2_000, 12)
    t, g = made["t"].to_numpy(), made["g"].to_numpy()
    arrives = t + np.random.default_rng(3).integers(0, DELAY // 2, t.size)
    t = np.where(g % 2 == 0, t, t - 86_400)
    instants = pa.array(t * SECOND, pa.timestamp("us", "UTC")) if of_timestamps else pa.array(t)
    made = made.drop_columns("t").append_column("t", instants)
    return made.take(pa.array(np.argsort(arrives, kind="stable")))


def land(rows: list[pa.Table], folder: Path) -> str:
    folder.mkdir()
    for i, part in enumerate(rows):
        path = folder / f"part-{i}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    return str(folder)


def counted(progress: list[Any], name: str) -> int:
    return sum(metrics[name] or 0 for p in progress for metrics in p["observedMetrics"].values() if name in metrics)


def test_groups_are_put_in_order_by_their_own_rows_and_rows_from_the_future_held_back(spark, tmp_path):
    rows = arriving(of_timestamps=True)
    future = rows.slice(0, 1).set_column(
        rows.schema.get_field_index("t"), "t", pa.array([253_370_764_800 * SECOND], pa.timestamp("us", "UTC"))
    )
    folder = land([pa.concat_tables([rows.slice(0, 700), future]), rows.slice(700, 650)], tmp_path / "in")
    scheme = in_seconds(QUERIES["threshold with a gap"])
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG, "delay": f"{DELAY} seconds"}
    _, progress = run(wr.frames(stream(spark, folder, None), scheme, **asked), tmp_path)
    assert (counted(progress, "held"), counted(progress, "late"), counted(progress, "arrived")) == (1, 0, 1_350)
    # A row that is behind what has been framed, once the query has been restarted.
    pq.write_table(pa.concat_tables([rows.slice(1_350), rows.slice(0, 1)]), f"{folder}/part-2.parquet")
    source = stream(spark, folder, None)
    found, progress = run(wr.frames(source, scheme, **asked), tmp_path)
    assert (counted(progress, "late"), counted(progress, "arrived")) == (1, 651)
    rest = wr.frames(source, scheme, **asked, flush=str(tmp_path / "checkpoint")).toArrow()
    wanted = frame_locally(rows, scheme, "t", ["g"], AGG)
    assert found.num_rows > rest.num_rows / 4
    assert whole([found, rest], wanted.column_names) == rows_of(wanted, ["g"])
    assert "newest row of their group (delay='40 seconds')" in str(wr.explain(source, scheme, **asked))


def test_windows_of_a_stream_in_the_order_of_a_number(spark, tmp_path):
    rows = arriving(of_timestamps=False)
    folder = land([rows.slice(0, 900), rows.slice(900)], tmp_path / "in")
    source = stream(spark, folder, None)
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": {"n": wr.count(), "last": wr.last("v")}, "delay": DELAY}
    asked["order_by"] = "text"
    found, progress = run(wr.slide(source, wr.Sliding(60, every=30), **asked), tmp_path)
    assert counted(progress, "late") == 0
    rest = wr.slide(source, wr.Sliding(60, every=30), **asked, flush=str(tmp_path / "checkpoint")).toArrow()
    del asked["delay"]
    wanted = wr.slide(spark.read.parquet(folder), wr.Sliding(60, every=30), **asked).toArrow()
    assert found.num_rows > rest.num_rows
    both = pa.concat_tables([found, rest.cast(found.schema)]).to_pylist()
    assert sorted(both, key=repr) == sorted(wanted.cast(found.schema).to_pylist(), key=repr)


def test_silent_groups_are_closed_by_the_wall_clock_and_fragments_cut_by_event_time(spark, tmp_path):
    rows = arriving(of_timestamps=False)
    folder = land([rows], tmp_path / "in")
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": WHOLE, "delay": DELAY, "idle": "4 seconds", "fragments": 50}
    asked["punctuation"] = True
    scheme = QUERIES["threshold with a gap"]
    query = (
        wr.frames(stream(spark, folder, None), scheme, **asked).writeStream.format("parquet")
        .option("path", str(tmp_path / "out")).option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="1 second").start()
    )  # fmt: skip
    wanted = frame_locally(rows, scheme, "t", ["g"], WHOLE)
    try:
        for _ in range(120):
            time.sleep(0.5)
            done = query.lastProgress is not None and _finals(spark, tmp_path / "out") == wanted.num_rows
            if done:
                break
    finally:
        query.stop()
    written = spark.read.parquet(str(tmp_path / "out"))
    closed = written.where("frame is null and complete_until is not null and open_since is null")
    assert closed.select("g").distinct().count() == 12, "in the end, no group has a frame open"
    found = wr.assemble(written).toArrow()
    assert whole([found], wanted.column_names) == rows_of(wanted, ["g"])
    assert wr.open_frames(spark, str(tmp_path / "checkpoint")).count() == 0


def _finals(spark, folder: Path) -> int:
    try:
        return spark.read.parquet(str(folder)).where("final").count()
    except AnalysisException:
        return 0


def test_options_that_do_not_fit_a_delay_are_refused(spark, tmp_path):
    folder = land([arriving(of_timestamps=True).slice(0, 5)], tmp_path / "in")
    source, batch, scheme = stream(spark, folder, None), spark.read.parquet(folder), wr.Threshold("x > 0.5")
    asked: dict[str, Any] = {"on": "t", "by": "g"}
    with pytest.raises(wr.UnsupportedError, match=r"delay='1 minute' is only for streams"):
        wr.frames(batch, scheme, **asked, delay="1 minute")
    for delay, error in ((5, "`on` is a timestamp, so expected a string"), ("soon", "'soon'"), (True, "True")):
        with pytest.raises(wr.SpecError, match=f"^delay: .*{error}"):
            wr.frames(source, scheme, **asked, delay=delay)
    with pytest.raises(wr.SpecError, match=r"^delay: '1 minute' has no effect with ordered=True"):
        wr.frames(source, scheme, **asked, delay="1 minute", ordered=True)
    with pytest.raises(wr.SpecError, match=r"^ahead: '1 day' has no effect without delay=.*wr\.guard"):
        wr.frames(source, scheme, **asked, ahead="1 day")
    with pytest.raises(wr.SpecError, match=r"^ahead: `on` is a timestamp"):
        wr.frames(source, scheme, **asked, delay="1 minute", ahead=5)
    with pytest.raises(wr.SpecError, match=r"^ahead: column 'v' is of type bigint, which the clock cannot"):
        wr.slide(source, wr.Rows(3), on="v", agg={"n": wr.count()}, delay=5, ahead="1 day")
    for idle, error in ((5, "expected a duration such as"), ("0 seconds", "must be greater"), ("x", "'x'")):
        with pytest.raises(wr.SpecError, match=f"^idle: .*{error}"):
            wr.frames(source, scheme, **asked, delay="1 minute", idle=idle)
    with pytest.raises(wr.SpecError, match=r"^idle: '1 minute' requires delay= or ordered=True"):
        wr.frames(source.withWatermark("t", "1 minute"), scheme, **asked, idle="1 minute")
    for every, error in (
        ("0 seconds", "must be greater than zero"),
        (5, "expected a string"),
        (None, "True, False or"),
    ):
        with pytest.raises(wr.SpecError, match=f"^fragments: .*{error}"):
            wr.frames(source, scheme, **asked, delay="1 minute", fragments=every)
    frames = wr.frames(source, scheme, **asked, delay="1 minute")
    with pytest.raises(wr.UnsupportedError, match="framed with delay=, so no watermark shows when"):
        wr.fill(frames, source.withWatermark("t", "1 minute"), on="t", by="g")
