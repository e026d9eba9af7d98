"""Sessions: group the clicks of each user into visits that end after 30 minutes of silence.

Clicks that are exactly 30 minutes apart still belong to one visit. A visit can last for hours: only silence ends it.
"""

from datetime import datetime, timedelta

from pyspark.sql import functions as F

import windrow as wr

MORNING = datetime(2026, 3, 2, 8)
CLICKS = {  # minutes after 08:00, and the amount that was spent, if any
    "ada": [(0, None), (2, None), (9, 30.0), (39, None), (75, None), (76, 12.5)],
    "bo": [(5, None), (6, None), (100, 8.0)],
}


def main() -> None:
    """Print one row per visit."""
    spark = wr.session()
    clicks = spark.createDataFrame(
        [
            (user, MORNING + timedelta(minutes=minute), amount)
            for user, visits in CLICKS.items()
            for minute, amount in visits
        ],
        "user string, at timestamp, amount double",
    )
    visits = wr.frames(
        clicks,
        wr.Gap("30 minutes"),
        on="at",
        by="user",
        agg={"orders": wr.count("amount"), "spent": wr.sum("amount")},
    )
    visits.select(
        "user",
        F.col("frame").alias("visit"),
        F.date_format("start", "HH:mm").alias("from"),
        F.date_format("end", "HH:mm").alias("to"),
        F.col("count").alias("clicks"),
        "orders",
        F.coalesce("spent", F.lit(0.0)).alias("spent"),
    ).sort("user", "visit").show()


if __name__ == "__main__":
    main()
