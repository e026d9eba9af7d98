"""A query from one Redis stream to another that resumes from its checkpoint wherever it was stopped: to be killed.

python redis_replay.py CHECKPOINT URL
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

import windrow as wr
from replay import QUERY, SCHEME
from short_session import SETTINGS

COLUMNS = "g long, t timestamp, x double, v long"
PER_BATCH = 300


def source(spark: SparkSession, url: str) -> DataFrame:
    """Read the entries as a stream, `PER_BATCH` per batch."""
    wr.register_redis(spark)
    read = spark.readStream.format("redis_streams").schema(COLUMNS).option("url", url).option("stream", "readings")
    read = read.option("maxEntriesPerTrigger", PER_BATCH).option("entriesPerPartition", PER_BATCH // 2)
    return read.load().withWatermark("t", "40 seconds")


def frames(spark: SparkSession, checkpoint: str, url: str) -> DataStreamWriter:
    """Return the query, ready to be started."""
    write = wr.frames(source(spark, url), SCHEME, **QUERY, buckets=4).writeStream.format("redis_streams")
    return write.option("url", url).option("stream", "frames").option("checkpointLocation", checkpoint)


def main(checkpoint: str, url: str) -> None:
    """Run the query until it is killed."""
    spark = wr.session(cores=2, config=SETTINGS)
    spark.sparkContext.setLogLevel("ERROR")
    query = frames(spark, checkpoint, url).start()
    print("started", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
