"""A query over a folder of files that resumes from its checkpoint wherever it was stopped: to be killed by a test.

python replay.py FOLDER [MASTER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import windrow as wr
from short_session import SETTINGS

SCHEME = wr.Threshold("x > 0.5", min_count=3, min_duration="4 seconds", max_gap="60 seconds")
QUERY: dict[str, Any] = {
    "on": "t",
    "by": "g",
    "agg": {"total": wr.sum("v"), "average": wr.mean("x")},
    "fragments": True,
}


def source(spark: SparkSession, folder: Path) -> DataFrame:
    """Read the files as a stream, one per batch."""
    schema = spark.read.parquet(str(folder / "in")).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    return read.withWatermark("t", "40 seconds")


def on_cluster(master: str) -> SparkSession:
    """Return a session on a cluster, with the settings that a stream needs."""
    settings = {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "1g",
    }
    builder = SparkSession.builder.master(master).appName("replay")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def started(spark: SparkSession, folder: Path) -> StreamingQuery:
    """Start the query, which ends when the files are used up."""
    return (
        wr.frames(source(spark, folder), SCHEME, **QUERY).writeStream.format("parquet")
        .option("path", str(folder / "out")).option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip


def main(folder: Path, master: str | None = None) -> None:
    """Run the query until the files are used up."""
    spark = on_cluster(master) if master else wr.session(cores=2, config=SETTINGS)
    spark.sparkContext.setLogLevel("ERROR")
    query = started(spark, folder)
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
