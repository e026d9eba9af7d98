"""Queries from Redis streams and into them."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

import windrow as wr
from cases import frame_locally, rows_of, table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

EVERY_TYPE = {
    "text": ["plain", "naïve ✓"],
    "data": [b"\x00\xff", b""],
    "tiny": pa.array([-128, 127], pa.int8()),
    "small": pa.array([-(2**15), 2**15 - 1], pa.int16()),
    "whole": pa.array([-(2**31), 2**31 - 1], pa.int32()),
    "long": [-(2**63), 2**63 - 1],
    "single": pa.array([0.1, float("inf")], pa.float32()),
    "double": [0.1, 1e-300],
    "exact": [Decimal("-12345678901234567890.123456789"), Decimal("0.000000001")],
    "truth": [True, False],
    "day": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "at": [datetime.datetime(1960, 1, 1, 0, 0, 0, 1, datetime.UTC), datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)],
    "local": [datetime.datetime(1960, 1, 1, 0, 0, 0, 1), datetime.datetime(2026, 3, 2)],
}


@pytest.fixture
def redis_spark(spark):
    wr.register_redis(spark)
    return spark


@pytest.fixture
def reading(redis_spark, store, redis_url):
    """Makes readers, of streams or tables, with a schema and options."""

    def make(schema, stream="readings", how="readStream", **options):
        read = getattr(redis_spark, how).format("redis_streams")
        options = {"url": redis_url, "stream": stream} | options
        return read.options(**options) if schema is None else read.schema(schema).options(**options)

    return make


@pytest.fixture
def copying(redis_url, tmp_path):
    """Runs a query into the stream `copy` until its source is used up, and gives its progress."""

    def run(df, mode="append", **options):
        options = {"url": redis_url, "stream": "copy", "checkpointLocation": str(tmp_path / "checkpoint")} | options
        write = df.writeStream.format("redis_streams").options(**options).outputMode(mode)
        query = write.trigger(availableNow=True).start()
        query.awaitTermination()
        return query.recentProgress

    return run


def test_every_type_comes_back_as_it_went(redis_spark, reading, copying, tmp_path):
    given = pa.table({name: pa.array(values) for name, values in EVERY_TYPE.items()})
    given = pa.concat_tables([given, pa.table([pa.nulls(1, kind) for kind in given.schema.types], given.schema)])
    given = given.append_column("row", pa.array([0, 1, 2]))
    (tmp_path / "in").mkdir()
    pq.write_table(given, tmp_path / "in" / "all.parquet")
    table = redis_spark.read.parquet(str(tmp_path / "in"))
    copying(redis_spark.readStream.schema(table.schema).parquet(str(tmp_path / "in")))
    back = reading(table.schema, "copy", "read").load()
    assert back.schema == table.schema
    assert back.sort("row").toArrow().to_pylist() == table.sort("row").toArrow().to_pylist()


def test_a_query_goes_on_where_it_stopped(store, reading, copying):
    def copied():
        return [int(fields["n"]) for _, fields in store.xrange("copy")]

    for n in range(1, 6):
        store.xadd("readings", {"n": n})
    numbers = reading("n long", maxEntriesPerTrigger=2, entriesPerPartition=1)
    batches = [progress["numInputRows"] for progress in copying(numbers.load()) if progress["numInputRows"]]
    assert batches == [2, 2, 1]
    assert copied() == [1, 2, 3, 4, 5]
    copying(numbers.load())
    assert copied() == [1, 2, 3, 4, 5]
    for n in range(6, 9):
        store.xadd("readings", {"n": n})
    copying(numbers.load())
    assert copied() == list(range(1, 9))


def test_frames_of_a_redis_stream_are_those_of_the_table(store, reading, tmp_path):
    data = table(1_500, 8).select(["g", "t", "x", "v"])
    data = data.set_column(1, "t", pa.array(data["t"].to_numpy() * 1_000_000, pa.timestamp("us", "UTC")))
    half = np.arange(data.num_rows) % 2 == 0
    with store.pipeline() as pipe:
        for stream, rows in (("north", data.filter(half)), ("south", data.filter(~half))):
            for row in rows.sort_by("t").to_pylist():
                row["t"] = int(row["t"].timestamp())
                pipe.xadd(stream, {name: value for name, value in row.items() if value is not None})
        pipe.execute()
    source = reading("g long, t timestamp, x double, v long", "north,south", epoch="seconds", entriesPerPartition=200)
    tuples = source.load().withWatermark("t", "1 day")
    asked = dict(on="t", by="g", agg={"total": wr.sum("v")})
    scheme, checkpoint = wr.Delta({"x": 0.8}), str(tmp_path / "checkpoint")
    query = wr.frames(tuples, scheme, **asked).writeStream.format("memory").queryName("redis_frames")
    query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    rest = wr.frames(tuples, scheme, **asked, flush=checkpoint)
    wanted = frame_locally(data, scheme, "t", ["g"], asked["agg"])
    found = rest.sparkSession.table("redis_frames").unionByName(rest).select(wanted.column_names).toArrow()
    assert rows_of(found, ["g"]) == rows_of(wanted, ["g"])


def test_a_wrong_option_ends_the_query_before_its_first_batch(reading, copying):
    with pytest.raises(
        StreamingQueryException, match="SpecError: redis_streams has no option 'strem'; available options:"
    ):
        copying(reading("n long", strem="a").load())


def test_a_source_without_a_schema_is_refused_when_it_is_named(reading):
    with pytest.raises(AnalysisException, match="SpecError: schema: the fields of a Redis stream have no fixed types"):
        reading(None).load()


def test_a_value_that_cannot_be_read_ends_the_query_with_a_sentence(store, reading, copying):
    store.xadd("readings", {"n": "many"}, id="1-0")
    with pytest.raises(
        StreamingQueryException,
        match=r"stream 'readings', entry 1-0: column 'n': expected an integer from .*, got 'many'",
    ):
        copying(reading("n int").load())


def test_a_wrong_sink_ends_the_query_before_anything_is_written(store, reading, copying):
    store.xadd("readings", {"n": 1})
    with pytest.raises(StreamingQueryException, match="stream: expected one stream to write to, got copy, other"):
        copying(reading("n long").load(), stream="copy,other")
    assert not store.exists("copy", "other")


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [("complete", "redis_streams supports only 'append'"), ("update", "does not support Update mode")],
)
def test_a_sink_takes_append_only(store, reading, copying, mode, sentence):
    store.xadd("readings", {"n": 1})
    counted = reading("n long").load().groupBy("n").count()
    with pytest.raises(StreamingQueryException, match=sentence):
        copying(counted, mode)
    assert not store.exists("copy")
