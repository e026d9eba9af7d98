"""A query over a folder of files that goes on from its checkpoint wherever it was stopped: to be killed by a test.

python replay.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import windrow as wr

SCHEME = wr.Threshold("x > 0.5", min_count=3, min_duration="4 seconds", max_gap="60 seconds")
ASKED: dict[str, Any] = {
    "on": "t",
    "by": "g",
    "agg": {"total": wr.sum("v"), "average": wr.mean("x")},
    "fragments": True,
}


def source(spark: SparkSession, folder: Path) -> DataFrame:
    """The files, one a batch."""
    schema = spark.read.parquet(str(folder / "in")).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    return read.withWatermark("t", "40 seconds")


def main(folder: Path, master: str | None = None) -> None:
    """Run the query until the files are used up."""
    spark = SparkSession.builder.master(master).getOrCreate() if master else wr.session(cores=2)
    spark.sparkContext.setLogLevel("ERROR")
    query = (
        wr.frames(source(spark, folder), SCHEME, **ASKED).writeStream.format("parquet")
        .option("path", str(folder / "out")).option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
