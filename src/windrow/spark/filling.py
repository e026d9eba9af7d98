"""`fill`: match the rows of any source with the frames of any other, and tag or aggregate them per frame.

Frames and rows are merged into one table, sorted together within their groups and swept by the compiled kernel. The
kernel keeps only the open frames, so memory does not grow with the size of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructField, StructType

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import read_values
from windrow.filling.sweep import Summary, SweepBatch, Tagger
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory
from windrow.rows.ordering import in_larger_tables
from windrow.spark.plans.choice import check_source
from windrow.spark.resolve.columns import Columns, arrow_type, column
from windrow.spark.resolve.fills import FillQuery, aggregate_fields, meet, settle
from windrow.spark.resolve.nulls import check_policy
from windrow.spark.sessions import check_session
from windrow.spark.sources.parquet import ParquetSource
from windrow.spark.streams.fill_operator import stream_fill
from windrow.spark.streams.options import StreamOptions
from windrow.tuning import Tuning, current_tuning

Task: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Side: TypeAlias = Literal["frames", "tuples"]


def fill(
    frames: DataFrame | ParquetSource,
    source: DataFrame | ParquetSource,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction] | None = None,
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    flush: str | None = None,
) -> DataFrame:
    """Match the rows of a source with frames: a row is in every frame of its group with `start <= on <= end`.

    Parameters
    ----------
    frames
        A table with the `by` columns, `frame`, `start` and `end`, such as `wr.frames` and `wr.widen` return. It may
        have more columns, and its frames may overlap.
    source
        The rows, from the source that was framed or from any other. If the schemas allow nulls, both tables are read
        once in advance to check for nulls: cache a table that is expensive to compute.
    on
        The column of `source` that holds the time of a row, comparable to `start` and `end`.
    by
        The columns, in both tables, that define a group. By default, all frames and rows form one group.
    agg
        Aggregates over the rows of each frame, keyed by result column. By default, rows are tagged instead.
    order_by
        Columns that break ties in `on`. Remaining ties are broken by all columns that the aggregates read.
    nulls_on
        What to do with rows whose `on` or `by` is null or NaN: `"error"` (default) or `"drop"`.
    flush
        Streams only. The checkpoint location of a finished query with the same arguments. The result is then a table of
        what was still pending when the streams ended. The checkpoint is only read.

    Returns
    -------
    Without `agg`: the columns of the source and `frame`. A row appears once per frame that contains it; rows outside
    every frame are dropped. With `agg`: one row per frame, with the columns of `frames` and the aggregates. Frames
    without rows are included.

    Notes
    -----
    Either side may be a stream. If one side is a table, it is read once, when the query starts, and stored in the
    state.

    A streaming source needs a watermark on `on`. A stream of frames should be the unmodified result of `wr.frames` or
    `wr.widen`, filled by the same groups: it carries its own progress, so buffered rows can be released as early as
    possible. Any other stream of frames needs a watermark on `start`, with a delay as long as a frame may take to
    arrive after its start.

    A tagged row is emitted as soon as both the row and its frame have arrived. A frame with aggregates is emitted once
    the watermark has passed its end and the whole frame is known. Fragments are used as they arrive, but the result has
    one row per frame.

    `observedMetrics` of the query's progress counts the rows and frame pieces that arrived, were late, are held and
    were dropped for nulls. `wr.buffer_stats` shows how many rows were held.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> jams = spark.createDataFrame([(0, 10, 20), (1, 30, 40)], "frame long, start int, end int")
    >>> reports = spark.createDataFrame([(5, "fog"), (10, "crash"), (20, "tow")], "at int, what string")
    >>> fill(jams, reports, on="at").sort("at").show()
    +---+-----+-----+
    | at| what|frame|
    +---+-----+-----+
    | 10|crash|    0|
    | 20|  tow|    0|
    +---+-----+-----+
    <BLANKLINE>
    >>> fill(jams, reports, on="at", agg={"reports": wr.count(), "last": wr.max("at")}).sort("frame").show()
    +-----+-----+---+-------+----+
    |frame|start|end|reports|last|
    +-----+-----+---+-------+----+
    |    0|   10| 20|      2|  20|
    |    1|   30| 40|      0|NULL|
    +-----+-----+---+-------+----+
    <BLANKLINE>
    """
    framed = check_source(frames, streams=True, argument="frames")
    tuples = check_source(source, streams=True)
    check_session(tuples.sparkSession)
    check_policy(nulls_on)
    meeting = meet(framed, tuples, on, by, agg, order_by)
    options = StreamOptions(flush=flush)
    streaming = framed.isStreaming or tuples.isStreaming
    if not streaming:
        options.refuse_for_tables()
    tuples = settle(framed, tuples, meeting, nulls_on)
    if streaming:
        return stream_fill(framed, tuples, meeting, nulls_on, options)
    return aggregated(framed, tuples, meeting) if meeting.agg else tagged(framed, tuples, meeting)


@dataclass(frozen=True)
class Lane:
    """A column of the table that frames and rows are merged into. It is null for a side without such a column."""

    name: str
    type: DataType
    frames: str | None = None
    tuples: str | None = None

    def of(self, side: Side) -> str | None:
        """Return the name of the source column on one side, or None."""
        return self.frames if side == "frames" else self.tuples


class MergedColumns:
    """The distinct columns of the merged table: the group, the time, a frame's end, and any further columns needed."""

    def __init__(self, meeting: FillQuery) -> None:
        pairs = zip(meeting.key_types, meeting.frame_keys, meeting.tuple_keys, strict=True)
        self.keys = [Lane(wire.key(i), *lane) for i, lane in enumerate(pairs)]
        self.on = Lane("on", meeting.time, meeting.start, meeting.on)
        self.end = Lane("end", meeting.time, meeting.end)
        self.all = [*self.keys, self.on, self.end]

    def add(self, name: str, side: Side, field: StructField) -> Lane:
        """Return the lane for a column of one side: an existing lane that holds it unchanged, or a new one."""
        for lane in self.all:
            if lane.of(side) == field.name and lane.type == field.dataType:
                return lane
        lane = Lane(name, field.dataType, **{side: field.name})
        self.all.append(lane)
        return lane

    def side_by_side(self, framed: DataFrame, tuples: DataFrame) -> DataFrame:
        """Return frames and rows merged into one table."""
        return self._select(framed, "frames").unionAll(self._select(tuples, "tuples"))

    def _select(self, df: DataFrame, side: Side) -> DataFrame:
        names = [(lane.of(side), lane) for lane in self.all]
        values = [(F.lit(None) if name is None else column(name), lane) for name, lane in names]
        return df.select(*(value.cast(lane.type).alias(lane.name) for value, lane in values))

    def in_order(self, rows: DataFrame, ties: Sequence[Lane] = ()) -> DataFrame:
        """Sort each group by time. At equal times, frames come before rows, because only frames have an end."""
        keys = [lane.name for lane in self.keys]
        rows = rows.repartition(*keys) if keys else rows.coalesce(1)
        end = column(self.end.name).asc_nulls_last()
        return rows.sortWithinPartitions(*keys, self.on.name, end, *dict.fromkeys(lane.name for lane in ties))


