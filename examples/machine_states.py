"""Machine states: how long was each press running or in fault?

A controller reports a state every minute. `wr.Change` starts a new frame whenever the state changes. `ignore` leaves
out reports without a state, so that they end no frame; `max_gap` ends a frame where the controller went silent.
"""

from datetime import datetime, timedelta

from pyspark.sql import functions as F

import windrow as wr

STATES = {"i": "idle", "r": "running", "f": "fault", "?": "unknown"}
SHIFT = datetime(2026, 3, 2, 6)
REPORTS = {
    "press 1": "i i r r ? r r f f i r r r r",
    "press 2": "r r r r r . . . . r r i i i",  # a dot is a minute without a report
}


def main() -> None:
    """Print one row per state, then the reports of each press in each state."""
    spark = wr.session()
    reports = spark.createDataFrame(
        [
            (press, SHIFT + timedelta(minutes=minute), STATES[code])
            for press, codes in REPORTS.items()
            for minute, code in enumerate(codes.split())
            if code != "."
        ],
        "press string, at timestamp, state string",
    )

    frames = wr.frames(reports, wr.Change("state", ignore="unknown", max_gap="2 minutes"), on="at", by="press")
    states = frames.select(
        "press",
        "state",
        F.date_format("start", "HH:mm").alias("from"),
        F.date_format("end", "HH:mm").alias("to"),
        F.col("count").alias("reports"),
    )
    states.sort("press", "from").show()
    states.groupBy("press").pivot("state").sum("reports").fillna(0).sort("press").show()


if __name__ == "__main__":
    main()
