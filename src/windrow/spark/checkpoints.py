"""`open_frames` and `buffer_stats`: inspect the state in a query's checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from windrow.errors import SourceError
from windrow.filling.codec import saved_stats
from windrow.framing.snapshot import Snapshot
from windrow.spark.streams.saved import (
    FILLING,
    FRAMING,
    FROM_TABLE,
    buckets_of,
    parts_of,
)
from windrow.spark.versions import from_arrow_schema

_BUFFERS = pa.schema(
    [
        ("bucket", pa.int32()), ("held", pa.int64()), ("open", pa.int64()), ("progresses", pa.int64()),
        ("held_max", pa.int64()), ("held_mean", pa.float64()), ("frames", pa.int64()), ("at_frames_max", pa.int64()),
        ("at_frames_mean", pa.float64()),
    ]
)  # fmt: skip


def open_frames(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """Return the open frames and buffered rows of a streaming query, per group, from its checkpoint.

    Parameters
    ----------
    spark
        The Spark session.
    checkpoint
        The `checkpointLocation` of the query, which may be running.
    operator
        The number of the stateful operator, if the query has several that frame.

    Returns
    -------
    One row per open frame: the `by` columns, `frame` (null until the frame is certain to qualify), `start`, `end` and
    `count` so far, and `waiting`, the number of rows of its group that the watermark has not passed. A group that has
    only waiting rows has one row without a frame.
    """
    rows = buckets_of(spark, checkpoint, FRAMING, operator)
    first = rows.where("piece is null").select("data").first()
    if first is None:
        raise SourceError(
            f"checkpoint {os.fspath(checkpoint)!r}: no batch has been committed yet, so there is no state"
        )
    schema = Snapshot(bytes(first["data"])).schema
    return rows.groupBy("bucket").applyInArrow(_describe(schema), from_arrow_schema(schema))


def buffer_stats(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """Return how many rows a query of `wr.fill` has buffered for future frames, from its checkpoint.

    Parameters
    ----------
    spark
        The Spark session.
    checkpoint
        The `checkpointLocation` of the query, which may be running.
    operator
        The number of the stateful operator, if the query has several that fill.

    Returns
    -------
    One row per bucket of groups:

    - `bucket`
    - `held`: the rows held now
    - `open`: the frames that may still receive rows
    - `progresses`: how often the bucket made progress
    - `held_max`, `held_mean`: the rows held, over all times that it made progress
    - `frames`: the pieces of frames that arrived
    - `at_frames_max`, `at_frames_mean`: the rows held when they arrived

    Rows that arrive count as held even if they are matched immediately.
    """
    rows = buckets_of(spark, checkpoint, FILLING, operator).where("piece is null")
    return rows.select("bucket", "data").mapInArrow(_buffers, from_arrow_schema(_BUFFERS))


def _buffers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [
            {"bucket": bucket, **saved_stats(data)}
            for bucket, data in zip(batch["bucket"].to_pylist(), batch["data"].to_pylist(), strict=True)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_BUFFERS)


def _describe(schema: pa.Schema) -> FROM_TABLE:
    def describe(table: pa.Table) -> pa.Table:
        state, pieces = parts_of(table)
        return Snapshot(state).rows(pieces).cast(schema)

    return describe
