"""Rolling p99: the 99th percentile of response times over the last 5 minutes, every minute.

Frames let the data set the bounds of a window. Where the clock should set them, use `wr.slide`. Windows overlap, but no
row is stored once per window: the planner chooses how to store them, and `wr.explain` shows its choice.
"""

import random
from datetime import datetime, timedelta

from pyspark.sql import functions as F

import windrow as wr

NOON = datetime(2026, 3, 2, 12)
REQUESTS = 6_600  # 10 per second
SLOW = range(240, 300)  # the seconds in which the database was slow


def main() -> None:
    """Print one row per window."""
    spark = wr.session()
    draw = random.Random(7)
    requests = []
    for number in range(REQUESTS):
        second = number / 10
        typical = 400.0 if int(second) in SLOW and draw.random() < 0.1 else 40.0
        requests.append((NOON + timedelta(seconds=second), round(typical * draw.lognormvariate(0, 0.3), 1)))
    responses = spark.createDataFrame(requests, "at timestamp, ms double")

    windows = wr.Sliding("5 minutes", every="1 minute")
    agg = {"n": wr.count(), "p50": wr.quantile("ms", 0.5), "p99": wr.quantile("ms", 0.99)}
    rolling = wr.slide(responses, windows, on="at", agg=agg)
    rolling.where("complete").select(
        F.date_format("start", "HH:mm").alias("from"), F.date_format("end", "HH:mm").alias("to"), *agg
    ).sort("from").show()


if __name__ == "__main__":
    main()
