"""The scan plan: each task reads a chunk of Parquet with pyarrow and frames it. No sort, no shuffle of rows.

A task keeps a state for every group it encounters, and starts each from the empty state. Its output is small: the
frames it found, and the final state of each group. `windrow.framing.parallel.seams` joins the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from windrow.errors import SourceError, WindrowError
from windrow.framing.parallel.pieces import MapInArrow, ReplayChunk, read_again, run_from_empty
from windrow.framing.query import FrameQuery, frames_table
from windrow.predicates.parse import parse_predicate
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Query, Reader, RowBatch
from windrow.rows.roles import Condition
from windrow.spark.failures import own_errors, plainly
from windrow.spark.plans.chunks import Chunk, ChunkReader, cut_chunks, why_not_chunks
from windrow.spark.plans.pieces import PIECES, reconciled
from windrow.spark.sessions import parallelism
from windrow.spark.sources.parquet import (
    LeftToSpark,
    ParquetSource,
    RowGroup,
    check_layout,
    check_readings,
    read_footers,
    read_row_group,
    row_groups,
)  # fmt: skip
from windrow.spark.sources.readings import Settings


@dataclass(frozen=True)
class ScanPlan:
    """Everything a task needs: the query, how to read, what to read, and the number of buckets of groups."""

    request: FrameQuery
    reader: ChunkReader
    schema: pa.Schema
    chunks: tuple[Chunk, ...]
    buckets: int

    def layout(self) -> Layout:
        """Return how to read the columns of the files."""
        return layout_of(self.request, self.reader.columns, self.schema)


@dataclass(frozen=True)
class ScanSource:
    """The data that tasks can read with pyarrow: the columns that a query needs, and the row groups."""

    spark: SparkSession
    path: str
    columns: tuple[str, ...]
    schema: pa.Schema
    row_groups: tuple[RowGroup, ...]


def layout_of(request: Query[Any], columns: Sequence[str], schema: pa.Schema) -> Layout:
    """Return how to read the columns of the files. Predicates are compiled for the files' schema."""
    spelled = {name.lower(): name for name in columns}
    evaluate = {name: parse_predicate(text).compile(schema) for name, text in request.predicates.items()}
    attributes = {name: spelled[name.lower()] for name in request.attributes}
    values = tuple(
        parse_predicate(source.text).compile(schema)
        if isinstance(source, Condition)
        else source and spelled[source.lower()]
        for source in request.values
    )
    return Layout(request.on, request.by, evaluate, attributes, values, request.order_by)


def scan_source(source: ParquetSource, request: Query[Any]) -> ScanSource | str:
    """Return what tasks can read of a source for a query, or the reason why they cannot."""
    names = {name.lower(): name for name in source.df.columns}
    if len(names) < len(source.df.columns):
        return "two columns differ only in letter case"
    needed = [request.on, *request.by, *request.order_by, *request.attributes]
    needed += [source for source in request.values if isinstance(source, str)]
    conditions = [source.text for source in request.values if isinstance(source, Condition)]
    try:
        settings = Settings.of(source.spark)
        footers = read_footers(source, settings)
        check_layout(source, footers)
        for text in [*request.predicates.values(), *conditions]:
            if not isinstance(text, str):
                return "the predicate is a Column, which only Spark can evaluate"
            needed += parse_predicate(text).compile(footers.schema).columns
        columns = tuple(dict.fromkeys(names[name.lower()] for name in needed))
        check_readings(source, footers, columns, settings)
        groups, nulls = row_groups(footers, request.on, [request.on, *request.by])
    except SourceError:
        raise
    except (LeftToSpark, WindrowError, OSError, pa.ArrowException) as reason:
        return str(reason)
    if not groups:
        return "there are no rows"
    if any(nulls.values()):
        return "there are rows with a null in `on` or `by`"
    return ScanSource(source.spark, footers.place, columns, footers.schema, tuple(groups))


