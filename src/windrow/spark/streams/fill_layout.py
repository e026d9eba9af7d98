"""The layout of `fill` on streams: the form in which frames and rows travel to the operator, and that of its result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

from windrow.filling.plan import FillPlan
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.spark.resolve.columns import arrow_type
from windrow.spark.resolve.fills import FillQuery, aggregate_fields
from windrow.spark.streams.punctuation import FrameStream
from windrow.state.arrow import unpack


@dataclass(frozen=True)
class FillLayout:
    """The form in which frames and rows arrive at the operator, and the schema of the result."""

    plan: FillPlan
    columns: list[str]
    """The columns of the frames, as they arrive."""
    keys: list[str]
    roles: dict[str, str | None]
    """The columns that hold a frame's number, start, end, `fragment` and `final`. A frame without the last two is
    whole.
    """
    moves: dict[str, int | float]
    """How far starts and ends still have to be moved."""
    before: int | float
    """How far `wr.widen` moves the starts back, also those in punctuation."""
    schema: StructType

    @classmethod
    def of(cls, frames: DataFrame, source: DataFrame, query: FillQuery, recipe: FrameStream | None) -> FillLayout:
        """Build the layout of a query."""
        at = dict(zip(frames.columns, wire.columns(len(frames.columns)), strict=True))
        in_pieces = frames.isStreaming and "fragment" in at and "final" in at
        roles: dict[str, str | None] = {
            "number": at[query.frames.number],
            "start": at[query.frames.start],
            "end": at[query.frames.end],
            "fragment": at["fragment"] if in_pieces else None,
            "final": at["final"] if in_pieces else None,
        }
        spanning: dict[str, str] = {role: at[role] for role in ("start", "end", "count") if in_pieces and role in at}
        plan = FillPlan(
            query.clock,
            tuple(arrow_type(StructField(wire.key(i), kind), "by") for i, kind in enumerate(query.key_types)),
            tuple(query.accumulators),
            tuple(wire.value(j) if name else None for j, name in enumerate(query.source.values)),
            tuple(wire.tie(i) for i in range(len(query.source.order_by))),
            () if query.agg else tuple(wire_names(source, query)),
            tuple(at.values()) if query.agg else (),
            spanning,
            _fingerprint(frames, source, query, recipe),
            frames_are_table=not frames.isStreaming,
            rows_are_table=not source.isStreaming,
            before=recipe.before if recipe else 0,
        )
        moves = {"start": -recipe.before, "end": recipe.after} if recipe and not recipe.selected else {}
        keys = [at[name] for name in query.frames.by]
        return cls(plan, list(at.values()), keys, roles, moves, plan.before, _result(frames, source, query))

    def frames(self, table: pa.Table) -> pa.Table:
        """Return pieces of frames in the form that the filler takes."""
        for missing in self.columns[table.num_columns :]:
            # The column for late rows, which frames do not have.
            table = table.append_column(missing, pa.nulls(len(table)))
        table = self._moved(table.rename_columns(self.columns))
        table = table.filter(table.column(self.roles["number"]).is_valid())
        clock = self.plan.clock.type
        kinds = {"number": pa.int64(), "start": clock, "end": clock, "fragment": pa.int64(), "final": pa.bool_()}
        whole = {"fragment": pa.array(np.zeros(len(table), np.int64)), "final": pa.array(np.ones(len(table), np.bool_))}
        arrived = {wire.key(i): table.column(key) for i, key in enumerate(self.keys)}
        for role, kind in kinds.items():
            name = self.roles[role]
            arrived[role] = whole[role] if name is None else table.column(name).cast(kind)
        return pa.table(arrived | {name: table.column(name) for name in self.plan.frame_columns})

    def _moved(self, table: pa.Table) -> pa.Table:
        """Return the frames with the starts and ends that `wr.widen` gives them."""
        for role, length in self.moves.items():
            name = self.roles[role]
            if length and name:
                at = table.schema.get_field_index(name)
                table = table.set_column(at, name, move(table.column(name), length))
        return table

    def under_way(self, punctuation: bytes | None) -> pa.Table | None:
        """Return the starts of open frames from a bucket's punctuation, or None if it sent none."""
        if not punctuation:
            return None
        (table,) = unpack(punctuation)
        start = self.plan.clock.write(table.column("start").combine_chunks())
        return table.set_column(table.num_columns - 1, "start", move(start, -self.before))


def wire_names(source: DataFrame, query: FillQuery) -> list[str]:
    """Return the name under which each column of a row travels: `on` or a key if it equals one, else its own."""
    same = {query.source.on: (wire.ON, query.time)}
    same |= {name: (wire.key(i), query.key_types[i]) for i, name in enumerate(query.source.by)}
    names = []
    for i, field in enumerate(source.schema.fields):
        name, kind = same.get(field.name, ("", None))
        names.append(name if kind == field.dataType else wire.column(i))
    return names


def move(column: pa.Array | pa.ChunkedArray, length: int | float) -> pa.Array:
    """Move instants. Those that would leave the range of their type are clamped to its limit."""
    clock = Clock.of(column.type, "on")
    values = clock.read(column)
    numbers = values.numbers
    if clock.dtype == np.int64:
        narrow = np.iinfo(f"int{column.type.bit_width}")
        low, high = (narrow.min, narrow.max)
        outside = numbers < low - length if length < 0 else numbers > high - length
        numbers = np.where(outside, low if length < 0 else high, np.where(outside, 0, numbers) + int(length))
    else:
        numbers = numbers + length
    mask = ~values.valid if values.valid.size else None
    return clock.write(pa.array(numbers, mask=mask))


def _result(frames: DataFrame, source: DataFrame, query: FillQuery) -> StructType:
    if query.agg:
        fields = [*frames.schema.fields, *aggregate_fields(source, query.source)]
    else:
        fields = [*source.schema.fields, StructField("frame", LongType(), nullable=False)]
    # Without the metadata of the fields, such as a watermark.
    return StructType([StructField(field.name, field.dataType, field.nullable) for field in fields])


def _fingerprint(frames: DataFrame, source: DataFrame, query: FillQuery, recipe: FrameStream | None) -> dict[str, str]:
    """Return everything that a saved state depends on. Saved states contain these names and texts."""
    return {
        "on": query.source.on,
        "by": str(list(query.source.by)),
        "agg": str([repr(aggregate) for aggregate in query.agg.values()]),
        "order_by": str(list(query.source.order_by)),
        "columns of the frames": frames.schema.simpleString(),
        "columns of the source": source.schema.simpleString(),
        "frames in a stream": str(frames.isStreaming),
        "source in a stream": str(source.isStreaming),
        "before": str(recipe.before if recipe else 0),
        "after": str(recipe.after if recipe else 0),
    }
