"""Live alerts: report a hot period as soon as it has lasted 2 minutes, not when it is over.

Readings land in a folder as files, one per minute. With `fragments=True`, a frame is reported piece by piece: its first
piece (`fragment` 0) comes with the row that reaches the minimum, its last piece has `final` set.
"""

import tempfile
from datetime import datetime, timedelta

from pyspark.sql import DataFrame

import windrow as wr

SCHEMA = "boiler string, at timestamp, degrees double"
NIGHT = datetime(2026, 3, 2, 1)
DEGREES = {"east": [88, 92, 94, 96, 95, 87], "west": [85, 91, 89, 92, 93, 95]}


def alert(pieces: DataFrame, batch: int) -> None:
    """Print a line when a hot period begins to count, and one when it is over."""
    for piece in pieces.sort("boiler").collect():
        if piece.fragment == 0:
            print(f"{piece.end:%H:%M}  {piece.boiler} is hot: above 90 since {piece.start:%H:%M}")
        if piece.final:
            print(f"{piece.closed_at:%H:%M}  {piece.boiler} has cooled down; peak {piece.peak:.0f}")


def main() -> None:
    """Let the files land one by one and print the alerts."""
    spark = wr.session()
    with tempfile.TemporaryDirectory() as folder:
        readings = spark.readStream.schema(SCHEMA).json(f"{folder}/readings/*")
        hot = wr.frames(
            readings,
            wr.Threshold("degrees > 90", min_duration="2 minutes"),
            on="at",
            by="boiler",
            agg={"peak": wr.max("degrees")},
            fragments=True,
            ordered=True,  # readings arrive in order, so no watermark is needed
            buckets=2,
        )
        query = hot.writeStream.foreachBatch(alert).option("checkpointLocation", f"{folder}/state").start()
        for minute, degrees in enumerate(zip(*DEGREES.values(), strict=True)):
            at = NIGHT + timedelta(minutes=minute)
            rows = [(boiler, at, float(t)) for boiler, t in zip(DEGREES, degrees, strict=True)]
            spark.createDataFrame(rows, SCHEMA).coalesce(1).write.json(f"{folder}/readings/{minute}")
            query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    main()
