"""Machine states: how long was each press running, idle or in fault?

A controller reports a state code every minute. `wr.Boundary` starts a new frame whenever the code changes: with a width
of 1, each integer is a cell of its own. `max_gap` also ends a frame where the controller went silent.
"""

from datetime import datetime, timedelta

from pyspark.sql import functions as F

import windrow as wr

STATES = {0: "idle", 1: "running", 2: "fault"}
SHIFT = datetime(2026, 3, 2, 6)
REPORTS = {
    "press 1": "0 0 1 1 1 1 1 2 2 0 1 1 1 1",
    "press 2": "1 1 1 1 1 . . . . 1 1 0 0 0",  # a dot is a minute without a report
}


def main() -> None:
    """Print one row per state, then the minutes that each press spent in each state."""
    spark = wr.session()
    reports = spark.createDataFrame(
        [
            (press, SHIFT + timedelta(minutes=minute), int(code))
            for press, codes in REPORTS.items()
            for minute, code in enumerate(codes.split())
            if code != "."
        ],
        "press string, at timestamp, code int",
    )
    names = spark.createDataFrame(list(STATES.items()), "cell_code bigint, state string")

    frames = wr.frames(reports, wr.Boundary({"code": 1.0}, max_gap="2 minutes"), on="at", by="press")
    states = frames.join(names, "cell_code").select(
        "press",
        "state",
        F.date_format("start", "HH:mm").alias("from"),
        F.date_format("end", "HH:mm").alias("to"),
        F.col("count").alias("reports"),
    )
    states.sort("press", "from").show()
    minutes = states.groupBy("press").pivot("state", list(STATES.values())).sum("reports")
    minutes.fillna(0).sort("press").show()


if __name__ == "__main__":
    main()
