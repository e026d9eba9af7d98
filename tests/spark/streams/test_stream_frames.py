"""Frames of streams: the same as of a table, however the tuples arrive and however often the query is stopped."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

import windrow as wr
from cases import frame_locally, rows_of, table
from fuzz.schemes import QUERIES
from streamed import AGG, BATCHES, DELAY, SECOND, STREAMED, expected, in_seconds, run, stream, whole
from sweeps import long, sweep

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]


@pytest.fixture(scope="module")
def tuples() -> pa.Table:
    """A table with timestamps, in the order of arrival: no tuple comes more than `DELAY` seconds behind a later one."""
    made = table(3_000, 12)
    t = made["t"].to_numpy() * SECOND
    made = made.drop_columns("t").append_column("t", pa.array(t, pa.timestamp("us", "UTC")))
    rng = np.random.default_rng(3)
    arrives = t + rng.integers(0, DELAY * SECOND // 2, t.size)
    return made.take(pa.array(np.argsort(arrives)))


@pytest.fixture(scope="module")
def landed(tuples, tmp_path_factory) -> str:
    """The tuples as files in the order of arrival."""
    folder = tmp_path_factory.mktemp("landed") / "in"
    folder.mkdir()
    share = -(-tuples.num_rows // BATCHES)
    for i in range(BATCHES):
        path = folder / f"part-{i}.parquet"
        pq.write_table(tuples.slice(i * share, share), path)
        # The file source takes files in the order of their times.
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    return str(folder)


@pytest.mark.parametrize("name", sweep(STREAMED, "change of several columns", "custom"))
def test_a_stream_gives_the_frames_of_a_table(spark, tuples, landed, name, tmp_path):
    scheme = in_seconds(QUERIES[name])
    source = stream(spark, landed)
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG}
    found, progress = run(wr.frames(source, scheme, **asked), tmp_path)
    assert set(found["fragment"].to_pylist()) <= {0}
    assert all(found["final"].to_pylist())
    counted = [metrics for p in progress for metrics in p["observedMetrics"].values()]
    assert sum(metrics["arrived"] or 0 for metrics in counted) == tuples.num_rows
    assert sum(metrics["late"] or 0 for metrics in counted) == 0
    rest = wr.frames(source, scheme, **asked, flush=str(tmp_path / "checkpoint")).toArrow()
    wanted = expected(tuples, scheme)
    assert found.num_rows > rest.num_rows / 4
    assert whole([found, rest], wanted.column_names) == rows_of(wanted, ["g"])


@pytest.mark.parametrize("name", ["segments"])
def test_fragments_are_assembled_in_a_table_and_in_a_stream(spark, tuples, landed, name, tmp_path):
    scheme = in_seconds(QUERIES[name])
    source = stream(spark, landed)
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG, "fragments": True}
    found, _ = run(wr.frames(source, scheme, **asked), tmp_path)
    assert not all(found["final"].to_pylist())
    rest = wr.frames(source, scheme, **asked, flush=str(tmp_path / "checkpoint"))
    pieces = spark.read.parquet(str(tmp_path / "out")).unionByName(rest)
    wanted = expected(tuples, scheme)
    assert whole([wr.assemble(pieces).toArrow()], wanted.column_names) == rows_of(wanted, ["g"])
    (tmp_path / "again").mkdir()
    streamed, _ = run(wr.assemble(wr.frames(source, scheme, **asked)), tmp_path / "again")
    closed = wr.assemble(spark.read.parquet(str(tmp_path / "out"))).toArrow()
    assert whole([streamed], wanted.column_names) == whole([closed], wanted.column_names)


def test_fragments_may_have_a_column_of_any_name(spark):
    columns = "bucket string, frame long, start int, end int, closed_at int, count long, complete boolean, data int"
    pieces = [("a", 0, 1, 4, None, 4, False, 3, 0, False), ("a", 0, 5, 6, 7, 2, True, 5, 1, True)]
    found = wr.assemble(spark.createDataFrame(pieces, f"{columns}, fragment long, final boolean"))
    assert [tuple(row) for row in found.collect()] == [("a", 0, 1, 6, 7, 6, True, 5)]


def test_the_state_can_be_looked_at(spark, tuples, landed, tmp_path):
    scheme = wr.Delta({"x": 0.8})
    source = stream(spark, landed, "500 seconds")
    found, _ = run(wr.frames(source, scheme, on="t", by="g"), tmp_path)
    held = wr.open_frames(spark, str(tmp_path / "checkpoint")).toArrow()
    assert held.column_names == ["g", "frame", "start", "end", "count", "waiting"]
    mark = tuples["t"].to_numpy().max() - np.timedelta64(500, "s")
    behind = tuples.filter(pa.array(tuples["t"].to_numpy() > mark))
    counted = {row["g"]: row["waiting"] for row in held.to_pylist()}
    assert sum(counted.values()) == behind.num_rows
    assert counted[3] == behind["g"].to_pylist().count(3)
    assert held.schema.field("start").type == found.schema.field("start").type


def test_late_tuples_are_dropped_and_counted_or_given_back(spark, tuples, landed, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    early = tuples.filter(pc.less(tuples["t"], pa.scalar(60 * SECOND, tuples["t"].type)))
    for i, part in enumerate((tuples, tuples.slice(0, 9), early.slice(0, 50))):
        pq.write_table(part, folder / f"part-{i}.parquet")
        os.utime(folder / f"part-{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    source = stream(spark, str(folder), "1 second")
    dropped, progress = run(wr.frames(source, wr.Threshold("x > 0.5"), on="t", by="g"), tmp_path)
    late = sum(metrics["late"] or 0 for p in progress for metrics in p["observedMetrics"].values())
    assert late == 50, "in the second batch nothing has been framed yet, so nothing is late"
    (tmp_path / "emit").mkdir()
    both, _ = run(wr.frames(source, wr.Threshold("x > 0.5"), on="t", by="g", late="emit"), tmp_path / "emit")
    given = both.filter(both["late"].is_valid())
    assert given.num_rows == late
    assert set(given["start"].to_pylist()) == {None}
    texts = {row["late"]["text"] for row in given.to_pylist()}
    assert texts == set(early.slice(0, 50)["text"].to_pylist())
    assert all(row["g"] == row["late"]["g"] for row in given.to_pylist())
    names = [name for name in dropped.column_names if name != "late"]
    assert whole([both.filter(both["late"].is_null())], names) == whole([dropped], names)


def test_an_ordered_stream_needs_no_watermark(spark, tuples, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    ordered = table(1_000, 5).sort_by("t")
    cut = int(np.searchsorted(ordered["t"].to_numpy(), ordered["t"].to_numpy()[500]))
    for i, part in enumerate((ordered.slice(0, cut), ordered.slice(cut))):
        pq.write_table(part, folder / f"part-{i}.parquet")
        os.utime(folder / f"part-{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    source = stream(spark, str(folder), None)
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG, "ordered": True}
    found, progress = run(wr.frames(source, QUERIES["delta"], **asked), tmp_path)
    assert len([p for p in progress if p["numInputRows"]]) == 2
    rest = wr.frames(source, QUERIES["delta"], **asked, flush=str(tmp_path / "checkpoint")).toArrow()
    wanted = frame_locally(ordered, QUERIES["delta"], "t", ["g"], AGG)
    assert whole([found, rest], wanted.column_names) == rows_of(wanted, ["g"])


def test_without_groups_a_stream_is_one_group(spark, tuples, landed, tmp_path):
    source = stream(spark, landed)
    found, _ = run(wr.frames(source, wr.Threshold("x > 0.5"), on="t"), tmp_path)
    rest = wr.frames(source, wr.Threshold("x > 0.5"), on="t", flush=str(tmp_path / "checkpoint")).toArrow()
    wanted = frame_locally(tuples, wr.Threshold("x > 0.5"), "t", [], {})
    both = pa.concat_tables([part.select(wanted.column_names) for part in (found, rest)])
    assert rows_of(both, []) == rows_of(wanted, [])


@pytest.mark.parametrize(
    "changes",
    [[{"scheme": wr.Threshold("x > 0.6")}], long([{"buckets": 7}, {"fragments": True}], id="options")],
    ids=["scheme", "options"],
)
def test_a_changed_query_is_refused_by_its_checkpoint(spark, tuples, landed, changes, tmp_path):
    folder = tmp_path / "in"
    shutil.copytree(landed, folder)
    source = stream(spark, str(folder))
    scheme = wr.Threshold("x > 0.5")
    run(wr.frames(source, scheme, on="t", by="g"), tmp_path)
    pq.write_table(tuples.slice(0, 1), folder / "one-more.parquet")
    for changed in changes:
        with pytest.raises(StreamingQueryException, match="use a new checkpoint"):
            run(wr.frames(source, **({"scheme": scheme, "on": "t", "by": "g"} | changed)), tmp_path)
    _, progress = run(wr.frames(source, scheme, on="t", by="g"), tmp_path)
    assert sum(p["numInputRows"] for p in progress) == 1, "nothing of the refused runs was committed"


def test_what_only_streams_have_and_what_streams_lack_is_said(spark, landed, tmp_path):
    source, scheme, batch = stream(spark, landed), wr.Threshold("x > 0.5"), spark.read.parquet(landed)
    for option in ({"fragments": True}, {"ordered": True}, {"late": "emit"}, {"buckets": 3}, {"flush": "there"}):
        with pytest.raises(wr.UnsupportedError, match=f"{next(iter(option))}=.* is only for streams"):
            wr.frames(batch, scheme, on="t", by="g", **option)
    with pytest.raises(wr.SpecError, match=r"on: column 't' has no watermark.*withWatermark\('t', '10 seconds'\)"):
        wr.frames(stream(spark, landed, None), scheme, on="t", by="g")
    with pytest.raises(wr.TypeMismatchError, match=r"on: column 'v' is of type bigint.*ordered=True"):
        wr.frames(source, scheme, on="v", by="g")
    with pytest.raises(wr.UnsupportedError, match="plan='native': a stream has only one plan"):
        wr.frames(source, scheme, on="t", by="g", plan="native")
    for option, value in (("late", "keep"), ("buckets", 0), ("fragments", 1), ("ordered", "yes"), ("flush", True)):
        with pytest.raises(wr.SpecError, match=f"^{option}: .*{value!r}"):
            wr.frames(source, scheme, on="t", by="g", **{option: value})
    with pytest.raises(
        wr.SourceError, match=r"nowhere.* no state of windrow.frames.*; expected the checkpointLocation"
    ):
        wr.open_frames(spark, str(tmp_path / "nowhere"))
    assert str(wr.explain(source, scheme, on="t", by="g")).startswith("plan: stream")


def test_nulls_without_a_place_stop_the_query_or_are_dropped_and_counted(spark, tuples, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    keys = tuples["g"].to_pylist()
    lacking = tuples.set_column(0, "g", pa.array([None if i % 100 == 0 else g for i, g in enumerate(keys)]))
    pq.write_table(lacking, folder / "part.parquet")
    source = stream(spark, str(folder))
    with pytest.raises(StreamingQueryException, match="column 'g' is null or NaN in 30 rows; "):
        run(wr.frames(source, wr.Threshold("x > 0.5"), on="t", by="g"), tmp_path)
    (tmp_path / "drop").mkdir()
    _, progress = run(wr.frames(source, wr.Threshold("x > 0.5"), on="t", by="g", nulls_on="drop"), tmp_path / "drop")
    assert sum(metrics["dropped"] or 0 for p in progress for metrics in p["observedMetrics"].values()) == 30


def test_a_session_without_rocksdb_is_told_so(spark, landed):
    key = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(key)
    spark.conf.set(key, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(wr.SessionError, match="RocksDB"):
            wr.frames(stream(spark, landed), wr.Threshold("x > 0.5"), on="t", by="g")
    finally:
        spark.conf.set(key, before)
