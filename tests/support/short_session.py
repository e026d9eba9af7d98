"""Settings for Spark sessions that last no longer than some tests, on small data."""

from __future__ import annotations

from windrow.spark.sessions import THROUGHPUT

SETTINGS = {
    # Java's second compiler takes longer than it saves.
    "spark.driver.extraJavaOptions": f"{THROUGHPUT} -XX:TieredStopAtLevel=1",
    # Every partition of a stream costs a state store and a round trip to Python in each batch.
    "spark.sql.shuffle.partitions": "2",
}
