"""The shuffle plan: any scheme over any DataFrame. Spark groups and sorts the rows; the kernel frames them.

Only the columns that the query needs are shuffled, and Catalyst evaluates predicates before the shuffle. A partition is
sorted by `on` alone, with its groups interleaved: Spark sorts a single number fastest, and the kernel takes many groups
at once. Only the state of the groups is carried from one record batch to the next, so memory does not grow with the
size of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.framing.parallel.pieces import MapInArrow
from windrow.framing.query import FrameQuery, frames_table
from windrow.rows.ordering import in_larger_tables, read_in_order, whole_instants
from windrow.rows.query import Layout, Query, Reader
from windrow.spark.failures import plainly
from windrow.spark.resolve.columns import column
from windrow.spark.resolve.predicates import condition


def shuffle_frames(df: DataFrame, request: FrameQuery, schema: StructType) -> DataFrame:
    """Compute frames with a sort within groups and the kernel."""
    tuples, layout = select_rows(df, request)
    together = tuples.repartition(*layout.by) if layout.by else tuples.repartition(1)
    ordered = together.sortWithinPartitions(layout.on)
    return ordered.mapInArrow(plainly(frame_sorted(request, layout)), schema)


def select_rows(df: DataFrame, request: Query[Any], whole_as: str | None = None) -> tuple[DataFrame, Layout]:
    """Select what the kernel reads, under internal names. If `whole_as` is given, add the whole row under that name."""
    by = tuple(f"by{i}" for i in range(len(request.by)))
    ties = tuple(f"tie{i}" for i in range(len(request.order_by)))
    predicates = {name: f"p_{name}" for name in request.predicates}
    attributes = {name: f"a{i}" for i, name in enumerate(request.attributes)}
    values = tuple(None if at is None else f"v{j}" for j, at in enumerate(request.values))
    chosen = [column(name).alias(at) for name, at in zip(request.by, by, strict=True)]
    chosen += [column(request.on).alias("on")]
    chosen += [column(name).alias(at) for name, at in zip(request.order_by, ties, strict=True)]
    chosen += [condition(request.predicates[name]).alias(at) for name, at in predicates.items()]
    chosen += [column(name).cast("double").alias(at) for name, at in attributes.items()]
    chosen += [column(name).alias(at) for name, at in zip(request.values, values, strict=True) if name and at]
    chosen += [F.struct(*map(column, df.columns)).alias(whole_as)] if whole_as else []
    evaluate = {name: read_column(at) for name, at in predicates.items()}
    return df.select(*chosen), Layout("on", by, evaluate, attributes, values, ties)


def read_column(name: str) -> Callable[[pa.Table], pa.BooleanArray]:
    """Return a function that reads a predicate which is already evaluated as a column."""

    def read(table: pa.Table) -> pa.BooleanArray:
        return table.column(name).combine_chunks()

    return read


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
