"""Hot periods and their alarms: which alarms came in while a boiler was too hot, or shortly before?

A hot period is at least 3 minutes above 90 degrees. `wr.fill` puts the rows of another table into these frames, and
`wr.widen` moves the start of each frame back, to include the alarms that came first.
"""

from datetime import datetime, timedelta

from pyspark.sql import functions as F

import windrow as wr

NIGHT = datetime(2026, 3, 2, 1)
DEGREES = {
    "east": [84, 88, 91, 93, 96, 95, 92, 87, 85, 91, 86, 84],
    "west": [80, 81, 83, 82, 91, 94, 97, 99, 96, 94, 89, 85],
}
ALARMS = [("east", 3, "pressure"), ("east", 9, "level"), ("west", 2, "pump"), ("west", 6, "pressure")]


def at(minute: int) -> datetime:
    """Return the time of a minute of the night."""
    return NIGHT + timedelta(minutes=minute)


def main() -> None:
    """Print the alarms during hot periods, then every hot period with the number of its alarms."""
    spark = wr.session()
    readings = spark.createDataFrame(
        [(boiler, at(minute), float(t)) for boiler, row in DEGREES.items() for minute, t in enumerate(row)],
        "boiler string, at timestamp, degrees double",
    )
    alarms = spark.createDataFrame(
        [(boiler, at(minute), what) for boiler, minute, what in ALARMS], "boiler string, raised timestamp, alarm string"
    )
    hot = wr.frames(
        readings,
        wr.Threshold("degrees > 90", min_duration="3 minutes"),
        on="at",
        by="boiler",
        agg={"peak": wr.max("degrees")},
    )
    during = wr.fill(hot, alarms, on="raised", by="boiler")
    during.withColumn("raised", F.date_format("raised", "HH:mm")).sort("boiler", "raised").show()

    wider = wr.widen(hot, before="5 minutes")
    counted = wr.fill(wider, alarms, on="raised", by="boiler", agg={"alarms": wr.count()})
    counted.select(
        "boiler",
        F.date_format("start", "HH:mm").alias("from"),
        F.date_format("end", "HH:mm").alias("to"),
        "peak",
        "alarms",
    ).sort("boiler").show()


if __name__ == "__main__":
    main()
