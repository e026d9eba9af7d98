"""Bounded replays of streams, for tests that look at what a stream leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame


def replayed(stream: DataFrame, folder: Path) -> tuple[DataFrame, list[Any]]:
    """Run a stream over all there is; return what it wrote, and its progress."""
    out = folder / "out"
    query = (
        stream.writeStream.format("parquet").option("path", str(out))
        .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    return stream.sparkSession.read.schema(stream.schema).parquet(str(out)), query.recentProgress


def finished(stream: DataFrame, folder: Path) -> DataFrame:
    """Run a stream over all there is and return what it wrote."""
    return replayed(stream, folder)[0]
