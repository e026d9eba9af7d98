"""Panes as a table: made by Catalyst, while Parquet is read, or by tasks; and the windows that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.aggregates import AggregateFunction, Count, Max, Mean, Min, Sum, Variance
from windrow.aggregates.extremes import LARGEST, SMALLEST
from windrow.aggregates.keeper import Keeper
from windrow.aggregates.pairs import Pair
from windrow.aggregates.states import States
from windrow.aggregates.summing import FLOATS
from windrow.frames.groups import Directory
from windrow.frames.ordering import in_larger_tables, read_in_order, whole_instants
from windrow.frames.packing import unpack
from windrow.frames.pieces import MapInArrow, Pieces, pieces_in
from windrow.frames.request import Layout, Reader
from windrow.spark.clock import as_integer
from windrow.spark.failure import plainly
from windrow.spark.parquet import RowGroup, read_row_group
from windrow.spark.pieces import PIECES, in_order
from windrow.spark.resolve import column
from windrow.spark.scan import ScanSource, layout_of, task_numbers
from windrow.spark.session import ROWS_A_BATCH, parallelism
from windrow.spark.shuffle import select_tuples
from windrow.spark.sums import sum_state
from windrow.spark.versions import from_arrow_schema
from windrow.windows.gather import FARTHEST_PANE, Gatherer
from windrow.windows.panes import Panes
from windrow.windows.request import Slide
from windrow.windows.slider import PaneHeap, Slider, panes_schema, panes_table

Native = Callable[[list[Column], bool], list[Column]]
"""From the values of an aggregate, and whether it keeps integers, to the numbers of its state."""
ROWS_A_BUCKET = 10_000_000
"""A task holds the panes of one bucket at a time; there are as many buckets as it takes for panes of a row each."""


# Panes by Catalyst.


def why_not_native_panes(request: Slide) -> str | None:
    """Why Catalyst alone cannot aggregate the panes; None if it can."""
    if request.unit != "time":
        return "windows that are counted need each group's tuples in order"
    if request.what.using:
        return "a synopsis takes each group's tuples in order"
    for name, aggregate in request.agg.items():
        if _native_form(aggregate) is None:
            what = "Spark has no partial form for" if aggregate.builtin else "only the kernel knows"
            return f"agg {name!r} is {aggregate!r}, which {what}"
    return None


def native_panes(df: DataFrame, request: Slide) -> DataFrame:
    """Panes by one aggregation; no row leaves the JVM, only panes do."""
    tuples, layout = select_tuples(df, request)
    names = iter(layout.values)
    sums: list[Column] = []
    for j, (aggregate, keeper) in enumerate(zip(request.agg.values(), request.keepers, strict=True)):
        read = [next(names) for _ in range(aggregate.reads)]
        sums += _native_state(f"a{j}_", keeper, read, request.types)
    return tuples.withColumn("pane", pane_number(request)).groupBy(*layout.by, "pane").agg(*sums)


def _native_state(prefix: str, keeper: Keeper, read: list[str | None], types: dict[str, pa.DataType]) -> list[Column]:
    """The columns of the state of an aggregate, as `States` names them; `read` are the columns it reads, if any."""
    aggregate, integral = keeper.aggregate, keeper.integral
    kinds = [types[name] for name in aggregate.columns] or [pa.int64()]
    values = [F.lit(1) if at is None else _as_number(at, kind, integral) for at, kind in zip(read, kinds, strict=True)]
    form = _native_form(aggregate)
    assert form is not None
    whole = integral and isinstance(aggregate, Sum)
    state = sum_state(values[0], kinds[0]) if whole else form(values, integral)
    numbers = [number.cast("bigint" if integral else "double") for number in state]
    named = [number.alias(f"{prefix}numbers{i}") for i, number in enumerate(numbers)]
    return [F.count(_together(values)).alias(f"{prefix}seen"), *named]


def pane_number(request: Slide) -> Column:
    """The number of the pane of each tuple, exactly as the kernel counts them."""
    pane = request.pane
    if request.clock.kind == "float":
        return _pane_of_float(column("on").cast("double"), F.lit(float(pane)))
    since, length = as_integer(column("on"), request.clock.type), F.lit(pane).cast("bigint")
    # Division cuts towards zero; a remainder before zero belongs to the pane below.
    below = F.when((since < 0) & (since % length != 0), 1).otherwise(0)
    return F.call_function("div", since, length) - below


def _pane_of_float(on: Column, pane: Column) -> Column:
    """As in the kernel: the quotient can round across a boundary, so the definition has the last word."""
    inside = F.abs(on / pane) <= F.lit(FARTHEST_PANE)
    near = F.floor(F.when(inside, on / pane).otherwise(0.0))
    nearby = F.when(near * pane > on, near - 1).when((near + 1) * pane <= on, near + 1).otherwise(near)
    advice = " is in no window that 64 bits can count; drop such rows"
    refused = F.concat(F.lit("on: "), on.cast("string"), F.lit(advice))
    return F.when(inside, nearby).otherwise(F.raise_error(refused).cast("bigint"))


def _as_number(at: str, kind: pa.DataType, integral: bool) -> Column:
    """A column as the numbers that the kernel would read."""
    return as_integer(column(at), kind) if integral else column(at).cast("double")


def _together(values: list[Column]) -> Column:
    """Something that is null where any of several values is."""
    whole = values[0]
    for value in values[1:]:
        whole = F.when(value.isNotNull(), whole)
    return whole


def _count(values: list[Column], integral: bool) -> list[Column]:
    return [F.count(values[0])]


def _sum(values: list[Column], integral: bool) -> list[Column]:
    """The state of floats; that of integers depends on how long they are."""
    return [F.coalesce(F.sum(values[0]), F.lit(0.0)), F.lit(float(FLOATS))]


def _mean(values: list[Column], integral: bool) -> list[Column]:
    return [F.count(values[0]), F.coalesce(F.sum(values[0]), F.lit(0.0))]


def _min(values: list[Column], integral: bool) -> list[Column]:
    return [F.coalesce(F.min(values[0]), F.lit(LARGEST if integral else float("nan")))]


def _max(values: list[Column], integral: bool) -> list[Column]:
    return [F.coalesce(F.max(values[0]), F.lit(SMALLEST if integral else float("-inf")))]


def _variance(values: list[Column], integral: bool) -> list[Column]:
    (x,) = values
    n = F.count(x)
    return [n, F.coalesce(F.avg(x), F.lit(0.0)), F.coalesce(F.var_pop(x) * n, F.lit(0.0))]


def _pair(values: list[Column], integral: bool) -> list[Column]:
    x, y = (F.when(_together(values).isNotNull(), value) for value in values)
    n = F.count(x)
    means = [F.avg(x), F.avg(y)]
    spreads = [F.var_pop(x) * n, F.var_pop(y) * n, F.covar_pop(x, y) * n]
    return [n, *(F.coalesce(part, F.lit(0.0)) for part in means + spreads)]


_NATIVE: dict[type[AggregateFunction], Native] = {
    Count: _count, Sum: _sum, Mean: _mean, Min: _min, Max: _max, Variance: _variance, Pair: _pair,
}  # fmt: skip
"""The states that Catalyst can make, by the class whose state it is."""


def _native_form(aggregate: AggregateFunction) -> Native | None:
    if not aggregate.builtin:
        return None
    return next((form for kind, form in _NATIVE.items() if isinstance(aggregate, kind)), None)


# Panes by tasks.


def scanned_windows(scan: ScanSource, request: Slide, schema: StructType) -> DataFrame:
    """Windows of panes that tasks aggregate as they read Parquet, whose row groups may be in any order.

    Panes go to where they are combined in pieces, as one row each to Spark: row by row they would take it longer than
    all the rest. A single group may have more panes than a task can hold, and is left to Spark to sort.
    """
    shares = _shares(scan.row_groups, parallelism(scan.spark))
    rows = sum(group.rows for group in scan.row_groups)
    layout = layout_of(request, scan.columns, scan.schema)
    tasks = scan.spark.range(0, len(shares), 1, len(shares))
    read = _read_shares(shares, scan.path, scan.columns)
    if not request.by and rows > ROWS_A_BUCKET:
        panes = tasks.mapInArrow(plainly(_as_rows(request, layout, read)), from_arrow_schema(panes_schema(request)))
        return windows_of_panes(panes, request, schema)
    buckets = max(len(shares), -(-rows // ROWS_A_BUCKET)) if request.by else 1
    pieces = tasks.mapInArrow(plainly(_in_pieces(request, layout, read, buckets)), PIECES)
    return in_order(pieces, buckets).mapInArrow(plainly(_combine_pieces(request)), schema)


def _shares(row_groups: tuple[RowGroup, ...], tasks: int) -> list[list[RowGroup]]:
    """Row groups that follow each other, as evenly as can be."""
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


def _in_pieces(request: Slide, layout: Layout, read: Callable[[int], Iterator[pa.Table]], buckets: int) -> MapInArrow:
    """The function that aggregates the panes of shares and sends them to the buckets of their groups."""

    def gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in task_numbers(batches):
            reader = Reader(request, layout)
            sender = Pieces(number, buckets, reader.directory)
            for panes, states in _gathered(request, reader, read(number)):
                yield from sender.by_bucket("panes", panes_table(reader.directory, panes, states), panes.group)

    return gather


def _combine_pieces(request: Slide) -> MapInArrow:
    """The function that combines the panes of its buckets."""

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, pieces in groupby(pieces_in(batches), key=lambda piece: piece[0]):
            slider = Slider(request, Directory(request.by_types))
            slider.add(*slider.read(pa.concat_tables(table for *_, data in pieces for table in unpack(data))))
            yield from _batches(slider.report(slider.latest(), final=True))

    return combine


def gathered_panes(df: DataFrame, request: Slide) -> DataFrame:
    """Panes aggregated by tasks from what Spark hands them, before anything is shuffled."""
    tuples, layout = select_tuples(df, request)
    return tuples.mapInArrow(plainly(_as_rows(request, layout, None)), from_arrow_schema(panes_schema(request)))


def _as_rows(request: Slide, layout: Layout, read: Callable[[int], Iterator[pa.Table]] | None) -> MapInArrow:
    """The function that aggregates the panes of shares, or without a way to read them, of the tuples that come."""

    def gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = in_larger_tables(batches) if read is None else chain.from_iterable(map(read, task_numbers(batches)))
        reader = Reader(request, layout)
        gathered = _gathered(request, reader, tables)
        yield from _batches(panes_table(reader.directory, panes, states) for panes, states in gathered)

    return gather


def _gathered(request: Slide, reader: Reader, tables: Iterable[pa.Table]) -> Iterator[tuple[Panes, list[States]]]:
    """The panes of a task's tuples, which come in any order."""
    gatherer, heap = Gatherer(request, directory=reader.directory), PaneHeap(request, reader.directory)
    for table in tables:
        yield from heap.add(*gatherer.gather(reader.read(table)))
    yield from heap.rest()