@dataclass(frozen=True)
class Layout:
    """A task's view of the lanes: the columns that define a group, the clock, and the columns of the result."""

    keys: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    clock: Clock
    out: list[str]
    names: list[str]
    tuning: Tuning = field(default_factory=current_tuning)

    @classmethod
    def of(cls, meeting: FillQuery, lanes: MergedColumns, out: Sequence[Lane], schema: StructType) -> Layout:
        """Build the layout of a result that starts with the given lanes."""
        keys = tuple(lane.name for lane in lanes.keys)
        key_types = tuple(arrow_type(StructField(lane.name, lane.type), lane.name) for lane in lanes.keys)
        return cls(keys, key_types, meeting.clock, [lane.name for lane in out], list(schema.names))

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, pa.Table, SweepBatch]]:
        """Yield each table of sorted record batches, the frames in it, and its rows as input for the sweep."""
        directory = Directory(self.key_types)
        for table in in_larger_tables(batches, self.tuning):
            group = directory.encode([table.column(key) for key in self.keys], table.num_rows)
            opens = table.column("end").is_valid()
            frames = table.filter(opens)
            on, end = self.clock.read(table.column("on")), self.clock.read(frames.column("end"))
            yield table, frames, SweepBatch(group, on.numbers, opens.to_numpy(), end.numbers)
            # Groups are contiguous: only the last one continues in the next table.
            directory = Directory(self.key_types)
            directory.encode([table.column(key).slice(table.num_rows - 1) for key in self.keys], 1)


