"""Live alerts: report a hot period as soon as it has lasted 2 minutes, not when it is over.

Readings land in a folder as files, one per minute. With `fragments=True`, a frame is reported piece by piece: its first
piece (`fragment` 0) comes with the row that reaches the minimum, its last piece has `final` set.
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame

import windrow as wr

DEGREES = {"east": [92, 94, 96, 95, 87], "west": [91, 89, 92, 93, 95]}


def alert(pieces: DataFrame, batch: int) -> None:
    """Print a line when a period has become hot, and one when it is over."""
    for piece in pieces.sort("boiler").collect():
        if piece.fragment == 0:
            print(f"{piece.end:%H:%M}  {piece.boiler} is hot: above 90 since {piece.start:%H:%M}")
        if piece.final:
            print(f"{piece.closed_at:%H:%M}  {piece.boiler} has cooled down; peak {piece.peak:.0f}")


def land(folder: Path, minute: int) -> None:
    """Write the readings of a minute; the file gets its name once it is complete."""
    rows = [
        {"boiler": name, "at": f"2026-03-02 01:{minute:02}:00", "degrees": row[minute]} for name, row in DEGREES.items()
    ]
    new = folder / f".{minute}.json"
    new.write_text("\n".join(map(json.dumps, rows)))
    new.rename(folder / f"{minute}.json")


def main() -> None:
    """Let the files land one by one and print the alerts."""
    spark = wr.session()
    with tempfile.TemporaryDirectory() as folder:
        landing, checkpoint = Path(folder, "readings"), Path(folder, "checkpoint")
        landing.mkdir()
        hot = wr.frames(
            spark.readStream.schema("boiler string, at timestamp, degrees double").json(str(landing)),
            wr.Threshold("degrees > 90", min_duration="2 minutes"),
            on="at",
            by="boiler",
            agg={"peak": wr.max("degrees")},
            fragments=True,
            ordered=True,  # readings arrive in order, so no watermark is needed
            buckets=2,
        )
        query = hot.writeStream.foreachBatch(alert).option("checkpointLocation", str(checkpoint)).start()
        for minute in range(5):
            land(landing, minute)
            query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    main()
