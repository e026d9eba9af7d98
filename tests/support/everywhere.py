"""Runs every plan on a session other than that of the tests, and exits with 0 if all find the frames.

python everywhere.py FOLDER connect
python everywhere.py FOLDER spark://127.0.0.1:PORT
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from cases import AGGREGATES, frame_locally, rows_of, table
from fuzz.schemes import QUERIES
from windrow.tuning import tuned


def session(where: str) -> SparkSession:
    if where == "connect":
        return SparkSession.builder.remote("local[2]").getOrCreate()
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master(where).appName("everywhere")
    for key, value in {**settings, "spark.executor.memory": "1g"}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main(folder: Path, where: str) -> None:
    spark = session(where)
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    data = table(6_000, 20)
    ordered = data.sort_by("t")
    (folder / "log").mkdir()
    for i in range(3):
        pq.write_table(ordered.slice(i * 2000, 2000), folder / "log" / f"part-{i}.parquet", row_group_size=500)
    source = wr.parquet(spark, str(folder / "log"))
    with tuned(fewest_rows_per_chunk=100, cores=4, sampled=1.0):
        check_plans(source, data)
        check_fill(spark, source)
        check_slide(source)
        check_sql(spark, source)
        check_stream(spark, folder)
    spark.stop()


def check_plans(source: wr.ParquetSource, data: pa.Table) -> None:
    """Every plan finds the frames that the kernel finds in one process."""
    for name in ("threshold with minimums", "custom"):
        wanted = rows_of(frame_locally(data, QUERIES[name], "t", ["g"], AGGREGATES), ["g"])
        for plan in ("scan", "native", "shuffle", "ranges"):
            if plan == "native" and not QUERIES[name].is_run:
                continue
            with tuned(by_ranges=plan == "ranges"):
                frames = wr.frames(
                    source if plan == "scan" else source.df, QUERIES[name], on="t", by="g", agg=AGGREGATES,
                    plan="shuffle" if plan == "ranges" else plan,
                )  # fmt: skip
            assert rows_of(frames.toArrow(), ["g"]) == wanted, (name, plan)
            print(f"{name}: {plan} ok", flush=True)


def check_fill(spark: SparkSession, source: wr.ParquetSource) -> None:
    """Frames filled from the table they were found in contain as many rows as they count."""
    frames = wr.frames(source, QUERIES["gap"], on="t", by="g")
    filled = wr.fill(frames, source.df, on="t", by="g", agg={"n": wr.count()}).toArrow()
    assert filled.num_rows > 0
    assert filled["n"].to_pylist() == filled["count"].to_pylist()
    print("fill ok", flush=True)


def check_slide(source: wr.ParquetSource) -> None:
    """Windows are the same by every plan."""
    options = {"on": "t", "by": "g", "agg": {"n": wr.count(), "total": wr.sum("v")}}
    results = []
    for plan in ("scan", "native", "shuffle"):
        windows = wr.slide(source if plan == "scan" else source.df, wr.Sliding(20, every=5), **options, plan=plan)
        results.append(sorted(tuple(row.values()) for row in windows.toArrow().to_pylist()))
    assert len(results[0]) > 100
    assert results[0] == results[1] == results[2]
    print("slide ok", flush=True)


def check_stream(spark: SparkSession, folder: Path) -> None:
    """A stream of frames, filled from the stream it was found in, contains as many rows as it counts."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    log = str(folder / "log")
    schema = spark.read.parquet(log).schema

    def stream() -> DataFrame:
        read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(log)
        return read.withColumn("t", F.timestamp_seconds("t")).withWatermark("t", "1 second")

    frames = wr.frames(stream(), wr.Gap("2 seconds"), on="t", by="g", fragments=True, buckets=4)
    filled = wr.fill(frames, stream(), on="t", by="g", agg={"n": wr.count()})
    query = (
        filled.writeStream.format("parquet").option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    written = spark.read.parquet(str(folder / "out")).select("g", "frame", "count", "n").toArrow()
    assert written.num_rows > 100
    assert written["n"].to_pylist() == written["count"].to_pylist()
    assert len(set(zip(written["g"].to_pylist(), written["frame"].to_pylist(), strict=True))) == written.num_rows
    print("stream ok", flush=True)


def check_sql(spark: SparkSession, source: wr.ParquetSource) -> None:
    """The table functions run on the session's workers, and what is wrong is said in one sentence."""
    wr.register_sql(spark)
    source.df.createOrReplaceTempView("readings")
    call = "SELECT * FROM delta_frames(TABLE(readings), on => 't', by => '{}', limits => map('x', 0.8))"
    wanted = wr.frames(source, QUERIES["delta"], on="t", by="g")
    assert rows_of(spark.sql(call.format("g")).toArrow(), ["g"]) == rows_of(wanted.toArrow(), ["g"])
    with pytest.raises(AnalysisException) as caught:
        _ = spark.sql(call.format("lane")).schema
    assert "by: no column named 'lane'; available columns: 'g', 't', 'x', " in str(caught.value)
    assert "Traceback" not in str(caught.value)
    print("sql ok", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
