"""Write Spark's classes, as Java loads them for a table and a stream, to the archive that is given as argument.

Java maps the archive into memory instead of loading and verifying 20,000 classes, which takes a core seven seconds per
process. `conftest.py` passes it to the Spark sessions of all tests.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import windrow as wr


def main(archive: str) -> None:
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={archive} -XX:TieredStopAtLevel=1 -Xlog:disable"
    spark = wr.session()
    rows = spark.range(10_000).selectExpr("id % 7 AS sensor", "id AS t", "rand(1) AS x")
    scheme = wr.Threshold("x > 0.5", min_count=2)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows")
        rows.write.parquet(path)
        query = {"on": "t", "by": "sensor", "agg": {"mean": wr.mean("x")}}
        wr.frames(wr.parquet(spark, path), scheme, **query).toArrow()
        wr.frames(rows, scheme, **query).toArrow()
        stream = spark.readStream.schema(rows.schema).parquet(path)
        frames = wr.frames(stream, scheme, **query, ordered=True).writeStream.trigger(availableNow=True)
        frames.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/frames").awaitTermination()
        spark.read.parquet(f"{folder}/frames").collect()
    gateway = spark.sparkContext._gateway
    spark.stop()
    # Java ends when its standard input does, and writes the archive then.
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main(sys.argv[1])
