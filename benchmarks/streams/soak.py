"""Run a stream at full speed for minutes and check that memory, state and batch time stay flat.

    python -m benchmarks.streams.soak                 10 minutes, 10,000 groups
    python -m benchmarks.streams.soak --minutes 2

Each batch has 200,000 rows, 20 per group; the next starts when the previous one is done. The first third is warm-up;
then the last third is compared with the middle one.
"""

import argparse
import statistics
import sys
import tempfile
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from benchmarks.bench import let_workers_import
from benchmarks.frames.alone import Watch

ROWS = 200_000


def source(spark: SparkSession, groups: int) -> DataFrame:
    """Return an endless stream: every group once per second, with `x` a slow wave with its own phase and some noise."""
    read = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2)
    read = (
        read.option("startTimestamp", 1_700_000_000_000).option("advanceMillisPerBatch", 1000 * ROWS // groups).load()
    )
    second = F.floor(F.col("value") / groups)
    noise = F.pmod(F.hash("value"), F.lit(1000)) / 1000
    rows = read.select(
        (F.col("value") % groups).cast("int").alias("g"),
        F.timestamp_millis(1_700_000_000_000 + 1000 * second).alias("ts"),
        (F.sin(second / 40 + F.col("value") % groups) + noise).alias("x"),
    )
    return rows.withWatermark("ts", "5 seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--groups", type=int, default=10_000)
    options = parser.parse_args()
    let_workers_import()
    spark = wr.session()
    spark.sparkContext.setLogLevel("ERROR")
    frames = wr.frames(
        source(spark, options.groups), wr.Threshold("x > 0.5", min_count=5), on="ts", by="g",
        agg={"mean": wr.mean("x"), "top": wr.max("x")}, fragments=True,
    )  # fmt: skip
    checkpoint = tempfile.mkdtemp()
    query = frames.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    seen = watch(query, 60 * options.minutes)
    query.stop()
    report(seen)
    spark.stop()


def watch(query: Any, seconds: float) -> list[dict[str, float]]:
    """Return the time of each batch, and the sizes of the processes and the state after it."""
    sizes = Watch()
    seen: list[dict[str, float]] = []
    begin = time.monotonic()
    last = -1
    while time.monotonic() - begin < seconds and query.isActive:
        time.sleep(0.5)
        progress = query.lastProgress
        if not progress or progress["batchId"] == last:
            continue
        last = progress["batchId"]
        now = list(sizes.sizes())
        state = progress["stateOperators"][0]
        seen.append(
            {
                "second": time.monotonic() - begin,
                "batch": progress["durationMs"]["triggerExecution"] / 1000,
                "workers_mb": sum(size for name, size in now if "java" not in name) / 2**20,
                "jvm_mb": sum(size for name, size in now if "java" in name) / 2**20,
                "state_rows": state["numRowsTotal"],
                "state_mb": state["customMetrics"].get("rocksdbSstFileSize", 0) / 2**20,
                "rows": progress["numInputRows"],
            }
        )
        print(f"\r  batch {last}, {seen[-1]['batch']:.2f} s", end="", file=sys.stderr, flush=True)
    if query.exception():
        sys.exit(str(query.exception()))
    return seen


def report(seen: list[dict[str, float]]) -> None:
    third = len(seen) // 3
    if not third:
        sys.exit("too short a time: fewer than three batches")
    middle, end = seen[third : 2 * third], seen[2 * third :]
    print(f"\n{len(seen)} batches, {sum(row['rows'] for row in seen):,} rows in {seen[-1]['second']:.0f} s")
    print(f"{'median of':20}{'middle third':>14}{'last third':>14}{'ratio':>8}")
    for name in ("batch", "workers_mb", "jvm_mb", "state_rows", "state_mb"):
        a, b = (statistics.median(row[name] for row in part) for part in (middle, end))
        print(f"{name:20}{a:14,.2f}{b:14,.2f}{b / a if a else float('nan'):8.2f}")


if __name__ == "__main__":
    main()
