"""The plan of `fill` for tables: frames and rows are merged into one table, sorted, and swept.

Both sides are repartitioned by group and sorted together within their groups. A Spark task then runs the compiled sweep
(`filling/sweep.py`) over its record batches. It keeps only the open frames, so memory does not grow with the size of a
group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructField, StructType

from windrow.aggregates.engine.accumulator import read_values
from windrow.filling.sweep import Summary, SweepBatch, Tagger
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory
from windrow.rows.ordering import in_larger_tables
from windrow.rows.roles import Condition
from windrow.spark.resolve.columns import Columns, arrow_type, column, value_of
from windrow.spark.resolve.fills import FillQuery, aggregate_fields
from windrow.tuning import Tuning, current_tuning

Task: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Side: TypeAlias = Literal["frames", "source"]


@dataclass(frozen=True)
class MergedColumn:
    """A column of the table that frames and rows are merged into. It is null for a side without such a column."""

    name: str
    type: DataType
    frames: str | None = None
    source: str | None = None

    def of(self, side: Side) -> str | None:
        """Return the name of the column on one side, or None."""
        return self.frames if side == "frames" else self.source


class MergedColumns:
    """The distinct columns of the merged table: the group, the time, a frame's end, and any further columns needed."""

    def __init__(self, query: FillQuery) -> None:
        pairs = zip(query.key_types, query.frames.by, query.source.by, strict=True)
        self.keys = [MergedColumn(wire.key(i), *pair) for i, pair in enumerate(pairs)]
        self.on = MergedColumn(wire.ON, query.time, query.frames.start, query.source.on)
        self.end = MergedColumn("end", query.time, query.frames.end)
        self.all = [*self.keys, self.on, self.end]

    def add(self, name: str, side: Side, field: StructField) -> MergedColumn:
        """Return the merged column for a column of one side: an existing one that holds it unchanged, or a new one."""
        for merged in self.all:
            if merged.of(side) == field.name and merged.type == field.dataType:
                return merged
        new = MergedColumn(name, field.dataType, **{side: field.name})
        self.all.append(new)
        return new

    def merge(self, frames: DataFrame, source: DataFrame) -> DataFrame:
        """Return frames and rows merged into one table."""
        return self._select(frames, "frames").unionAll(self._select(source, "source"))

    def _select(self, df: DataFrame, side: Side) -> DataFrame:
        names = [(merged.of(side), merged) for merged in self.all]
        values = [(F.lit(None) if name is None else column(name), merged) for name, merged in names]
        return df.select(*(value.cast(merged.type).alias(merged.name) for value, merged in values))

    def in_order(self, rows: DataFrame, ties: Sequence[MergedColumn] = ()) -> DataFrame:
        """Sort each group by time. At equal times, frames come before rows, because only frames have an end."""
        keys = [key.name for key in self.keys]
        rows = rows.repartition(*keys) if keys else rows.coalesce(1)
        end = column(self.end.name).asc_nulls_last()
        return rows.sortWithinPartitions(*keys, self.on.name, end, *dict.fromkeys(tie.name for tie in ties))


@dataclass(frozen=True)
class MergedLayout:
    """A task's view of the merged table: the columns that define a group, the clock, and the columns of the result."""

    keys: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    clock: Clock
    out: list[str]
    names: list[str]
    tuning: Tuning = field(default_factory=current_tuning)

    @classmethod
    def of(
        cls, query: FillQuery, columns: MergedColumns, out: Sequence[MergedColumn], schema: StructType
    ) -> MergedLayout:
        """Build the layout of a result that starts with the columns `out`."""
        keys = tuple(key.name for key in columns.keys)
        key_types = tuple(arrow_type(StructField(key.name, key.type), key.name) for key in columns.keys)
        return cls(keys, key_types, query.clock, [merged.name for merged in out], list(schema.names))

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, pa.Table, SweepBatch]]:
        """Yield each table of sorted record batches, the frames in it, and its rows as input for the sweep."""
        directory = Directory(self.key_types)
        for table in in_larger_tables(batches, self.tuning):
            group = directory.encode([table.column(key) for key in self.keys], table.num_rows)
            opens = table.column("end").is_valid()
            frames = table.filter(opens)
            on, end = self.clock.read(table.column(wire.ON)), self.clock.read(frames.column("end"))
            yield table, frames, SweepBatch(group, on.numbers, opens.to_numpy(), end.numbers)
            # Groups are contiguous: only the last one continues in the next table.
            directory = Directory(self.key_types)
            directory.encode([table.column(key).slice(table.num_rows - 1) for key in self.keys], 1)


