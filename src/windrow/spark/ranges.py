"""The shuffle plan for one group, a few, or a hot one: sorted by range of group and `on`, all cores share it.

A range may begin in the middle of a group. So each is framed from the empty state and the seams are reconciled as in a
scan. A DataFrame cannot be read again from the middle: a scheme that is not stitched sends along the tuples of the
range's first group, which is the only one that a seam can cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.frames.framer import Framer, Tuples
from windrow.frames.heads import HeadFramer
from windrow.frames.request import Layout, Reader, Request
from windrow.spark.pieces import PIECES, MapInArrow, ReplayChunk, Sender, reconciled
from windrow.spark.resolve import column
from windrow.spark.session import parallelism
from windrow.spark.shuffle import in_larger_tables, select_tuples

RANGES_A_CORE = 2
SAMPLED = 0.01


def why_ranges(df: DataFrame, request: Request) -> str | None:
    """Why groups alone would not keep all cores busy; None if they would."""
    cores = parallelism(df.sparkSession)
    if not request.by:
        return "there is one group"
    if cores == 1:
        return None
    sizes = (
        df.select(*map(column, request.by)).sample(fraction=SAMPLED, seed=1).groupBy(*map(column, request.by)).count()
    )
    largest, rows = sizes.agg(F.max("count"), F.sum("count")).collect()[0]
    if not rows or largest <= rows / cores:
        return None
    return f"one group has about {largest / rows:.0%} of the tuples"


def range_frames(df: DataFrame, request: Request, schema: StructType) -> DataFrame:
    """Frames by a sort over ranges and the kernel, with reconciled seams."""
    tuples, layout = select_tuples(df, request)
    names = tuples.columns
    ranges = RANGES_A_CORE * parallelism(df.sparkSession)
    ordered = tuples.repartitionByRange(ranges, *layout.by, layout.on).sortWithinPartitions(*names)
    pieces = ordered.withColumn("chunk", F.spark_partition_id()).mapInArrow(_speculate(request, layout, ranges), PIECES)
    return reconciled(pieces, ranges if request.by else 1, request, _replay(request, layout), schema)


def _speculate(request: Request, layout: Layout, ranges: int) -> MapInArrow:
    """The function of the first stage: frame each range from the empty state."""
    stitched = request.scheme.is_run

    def run_range(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader, framer = Reader(request, layout), request.framer(HeadFramer if stitched else Framer)
        sender: Sender | None = None
        for table in in_larger_tables(batches):
            chunk = table["chunk"][0].as_py()
            sender = sender or Sender(chunk, ranges if request.by else 1, reader.directory, framer)
            tuples = reader.read(table)
            yield from sender.frames(framer.process(tuples))
            first = int(np.count_nonzero(tuples.group == 0))
            if chunk and first and not stitched:
                yield from sender.tuples(table.slice(0, first), 0)
        if sender:
            yield from sender.last()

    return run_range


def _replay(request: Request, layout: Layout) -> ReplayChunk:
    """How a range's first group is read again: from the tuples that were sent along."""

    def replay(number: int, tables: list[pa.Table], keys: list[pa.Array]) -> Iterator[Tuples]:
        reader = Reader(request, layout)
        reader.directory.encode(keys)
        return map(reader.read, tables)

    return replay
