"""Filling where frames or rows come in a stream: the same result as with tables, whichever side streams."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

import windrow as wr
from cases import rows_of, table
from windrow.spark.streams.punctuation import FrameStream
from windrow.tuning import current_tuning

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

SECOND = 1_000_000
FILES = 3
SCHEME = wr.Threshold("x > 0.5", min_count=3, max_gap="60 seconds")
AGG = {"n": wr.count(), "total": wr.sum("v"), "opening": wr.first("v"), "spread": wr.variance("x")}


def land(folder: Path, seed: int) -> str:
    """Rows as files in the order of arrival, out of order within the watermark."""
    folder.mkdir(parents=True)
    made = table(1_800, 12, seed=seed)
    t = made["t"].to_numpy() * SECOND
    made = made.drop_columns("t").append_column("t", pa.array(t, pa.timestamp("us", "UTC")))
    rng = np.random.default_rng(seed)
    made = made.take(pa.array(np.argsort(t + rng.integers(0, 20 * SECOND, t.size))))
    for i in range(FILES):
        write(made.slice(i * 600, 600), folder / f"part-{i}.parquet", i)
    return str(folder)


def write(rows: pa.Table, path: Path, order: int) -> None:
    pq.write_table(rows, path)
    # The file source takes files in the order of their times.
    os.utime(path, (1_600_000_000 + order, 1_600_000_000 + order))


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> dict[str, str]:
    """Where the rows that are framed and those that fill are."""
    folder = tmp_path_factory.mktemp("fill")
    return {"framed": land(folder / "framed", 7), "filling": land(folder / "filling", 8)}


def stream(spark, folder: str, on: str = "t") -> DataFrame:
    read = spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1)
    return read.parquet(folder).withWatermark(on, "40 seconds")


def run(filled: DataFrame, folder: Path) -> tuple[DataFrame, list[dict[str, int]]]:
    """All that a bounded replay gives, and the counts of each batch."""
    out = folder / "out"
    query = (
        filled.writeStream.format("parquet").option("path", str(out))
        .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    counts = [
        metrics.asDict()
        for progress in query.recentProgress
        for name, metrics in progress["observedMetrics"].items()
        if name.startswith("windrow fill")
    ]
    return filled.sparkSession.read.schema(filled.schema).parquet(str(out)), counts


def same(found: DataFrame, wanted: DataFrame) -> None:
    """Equal, but for what only a stream has, and the row that ended a frame after a gap."""
    names = [name for name in wanted.columns if name != "closed_at"]
    keys = [name for name in ("g", "text") if name in names]
    assert rows_of(found.select(names).toArrow(), keys) == rows_of(wanted.select(names).toArrow(), keys)


def framed_table(spark, places: dict[str, str]) -> DataFrame:
    return wr.frames(spark.read.parquet(places["framed"]), SCHEME, on="t", by="g")


def test_a_stream_tags_a_stream_by_fragments_and_continues_after_a_stop(spark, places, tmp_path):
    first = {name: tmp_path / name for name in places}
    for name, folder in first.items():
        folder.mkdir()
        write(pq.read_table(Path(places[name]) / "part-0.parquet"), folder / "part-0.parquet", 0)

    def filled(flush: str | None = None, before: str | None = None) -> DataFrame:
        frames = wr.frames(stream(spark, str(first["framed"])), SCHEME, on="t", by="g", fragments=True)
        frames = wr.widen(frames, before=before)
        return wr.fill(frames, stream(spark, str(first["filling"])), on="t", by="g", flush=flush)

    run(filled(), tmp_path)
    for name, folder in first.items():
        for i in range(1, FILES):
            write(pq.read_table(Path(places[name]) / f"part-{i}.parquet"), folder / f"part-{i}.parquet", i)
    found, counts = run(filled(), tmp_path)
    wanted = wr.fill(framed_table(spark, places), spark.read.parquet(places["filling"]), on="t", by="g")
    assert found.columns == [*wanted.columns, "known_at"]
    checkpoint = str(tmp_path / "checkpoint")
    rest = filled(flush=checkpoint)
    assert found.count() > rest.count() > 0
    same(found.unionByName(rest), wanted)
    assert sum(batch["tuples"] for batch in counts) == 1_200
    assert all(batch["late"] == 0 and batch["dropped"] == 0 for batch in counts)

    stats = wr.buffer_stats(spark, checkpoint).toArrow().to_pylist()
    assert sum(row["held"] for row in stats) == counts[-1]["held"]
    assert all(row["held_mean"] <= row["held_max"] for row in stats)
    assert sum(row["frames"] for row in stats) > sum(batch["frames"] for batch in counts)
    assert all(row["at_frames_mean"] <= row["at_frames_max"] <= row["held_max"] for row in stats if row["frames"])
    with pytest.raises(wr.SourceError, match="was written with before=0, but this query uses before=5000000"):
        filled(flush=checkpoint, before="5 seconds").collect()
    # Both operators are in one checkpoint, and each is found.
    assert wr.open_frames(spark, checkpoint).columns == ["g", "frame", "start", "end", "count", "waiting"]
    with pytest.raises(
        wr.SpecError, match="flush: expected the checkpointLocation of the query that has ended, got True"
    ):
        filled(flush=True)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_stream_of_widened_frames_is_aggregated_over_a_stream(spark, places, tmp_path):
    moved: dict[str, Any] = {"before": "30 seconds", "after": "10 seconds"}

    def filled(flush: str | None = None) -> DataFrame:
        frames = wr.widen(wr.frames(stream(spark, places["framed"]), SCHEME, on="t", by="g"), **moved)
        return wr.fill(frames, stream(spark, places["filling"]), on="t", by="g", agg=AGG, flush=flush)

    found, _ = run(filled(), tmp_path)
    rest = filled(flush=str(tmp_path / "checkpoint"))
    widened = wr.widen(framed_table(spark, places), **moved)
    assert found.count() > 0
    same(found.unionByName(rest), wr.fill(widened, spark.read.parquet(places["filling"]), on="t", by="g", agg=AGG))


@pytest.mark.long
def test_a_table_of_frames_is_filled_from_a_stream(spark, places, tmp_path):
    frames = framed_table(spark, places)
    found, counts = run(wr.fill(frames, stream(spark, places["filling"]), on="t", by="g"), tmp_path / "tagged")
    # Nothing needs to be held: the frames are a table.
    assert [batch["held"] for batch in counts] == [0] * len(counts)
    same(found, wr.fill(frames, spark.read.parquet(places["filling"]), on="t", by="g"))
    filled = wr.fill(frames, stream(spark, places["filling"]), on="t", by="g", agg=AGG)
    found, _ = run(filled, tmp_path / "aggregated")
    flush = str(tmp_path / "aggregated" / "checkpoint")
    rest = wr.fill(frames, stream(spark, places["filling"]), on="t", by="g", agg=AGG, flush=flush)
    same(found.unionByName(rest), wr.fill(frames, spark.read.parquet(places["filling"]), on="t", by="g", agg=AGG))


def test_a_stream_of_frames_is_filled_from_a_table(spark, places, tmp_path):
    history = spark.read.parquet(places["filling"])

    def filled(flush: str | None = None) -> DataFrame:
        frames = wr.frames(stream(spark, places["framed"]), SCHEME, on="t", by="g", fragments=True)
        return wr.fill(frames, history, on="t", by="g", agg=AGG, order_by="text", flush=flush)

    found, counts = run(filled(), tmp_path)
    assert counts[0]["held"] == 1_800
    assert counts[-1]["held"] < 900, "what no frame can have any more is forgotten"
    rest = filled(flush=str(tmp_path / "checkpoint"))
    same(
        found.unionByName(rest),
        wr.fill(framed_table(spark, places), history, on="t", by="g", agg=AGG, order_by="text"),
    )


def test_frames_from_elsewhere_need_a_watermark_on_their_start(spark, places, tmp_path):
    frames = framed_table(spark, places).select("g", "frame", "start", "end").toArrow().sort_by("end")
    (tmp_path / "frames").mkdir()
    for i in range(FILES):
        share = -(-len(frames) // FILES)
        write(frames.slice(i * share, share), tmp_path / "frames" / f"part-{i}.parquet", i)
    elsewhere = spark.readStream.schema(spark.read.parquet(str(tmp_path / "frames")).schema)
    read = elsewhere.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "frames"))
    source = stream(spark, places["filling"])
    with pytest.raises(wr.SpecError, match=r"column 'start' has no watermark.*withWatermark\('start', '1 hour'\)"):
        wr.fill(read, source, on="t", by="g")
    delayed = read.withWatermark("start", "10 minutes")
    found, counts = run(wr.fill(delayed, source, on="t", by="g"), tmp_path / "run")
    assert sum(batch["late"] for batch in counts) == 0
    rest = wr.fill(delayed, source, on="t", by="g", flush=str(tmp_path / "run" / "checkpoint"))
    wanted = wr.fill(framed_table(spark, places), spark.read.parquet(places["filling"]), on="t", by="g")
    same(found.unionByName(rest), wanted)


def test_only_the_unmodified_result_of_frames_or_widen_carries_its_recipe(spark, places):
    frames = wr.frames(stream(spark, places["framed"]), SCHEME, on="t", by="g")
    recipe = FrameStream.of(frames)
    assert recipe is not None
    assert (recipe.plan.request.scheme, recipe.plan.request.by, recipe.before, recipe.after) == (SCHEME, ("g",), 0, 0)
    assert recipe.buckets == current_tuning().buckets
    once = wr.widen(frames, before="30 seconds", after="10 seconds")
    widened = FrameStream.of(wr.widen(once, before="1 second"))
    assert widened is not None
    assert (widened.plan, widened.before, widened.after) == (recipe.plan, 31 * SECOND, 10 * SECOND)
    for modified in (frames.where("count > 3"), once.select("*"), framed_table(spark, places)):
        assert FrameStream.of(modified) is None


def test_what_cannot_be_filled_in_a_stream_is_refused_before_it_starts(spark, places):
    rows = stream(spark, places["framed"])
    frames = wr.frames(rows, SCHEME, on="t", by="g")
    source = stream(spark, places["filling"])
    bare = spark.readStream.schema(spark.read.parquet(places["filling"]).schema).parquet(places["filling"])
    with pytest.raises(wr.SpecError, match="column 't' has no watermark"):
        wr.fill(frames, bare, on="t", by="g")
    for changed in (frames.unionAll(frames), frames.where("count > 3").withWatermark("start", "1 hour")):
        with pytest.raises(wr.UnsupportedError, match=r"computed from the result of wr\.frames or wr\.widen"):
            wr.fill(changed, source, on="t", by="g")
    with pytest.raises(
        wr.UnsupportedError, match=r"by: expected the columns by which the stream was framed, \['g'\], got \[\]"
    ):
        wr.fill(frames, source, on="t")
    ordered = wr.frames(bare, SCHEME, on="t", by="g", ordered=True)
    with pytest.raises(wr.UnsupportedError, match="framed with ordered=True, so no watermark shows when"):
        wr.fill(ordered, source, on="t", by="g")
    narrow = wr.frames(rows.withColumn("g", rows.g.cast("int")), SCHEME, on="t", by="g")
    with pytest.raises(wr.TypeMismatchError, match=r"column 'g' is of type int in the frames .* cast it to bigint"):
        wr.fill(narrow, source, on="t", by="g")
    empty = spark.createDataFrame([(1, 0, None, None)], "g long, frame long, start timestamp, end timestamp")
    with pytest.raises(wr.DataError, match=r"frames: column 'start' is null .*a frame needs its group, its number"):
        wr.fill(empty, source, on="t", by="g")
    with pytest.raises(wr.SpecError, match="checkpoint: expected the checkpointLocation of a query, got None"):
        wr.buffer_stats(spark, None)
    with pytest.raises(wr.SourceError, match=r"holds no state of windrow\.fill"):
        wr.fill(frames, source, on="t", by="g", flush="/nowhere/at/all")
    history, whole = spark.read.parquet(places["filling"]), framed_table(spark, places)
    with pytest.raises(wr.UnsupportedError, match="flush='x' is only for streams"):
        wr.fill(whole, history, on="t", by="g", flush="x")
