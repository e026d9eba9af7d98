"""Windows from panes: a task combines the panes of its groups, or takes sorted rows where their order matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.framing.parallel.pieces import MapInArrow, pieces_in
from windrow.rows import wire
from windrow.rows.groups import Directory
from windrow.rows.ordering import in_larger_tables, read_in_order, whole_instants
from windrow.rows.query import Layout, Reader
from windrow.spark.failures import plainly
from windrow.spark.plans.pieces import in_order
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.sessions import ROWS_PER_BATCH
from windrow.state.arrow import unpack
from windrow.windows.in_order import WindowsInOrder
from windrow.windows.query import WindowQuery
from windrow.windows.slider import Slider


def combine_panes(panes: DataFrame, request: WindowQuery, schema: StructType) -> DataFrame:
    """Combine panes into windows. The panes of a group are brought together and sorted by number alone."""
    by = [*wire.keys(len(request.by))]
    together = panes.repartition(*by) if by else panes.repartition(1)
    return together.sortWithinPartitions("pane").mapInArrow(plainly(_combine(request)), schema)


def _combine(request: WindowQuery) -> MapInArrow:
    """Return the function that a task runs over its panes."""

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slider = Slider(request, Directory(request.by_types))
        for table in in_larger_tables(batches, request.tuning):
            slider.add_table(table)
            yield from in_batches(slider.report(slider.latest()))
        yield from in_batches(slider.report(slider.latest(), final=True))

    return combine


def combine_pieces(pieces: DataFrame, buckets: int, request: WindowQuery, schema: StructType) -> DataFrame:
    """Combine panes that were sent in pieces into windows, bucket by bucket."""
    return in_order(pieces, buckets).mapInArrow(plainly(_combine_pieces(request)), schema)


def _combine_pieces(request: WindowQuery) -> MapInArrow:
    """Return the function that combines the panes of its buckets."""

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, pieces in groupby(pieces_in(batches), key=lambda piece: piece[0]):
            slider = Slider(request, Directory(request.by_types))
            slider.add_table(pa.concat_tables(table for *_, data in pieces for table in unpack(data)))
            yield from in_batches(slider.report(slider.latest(), final=True))

    return combine


def ordered_windows(df: DataFrame, request: WindowQuery, schema: StructType) -> DataFrame:
    """Compute windows from rows that Spark has sorted, for queries that depend on the order of rows."""
    rows, layout = select_rows(df, request)
    together = rows.repartition(*layout.by) if layout.by else rows.repartition(1)
    return together.sortWithinPartitions(layout.on).mapInArrow(plainly(_slide_sorted(request, layout)), schema)


def _slide_sorted(request: WindowQuery, layout: Layout) -> MapInArrow:
    """Return the function that a task runs over rows sorted by `on`, with groups interleaved."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader(request, layout)
        windows = WindowsInOrder(request, reader.directory)
        for table in whole_instants(in_larger_tables(batches, request.tuning), layout.on, request.clock):
            yield from in_batches(windows.add(read_in_order(reader, table)))
        yield from in_batches(windows.finish())

    return run


def in_batches(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of tables, small enough for Spark."""
    return (batch for table in tables for batch in table.to_batches(ROWS_PER_BATCH))
