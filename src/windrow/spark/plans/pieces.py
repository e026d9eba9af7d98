"""Pieces as rows of a DataFrame: Spark collects the pieces of each bucket in the order of their chunks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.framing.parallel.pieces import PIECES as ARROW_PIECES
from windrow.framing.parallel.pieces import ReplayChunk, receiver
from windrow.framing.query import FrameQuery
from windrow.spark.failures import plainly
from windrow.spark.versions import from_arrow_schema

PIECES = from_arrow_schema(ARROW_PIECES)


def in_order(pieces: DataFrame, buckets: int) -> DataFrame:
    """Collect the pieces of each bucket, one chunk after the other."""
    return pieces.repartitionById(buckets, "bucket").sortWithinPartitions("bucket", "chunk", "piece")


def reconciled(
    pieces: DataFrame, buckets: int, request: FrameQuery, replay: ReplayChunk, schema: StructType
) -> DataFrame:
    """Compute the true frames of all chunks from the pieces that they sent."""
    return in_order(pieces, buckets).mapInArrow(plainly(receiver(request, replay)), schema)
