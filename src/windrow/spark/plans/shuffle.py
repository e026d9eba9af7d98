"""The shuffle plan: any scheme over any DataFrame. Spark groups and sorts the rows; the kernel frames them.

Only the columns that the query needs are shuffled, and Catalyst evaluates predicates before the shuffle. A partition is
sorted by `on` alone, with its groups interleaved: Spark sorts a single number fastest, and the kernel takes many groups
at once. Only the state of the groups is carried from one record batch to the next, so memory does not grow with the
size of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.framing.parallel.pieces import MapInArrow
from windrow.framing.query import FrameQuery, frames_table
from windrow.rows import wire
from windrow.rows.ordering import in_larger_tables, read_in_order, whole_instants
from windrow.rows.query import Layout, Query, Reader
from windrow.spark.failures import plainly
from windrow.spark.resolve.columns import column, value_of
from windrow.spark.resolve.predicates import condition


def shuffle_frames(df: DataFrame, request: FrameQuery, schema: StructType) -> DataFrame:
    """Compute frames with a sort within groups and the kernel."""
    rows, layout = select_rows(df, request)
    together = rows.repartition(*layout.by) if layout.by else rows.repartition(1)
    ordered = together.sortWithinPartitions(layout.on)
    return ordered.mapInArrow(plainly(frame_sorted(request, layout)), schema)


def select_rows(df: DataFrame, request: Query[Any], whole_as: str | None = None) -> tuple[DataFrame, Layout]:
    """Select what the kernel reads, under internal names. If `whole_as` is given, add the whole row under that name."""
    layout = Layout.on_wire(request)
    values = zip(request.values, layout.values, strict=True)
    chosen = [column(name).alias(at) for name, at in zip(request.by, layout.by, strict=True)]
    chosen += [column(request.on).alias(layout.on)]
    chosen += [column(name).alias(at) for name, at in zip(request.order_by, layout.order_by, strict=True)]
    chosen += [condition(predicate).alias(wire.predicate(name)) for name, predicate in request.predicates.items()]
    chosen += [column(name).cast("double").alias(at) for name, at in layout.attributes.items()]
    chosen += [value_of(source).alias(at) for source, at in values if source and isinstance(at, str)]
    chosen += [F.struct(*map(column, df.columns)).alias(whole_as)] if whole_as else []
    return df.select(*chosen), layout


def frame_sorted(request: FrameQuery, layout: Layout) -> MapInArrow:
    """Return the function that a Spark task runs over its record batches, sorted by `on` with groups interleaved."""

    def frame(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader, framer = Reader(request, layout), request.framer()
        framer.directory = reader.directory
        for table in whole_instants(in_larger_tables(batches, request.tuning), layout.on, request.clock):
            closed = framer.process(read_in_order(reader, table))
            yield from frames_table(request, reader.directory.keys(), closed).to_batches()
        yield from frames_table(request, reader.directory.keys(), framer.finish()).to_batches()

    return frame