def tagged(frames: DataFrame, source: DataFrame, query: FillQuery) -> DataFrame:
    """Return each row once per frame that contains it, with the number of the frame."""
    columns = MergedColumns(query)
    number = columns.add("number", "frames", StructField(query.frames.number, LongType()))
    out = [columns.add(wire.column(i), "source", field) for i, field in enumerate(source.schema.fields)]
    schema = StructType([*source.schema.fields, StructField("frame", LongType(), nullable=False)])
    rows = columns.in_order(columns.merge(frames, source))
    return rows.mapInArrow(tag_sorted(MergedLayout.of(query, columns, out, schema), number.name), schema)


def tag_sorted(layout: MergedLayout, number: str) -> Task:
    """Return the function that tags rows: a Spark task runs it over its sorted record batches."""

    def tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tagger = Tagger(layout.clock.dtype, layout.tuning)
        for table, frames, batch in layout.read(batches):
            rows = table.select(layout.out)
            for row, tags in tagger.tag(batch, frames.column(number).to_numpy()):
                result = rows.take(row).append_column("frame", pa.array(tags))
                yield from result.rename_columns(layout.names).to_batches()

    return tag


def aggregated(frames: DataFrame, source: DataFrame, query: FillQuery) -> DataFrame:
    """Return each frame with the aggregates of its rows."""
    merged, roles = MergedColumns(query), query.source
    source = _with_conditions(source, roles.values)
    columns = Columns(source)
    ties = [merged.add(wire.tie(i), "source", columns.field(name, "order_by")) for i, name in enumerate(roles.order_by)]
    values = [
        value and merged.add(wire.value(j), "source", columns.field(value, "agg"))
        for j, value in enumerate(_materialised(roles.values))
    ]
    out = [merged.add(wire.column(i), "frames", field) for i, field in enumerate(frames.schema.fields)]
    schema = StructType([*frames.schema.fields, *aggregate_fields(source, roles)])
    rows = merged.in_order(merged.merge(frames, source), [*ties, *(value for value in values if value)])
    inputs = tuple(value.name if value else None for value in values)
    return rows.mapInArrow(aggregate_sorted(MergedLayout.of(query, merged, out, schema), query, inputs), schema)


def _materialised(values: Sequence[str | Condition | None]) -> list[str | None]:
    """Return the columns that hold the inputs of the aggregates once conditions are columns, too."""
    return [f"__windrow_condition_{j}" if isinstance(value, Condition) else value for j, value in enumerate(values)]


def _with_conditions(source: DataFrame, values: Sequence[str | Condition | None]) -> DataFrame:
    """Return the source with a column for each condition that an aggregate reads."""
    both = zip(values, _materialised(values), strict=True)
    conditions = [value_of(value).alias(str(name)) for value, name in both if isinstance(value, Condition)]
    return source.select(*map(column, source.columns), *conditions) if conditions else source


def aggregate_sorted(layout: MergedLayout, query: FillQuery, inputs: Sequence[str | None]) -> Task:
    """Return the function that aggregates per frame: a Spark task runs it over its sorted record batches."""

    def aggregate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        accumulators = query.accumulators
        at = dict(zip(layout.names, layout.out, strict=False))
        keys, start = [at[name] for name in query.frames.by], at[query.frames.start]
        summary = Summary(accumulators, layout.clock.dtype, keys, start, layout.tuning)
        for table, frames, batch in layout.read(batches):
            done = summary.add(batch, frames.select(layout.out), read_values(accumulators, inputs, table, batch.on))
            yield from done.rename_columns(layout.names).to_batches()
        last = summary.finish()
        if last is not None:
            yield from last.rename_columns(layout.names).to_batches()

    return aggregate