def _batches(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    return (batch for table in tables for batch in table.to_batches(ROWS_A_BATCH))


# Windows of panes that are rows.


def windows_of_panes(panes: DataFrame, request: Slide, schema: StructType) -> DataFrame:
    """Windows from panes: those of a group come together, sorted by number alone, and are combined."""
    by = [f"by{i}" for i in range(len(request.by))]
    together = panes.repartition(*by) if by else panes.repartition(1)
    return together.sortWithinPartitions("pane").mapInArrow(plainly(_combine(request)), schema)


def _combine(request: Slide) -> MapInArrow:
    """The function that a task runs over its panes."""

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slider = Slider(request, Directory(request.by_types))
        for table in in_larger_tables(batches):
            slider.add(*slider.read(table))
            yield from _batches(slider.report(slider.latest()))
        yield from _batches(slider.report(slider.latest(), final=True))

    return combine


def ordered_windows(df: DataFrame, request: Slide, schema: StructType) -> DataFrame:
    """Windows from tuples that Spark has sorted, where the order of tuples makes a difference."""
    tuples, layout = select_tuples(df, request)
    together = tuples.repartition(*layout.by) if layout.by else tuples.repartition(1)
    return together.sortWithinPartitions(layout.on).mapInArrow(plainly(_slide_sorted(request, layout)), schema)


def _slide_sorted(request: Slide, layout: Layout) -> MapInArrow:
    """The function that a task runs over tuples which are sorted by `on`, groups mixed."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader(request, layout)
        slider = Slider(request, reader.directory)
        gatherer = Gatherer(request, slider.kept, reader.directory)
        for table in whole_instants(in_larger_tables(batches), layout.on, request.clock):
            slider.add(*gatherer.gather(read_in_order(reader, table)))
            yield from _batches(slider.report(gatherer.past(slider.latest())))
        yield from _batches(slider.report(gatherer.past(slider.latest()), final=True))

    return run