def plan_scan(source: ParquetSource, request: FrameQuery) -> ScanPlan | str:
    """Return a scan plan for a source, or the reason why it cannot be scanned."""
    scan = scan_source(source, request)
    if isinstance(scan, str):
        return scan
    groups = _measured(scan, request, _in_clock_units(scan, request))
    if groups is None:
        return "there are rows with a null in `on`"
    rows = sum(group.rows for group in groups)
    count = max(1, min(parallelism(source.spark, request.tuning), rows // request.tuning.fewest_rows_per_chunk))
    cut = cut_chunks(groups, count)
    reason_against = why_not_chunks(groups, cut)
    if reason_against:
        return reason_against
    reader = ChunkReader(
        scan.path, scan.columns, request.on, request.clock, request.tuning, encoded_columns(request, scan.schema)
    )
    return ScanPlan(request, reader, scan.schema, tuple(cut), buckets=len(cut))


def encoded_columns(request: FrameQuery, schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns of text and binary values that only label rows: their codes are all that is needed."""
    labels = {label.column.lower() for label in request.label_columns.values()}
    conditions = [source.text for source in request.values if isinstance(source, Condition)]
    for text in (*request.predicates.values(), *conditions):
        labels -= {*map(str.lower, _columns_in(text, schema))}
    types = {field.name: field.type for field in schema if field.name.lower() in labels}
    return tuple(name for name, kind in types.items() if pa.types.is_string(kind) or pa.types.is_binary(kind))


def _columns_in(predicate: str, schema: pa.Schema) -> Sequence[str]:
    return parse_predicate(predicate).compile(schema).columns


def _in_clock_units(scan: ScanSource, request: FrameQuery) -> list[RowGroup]:
    """Return the row groups with their extents in clock numbers, as far as the footers contain them."""
    kind = scan.schema.field(request.on).type
    with_extent = [group for group in scan.row_groups if group.low is not None]
    low = request.clock.read(pa.array([group.low for group in with_extent], kind)).numbers.tolist()
    high = request.clock.read(pa.array([group.high for group in with_extent], kind)).numbers.tolist()
    converted = [replace(g, low=a, high=b) for g, a, b in zip(with_extent, low, high, strict=True)]
    return converted + [group for group in scan.row_groups if group.low is None]


def _measured(scan: ScanSource, request: FrameQuery, row_groups: list[RowGroup]) -> list[RowGroup] | None:
    """Run a job that reads the extents missing from the footers. Return None if `on` contains a null.

    This is common: by default, Spark writes timestamps without statistics.
    """
    unknown = [i for i, group in enumerate(row_groups) if group.low is None]
    if not unknown:
        return row_groups
    tasks = scan.spark.range(0, len(unknown), 1, min(len(unknown), 4 * parallelism(scan.spark, request.tuning)))
    groups = [row_groups[i] for i in unknown]
    number = "long" if request.clock.dtype == np.int64 else "double"
    schema = f"i long, low {number}, high {number}, nulls long"
    with own_errors():
        rows = tasks.mapInArrow(plainly(_measure(groups, scan.path, request)), schema).collect()
    if any(row["nulls"] for row in rows):
        return None
    for row in rows:
        row_groups[unknown[row["i"]]] = replace(groups[row["i"]], low=row["low"], high=row["high"])
    return row_groups


def _measure(groups: list[RowGroup], path: str, request: FrameQuery) -> MapInArrow:
    """Return the function that reads `on` of row groups and reports its extent."""
    clock, on = request.clock, request.on

    def measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for i in task_numbers(batches):
            numbers, valid, _ = clock.read(read_row_group(groups[i], path, [on]).column(on))
            low, high, nulls = numbers.min().item(), numbers.max().item(), int(np.count_nonzero(~valid))
            yield pa.RecordBatch.from_pylist([{"i": i, "low": low, "high": high, "nulls": nulls}])

    return measure


def scan_frames(source: ParquetSource, plan: ScanPlan, schema: StructType) -> DataFrame:
    """Compute frames by scanning chunks, and reconcile the seams if there is more than one chunk."""
    tasks = source.spark.range(0, len(plan.chunks), 1, len(plan.chunks))
    if len(plan.chunks) == 1:
        return tasks.mapInArrow(plainly(_frame_whole(plan)), schema)
    pieces = tasks.mapInArrow(plainly(_speculate(plan)), PIECES)
    return reconciled(pieces, plan.buckets, plan.request, _replay(plan), schema)


def _speculate(plan: ScanPlan) -> MapInArrow:
    """Return the function of the first stage: it frames each chunk from the empty state."""

    def run_chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in task_numbers(batches):
            tables = plan.reader.tables(plan.chunks[number])
            yield from run_from_empty(plan.request, plan.layout(), number, plan.buckets, tables)

    return run_chunks


def _replay(plan: ScanPlan) -> ReplayChunk:
    """Return the function that reads a chunk's rows again."""

    def replay(number: int, tables: list[pa.Table], keys: list[pa.Array]) -> Iterator[RowBatch]:
        return read_again(plan.request, plan.layout(), keys, plan.reader.tables(plan.chunks[number], little=True))

    return replay


def _frame_whole(plan: ScanPlan) -> MapInArrow:
    """Return the function of the only task, if there is a single chunk."""

    def frame(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in task_numbers(batches):
            reader, framer = Reader(plan.request, plan.layout()), plan.request.framer()
            for table in plan.reader.tables(plan.chunks[number]):
                frames = framer.process(read_in_order(reader, table))
                yield from frames_table(plan.request, reader.directory.keys(), frames).to_batches()
            yield from frames_table(plan.request, reader.directory.keys(), framer.finish()).to_batches()

    return frame


def task_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers of the chunks assigned to a task."""
    for batch in batches:
        yield from batch.column(0).to_pylist()
