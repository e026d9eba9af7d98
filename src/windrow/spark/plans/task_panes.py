"""Panes that tasks aggregate, from the rows that Spark hands them or while they read Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.aggregates.engine.states import States
from windrow.framing.parallel.pieces import MapInArrow, PieceWriter
from windrow.rows.ordering import in_larger_tables
from windrow.rows.query import Layout, Reader
from windrow.spark.failures import plainly
from windrow.spark.plans.pieces import PIECES
from windrow.spark.plans.scan import ScanSource, layout_of, task_numbers
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.plans.windows_of_panes import combine_panes, combine_pieces, in_batches
from windrow.spark.sessions import parallelism
from windrow.spark.sources.parquet import RowGroup, read_row_group
from windrow.spark.versions import from_arrow_schema
from windrow.windows.gather import Gatherer
from windrow.windows.pane_table import PaneHeap, panes_schema, panes_table
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import PaneKeys


def scanned_windows(scan: ScanSource, request: WindowQuery, schema: StructType) -> DataFrame:
    """Compute windows from panes that tasks aggregate while they read Parquet, whose row groups may be in any order.

    Panes are sent in pieces: to Spark, a piece of many panes is one row. Row by row, they would take longer than
    everything else. A single group may have more panes than a task can hold; then Spark sorts them as rows.
    """
    shares = _shares(scan.row_groups, parallelism(scan.spark, request.tuning))
    rows = sum(group.rows for group in scan.row_groups)
    layout = layout_of(request, scan.columns, scan.schema)
    tasks = scan.spark.range(0, len(shares), 1, len(shares))
    read = _read_shares(shares, scan.path, scan.columns)
    if not request.by and rows > request.tuning.rows_per_bucket:
        panes = tasks.mapInArrow(plainly(_as_rows(request, layout, read)), from_arrow_schema(panes_schema(request)))
        return combine_panes(panes, request, schema)
    buckets = max(len(shares), -(-rows // request.tuning.rows_per_bucket)) if request.by else 1
    pieces = tasks.mapInArrow(plainly(_in_pieces(request, layout, read, buckets)), PIECES)
    return combine_pieces(pieces, buckets, request, schema)


def _shares(row_groups: tuple[RowGroup, ...], tasks: int) -> list[list[RowGroup]]:
    """Divide consecutive row groups into shares that are as even as possible."""
    rows = sum(group.rows for group in row_groups)
    shares: list[list[RowGroup]] = [[] for _ in range(min(tasks, len(row_groups)))]
    before = 0
    for group in row_groups:
        shares[min(len(shares) * before // rows, len(shares) - 1)].append(replace(group, low=None, high=None))
        before += group.rows
    return [share for share in shares if share]


def _read_shares(
    shares: list[list[RowGroup]], path: str, columns: tuple[str, ...]
) -> Callable[[int], Iterator[pa.Table]]:
    return lambda number: (read_row_group(group, path, columns) for group in shares[number])


def _in_pieces(
    request: WindowQuery, layout: Layout, read: Callable[[int], Iterator[pa.Table]], buckets: int
) -> MapInArrow:
    """Return the function that aggregates the panes of shares and sends them to the buckets of their groups."""

    def gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in task_numbers(batches):
            reader = Reader(request, layout)
            sender = PieceWriter(number, buckets, reader.directory)
            for panes, states in _gathered(request, reader, read(number)):
                yield from sender.by_bucket("panes", panes_table(reader.directory, panes, states), panes.group)

    return gather


def gathered_panes(df: DataFrame, request: WindowQuery) -> DataFrame:
    """Let tasks aggregate panes from the rows that Spark hands them, before any shuffle."""
    rows, layout = select_rows(df, request)
    return rows.mapInArrow(plainly(_as_rows(request, layout, None)), from_arrow_schema(panes_schema(request)))


def _as_rows(request: WindowQuery, layout: Layout, read: Callable[[int], Iterator[pa.Table]] | None) -> MapInArrow:
    """Return the function that aggregates the panes of shares or, without `read`, of the rows it receives."""

    def gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = (
            in_larger_tables(batches, request.tuning)
            if read is None
            else chain.from_iterable(map(read, task_numbers(batches)))
        )
        reader = Reader(request, layout)
        gathered = _gathered(request, reader, tables)
        yield from in_batches(panes_table(reader.directory, panes, states) for panes, states in gathered)

    return gather


def _gathered(
    request: WindowQuery, reader: Reader, tables: Iterable[pa.Table]
) -> Iterator[tuple[PaneKeys, list[States]]]:
    """Yield the panes of a task's rows, which may be in any order."""
    gatherer, heap = Gatherer(request, directory=reader.directory), PaneHeap(request, reader.directory)
    for table in tables:
        yield from heap.add(*gatherer.gather(reader.read(table)))
    yield from heap.rest()
