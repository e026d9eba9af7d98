"""Settings for Spark sessions that last no longer than some tests, on small data."""

from __future__ import annotations

SETTINGS = {
    # Every partition of a stream costs a state store and a round trip to Python in each batch.
    "spark.sql.shuffle.partitions": "2",
    # Spark's default for local files runs a process, `readlink`, several times per file of a checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