def tagged(framed: DataFrame, tuples: DataFrame, meeting: FillQuery) -> DataFrame:
    """Return each row once per frame that contains it, with the number of the frame."""
    lanes = MergedColumns(meeting)
    number = lanes.add("number", "frames", StructField(meeting.frame, LongType()))
    out = [lanes.add(wire.column(i), "tuples", field) for i, field in enumerate(tuples.schema.fields)]
    schema = StructType([*tuples.schema.fields, StructField("frame", LongType(), nullable=False)])
    rows = lanes.in_order(lanes.side_by_side(framed, tuples))
    return rows.mapInArrow(tag_sorted(Layout.of(meeting, lanes, out, schema), number.name), schema)


def tag_sorted(layout: Layout, number: str) -> Task:
    """Return the function that tags rows: a Spark task runs it over its sorted record batches."""

    def tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tagger = Tagger(layout.clock.dtype, layout.tuning)
        for table, frames, rows in layout.read(batches):
            tuples = table.select(layout.out)
            for row, tags in tagger.tag(rows, frames.column(number).to_numpy()):
                result = tuples.take(row).append_column("frame", pa.array(tags))
                yield from result.rename_columns(layout.names).to_batches()

    return tag


def aggregated(framed: DataFrame, tuples: DataFrame, meeting: FillQuery) -> DataFrame:
    """Return each frame with the aggregates of its rows."""
    lanes, columns = MergedColumns(meeting), Columns(tuples)
    ties = [
        lanes.add(wire.tie(i), "tuples", columns.field(name, "order_by")) for i, name in enumerate(meeting.order_by)
    ]
    values = [
        lanes.add(wire.value(j), "tuples", columns.field(name, "agg")) if name else None
        for j, name in enumerate(meeting.values)
    ]
    out = [lanes.add(wire.column(i), "frames", field) for i, field in enumerate(framed.schema.fields)]
    schema = StructType([*framed.schema.fields, *aggregate_fields(tuples, meeting)])
    rows = lanes.in_order(lanes.side_by_side(framed, tuples), [*ties, *(lane for lane in values if lane)])
    read = tuple(lane.name if lane else None for lane in values)
    return rows.mapInArrow(aggregate_sorted(Layout.of(meeting, lanes, out, schema), meeting, read), schema)


def aggregate_sorted(layout: Layout, meeting: FillQuery, values: Sequence[str | None]) -> Task:
    """Return the function that aggregates per frame: a Spark task runs it over its sorted record batches."""

    def aggregate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        accumulators = meeting.accumulators
        at = dict(zip(layout.names, layout.out, strict=False))
        keys = [at[name] for name in meeting.frame_keys]
        summary = Summary(accumulators, layout.clock.dtype, keys, at[meeting.start], layout.tuning)
        for table, frames, rows in layout.read(batches):
            done = summary.add(rows, frames.select(layout.out), read_values(accumulators, values, table))
            yield from done.rename_columns(layout.names).to_batches()
        last = summary.finish()
        if last is not None:
            yield from last.rename_columns(layout.names).to_batches()

    return aggregate
