"""Latency: from the arrival of the row that ends a frame to the frame in the sink, at a steady rate.

Spark's rate source stamps a row when it creates it, which is when it arrives. The floor is the same stream passed on
without any state: the inherent cost of Spark's micro-batches.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow.tuning import tuned

RATE = 20_000
GROUPS = 1_000
WARM_UP = 12.0
"""Seconds in which workers start and kernels load; they do not count."""


def source(spark: SparkSession) -> DataFrame:
    """Return rows at a steady rate; one in five rows of each group is a miss, so that frames end all the time."""
    read = spark.readStream.format("rate").option("rowsPerSecond", RATE).option("numPartitions", 2).load()
    turn = F.floor(F.col("value") / GROUPS)
    return read.select((F.col("value") % GROUPS).alias("g"), F.col("timestamp").alias("ts"), (turn % 5).alias("x"))


def handed_on(spark: SparkSession) -> DataFrame:
    """Return the floor: the stream passed on."""
    return source(spark).where("x = 0").select(F.col("ts").alias("arrived"))


def watermarked(spark: SparkSession) -> DataFrame:
    """Return frames in the order of the watermark, which follows the newest row as closely as possible."""
    stream = source(spark).withWatermark("ts", "0 seconds")
    return wr.frames(stream, wr.Threshold("x > 0"), on="ts", by="g").select(F.col("closed_at").alias("arrived"))


def ordered(spark: SparkSession) -> DataFrame:
    """Return frames as rows arrive."""
    frames = wr.frames(source(spark), wr.Threshold("x > 0"), on="ts", by="g", ordered=True)
    return frames.select(F.col("closed_at").alias("arrived"))


BEFORE = {
    "spark.sql.streaming.internal.stateStore.partitions": "4",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "true",
}
"""The settings of version 0.1 on 2 cores, with 32 buckets."""
OLD = ", settings of 0.1"
"""Ends the name of a query that runs with them."""


@contextmanager
def as_before(spark: SparkSession) -> Iterator[None]:
    """Change the settings of the session to those of version 0.1 for a while."""
    now = {key: spark.conf.get(key, None) for key in BEFORE}
    for key, value in BEFORE.items():
        spark.conf.set(key, value)
    try:
        with tuned(buckets=32):
            yield
    finally:
        for key, value in now.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


COMPETITORS = {
    "handed on, no state": handed_on,
    "Windrow, ordered=True": ordered,
    "Windrow, watermark of 0 s": watermarked,
}


def measure(spark: SparkSession, name: str, seconds: float) -> tuple[float, float, int, float]:
    """Return the median and 99th percentile of the latency, the number of measurements, and the rows per second."""
    latencies: list[np.ndarray] = []
    begin = time.time()

    def see(batch: DataFrame, number: int) -> None:
        arrived = batch.select(F.unix_micros("arrived").alias("at")).toArrow()["at"].to_numpy() / 1e6
        now = time.time()
        if now - begin > WARM_UP:
            latencies.append(now - arrived)

    with as_before(spark) if name.endswith(OLD) else nullcontext():
        stream = COMPETITORS[name.removesuffix(OLD)](spark)
        query = stream.writeStream.foreachBatch(see).option("checkpointLocation", tempfile.mkdtemp()).start()
    time.sleep(WARM_UP + seconds)
    rates = [p["processedRowsPerSecond"] and p["inputRowsPerSecond"] for p in query.recentProgress[-10:]]
    query.stop()
    measured = np.concatenate(latencies)
    median, high = np.percentile(measured, [50, 99])
    return float(median), float(high), measured.size, float(np.median(rates))
