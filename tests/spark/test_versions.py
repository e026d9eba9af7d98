"""What must hold on every supported version of Spark; `make oldest` runs this file on the oldest one."""

from __future__ import annotations

import os
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as T

import windrow as wr
from cases import frame_locally, rows_of, table
from fuzz.schemes import QUERIES
from windrow.errors import SessionError
from windrow.spark import versions

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.usefixtures("few_buckets")]

SECOND = 1_000_000
FEW = {"n": wr.count(), "total": wr.sum("v"), "middle": wr.median("v")}


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return table(2_000, 8)


@pytest.fixture(scope="module")
def log(data, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("log")
    ordered = data.sort_by("t")
    for i in range(2):
        pq.write_table(ordered.slice(i * 1_000, 1_000), folder / f"part-{i}.parquet", row_group_size=250)
    return str(folder)


@pytest.mark.parametrize("plan", ["scan", "native", "shuffle", "ranges"])
def test_every_plan_finds_the_frames(spark, data, log, plan, tune):
    tune(fewest_rows_per_chunk=100, cores=4)
    if plan == "ranges":
        tune(by_ranges=True, sampled=1.0)
    scheme = QUERIES["threshold with minimums"]
    # A median has no exact equivalent in Spark SQL.
    agg = {name: FEW[name] for name in FEW if plan != "native" or name != "middle"}
    source = wr.parquet(spark, log)
    found = wr.frames(
        source if plan == "scan" else source.df, scheme, on="t", by="g", agg=agg,
        plan="shuffle" if plan == "ranges" else plan,
    )  # fmt: skip
    assert rows_of(found.toArrow(), ["g"]) == rows_of(frame_locally(data, scheme, "t", ["g"], agg), ["g"])


def test_windows_are_the_same_by_every_plan(spark, log):
    source = wr.parquet(spark, log)
    asked = {"on": "t", "by": "g", "agg": {"n": wr.count(), "middle": wr.median("v")}}
    found = []
    for plan in ("scan", "shuffle"):
        windows = wr.slide(source if plan == "scan" else source.df, wr.Sliding(20, every=5), **asked, plan=plan)
        found.append(sorted(tuple(row.values()) for row in windows.toArrow().to_pylist()))
    assert found[0] == found[1] != []


def test_sql_finds_the_frames_of_python(spark, log):
    wr.register_sql(spark)
    source = wr.parquet(spark, log)
    source.df.createOrReplaceTempView("versions_readings")
    call = "SELECT * FROM delta_frames(TABLE(versions_readings), on => 't', by => 'g', limits => map('x', 0.8))"
    wanted = wr.frames(source, QUERIES["delta"], on="t", by="g")
    assert rows_of(spark.sql(call).toArrow(), ["g"]) == rows_of(wanted.toArrow(), ["g"])


def test_a_stream_resumes_from_its_checkpoint(spark, data, tmp_path):
    t = pa.array(data["t"].to_numpy() * SECOND, pa.timestamp("us", "UTC"))
    rows = data.drop_columns("t").append_column("t", t).sort_by("t")
    folder = tmp_path / "in"
    folder.mkdir()
    scheme, asked = wr.Gap("2 seconds"), {"on": "t", "by": "g", "agg": {"total": wr.sum("v")}}
    for i in range(2):
        pq.write_table(rows.slice(i * 1_000, 1_000), folder / f"part-{i}.parquet")
        os.utime(folder / f"part-{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
        read = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
        frames = wr.frames(read.withWatermark("t", "10 seconds"), scheme, **asked)
        query = (
            frames.writeStream.format("parquet").option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
    assert wr.open_frames(spark, tmp_path / "checkpoint").count() > 0
    found = spark.read.parquet(str(tmp_path / "out"))
    rest = wr.frames(read.withWatermark("t", "10 seconds"), scheme, **asked, flush=str(tmp_path / "checkpoint"))
    names = ["g", "frame", "start", "end", "count", "total"]
    both = pa.concat_tables([part.select(*names).toArrow() for part in (found, rest)], promote_options="permissive")
    assert rows_of(both, ["g"]) == rows_of(frame_locally(rows, scheme, "t", ["g"], asked["agg"]).select(names), ["g"])


def test_a_timestamp_without_a_zone_stays_without_one(spark, tmp_path):
    at = [datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 2, 40)]
    pq.write_table(pa.table({"t": pa.array(at, pa.timestamp("us")), "x": [1.0, 2.0]}), tmp_path / "local.parquet")
    source = wr.parquet(spark, tmp_path / "local.parquet")
    for plan in ("scan", "native", "shuffle"):
        frames = wr.frames(source, wr.Gap("1 hour"), on="t", agg={"latest": wr.max("t")}, plan=plan)
        assert frames.schema["latest"].dataType == T.TimestampNTZType()
        assert [(row.start, row.end, row.latest) for row in frames.collect()] == [(at[0], at[1], at[1])]


def test_types_mean_the_same_in_spark_and_in_arrow():
    kinds = {T.TimestampType(): pa.timestamp("us", "UTC"), T.TimestampNTZType(): pa.timestamp("us")}
    for spark_type, arrow_type in kinds.items():
        assert versions.to_arrow_type(spark_type) == arrow_type
        assert versions.from_arrow_type(arrow_type) == spark_type
        schema = T.StructType([T.StructField("t", spark_type)])
        assert versions.from_arrow_schema(versions.to_arrow_schema(schema)) == schema


def test_what_needs_a_newer_spark_says_which():
    kind = type("SparkSession", (), {"version": "4.1.0", "createDataFrame": None, "read": None})
    with pytest.raises(SessionError, match=r"^this session runs Spark 4\.1\.0; redis_streams needs 4\.2 or newer$"):
        wr.register_redis(kind())
