"""`fill` on streams of frames, of rows, or of both: one stateful operator whose state is stored per bucket of groups.

A side that is a table becomes the operator's initial state, before the first batch, so the operator is the same
whichever side is a stream. `filling/filler.py` does the work.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError
from windrow.filling.codec import KIND
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.rows.waiting import MemoryShelf
from windrow.spark.failures import plain_errors
from windrow.spark.resolve.columns import Columns, arrow_type, column
from windrow.spark.resolve.fills import FRAME_NEEDS, FillQuery, aggregate_fields
from windrow.spark.streams.buckets import BucketState, check_state_store, in_buckets, out_of_buckets
from windrow.spark.streams.options import StreamOptions, check_watermark, has_watermark
from windrow.spark.streams.punctuation import FrameStream
from windrow.spark.streams.saved import FILLING, FRAMING, FROM_TABLE, buckets_of, in_schema, parts_of
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.tuning import current_tuning

COUNTED = ("tuples", "frames", "late", "held", "dropped")
"""The counts per batch, shown in `observedMetrics` of the query's progress."""
_FILLED_SPARK = ", ".join(f"{name} long" for name in COUNTED) + ", data binary"
_queries = count(1)


def stream_fill(
    framed: DataFrame, tuples: DataFrame, meeting: FillQuery, nulls_on: str, options: StreamOptions
) -> DataFrame:
    """Tag rows with their frames, or aggregate them per frame, on streams.

    If `framed` is the unmodified result of `wr.frames` or `wr.widen`, its framing operator is built again with
    punctuation: see `streams/punctuation.py`.
    """
    check_state_store(framed)
    made_of = FrameStream.of(framed) if framed.isStreaming else None
    _check_sides(framed, tuples, meeting, made_of)
    sides = FillLayout.of(framed, tuples, meeting, made_of)
    if options.flush is not None:
        return _flushed(framed.sparkSession, sides, made_of, options.flush)
    buckets = 1 if not meeting.tuple_keys else made_of.buckets if made_of else current_tuning().buckets
    packed_tuples = _tuples(tuples, meeting, sides, buckets, nulls_on)
    packed_frames = _frames(framed, meeting, made_of, buckets)
    timed = tuples.isStreaming or not (made_of and made_of.plan.ordered)
    processor = FillProcessor(sides, buckets, timed)
    if framed.isStreaming and tuples.isStreaming:
        streams, known = packed_frames.unionAll(packed_tuples), None
    else:
        streams, known = (packed_frames, packed_tuples) if framed.isStreaming else (packed_tuples, packed_frames)
    found = streams.groupBy("bucket").transformWithStateInPandas(
        processor,
        outputStructType=_FILLED_SPARK,
        outputMode="Append",
        timeMode="EventTime" if timed else "None",
        initialState=None if known is None else known.groupBy("bucket"),
    )
    counted = found.observe(f"windrow fill {next(_queries)}", *(F.sum(name).alias(name) for name in COUNTED))
    return out_of_buckets(counted, sides.schema)


def _check_sides(framed: DataFrame, tuples: DataFrame, meeting: FillQuery, made_of: FrameStream | None) -> None:
    """Reject sides that cannot be filled in a stream."""
    if tuples.isStreaming:
        check_watermark(tuples, meeting.on)
        if made_of and made_of.plan.ordered:
            raise UnsupportedError(
                "frames: they are framed with ordered=True, without a watermark, so nothing tells when a tuple of the "
                "source can be in no frame any more; frame them by a watermark"
            )
    if not framed.isStreaming:
        return
    if made_of is None:
        _check_foreign(framed, meeting)
        return
    if meeting.frame_keys != made_of.plan.request.by:
        raise UnsupportedError(
            f"by: {list(meeting.frame_keys)} are not the columns by which the stream was framed, "
            f"{list(made_of.plan.request.by)}; a stream of frames is filled by the groups it was framed by"
        )
    types = {field.name: field.dataType for field in framed.schema.fields}
    for name, kind in zip(meeting.frame_keys, meeting.key_types, strict=True):
        if types[name] != kind:
            raise TypeMismatchError(
                f"by: column {name!r} is of type {types[name].simpleString()} in the frames and of a wider type in the "
                f"source; cast it to {kind.simpleString()} before the stream is framed"
            )


def _check_foreign(framed: DataFrame, meeting: FillQuery) -> None:
    """Reject a stream of frames without punctuation or a watermark on `start`."""
    if is_framed_here(framed):
        raise UnsupportedError(
            "frames: this stream is no longer what wr.frames or wr.widen gave, so it cannot tell when a tuple of the "
            "source can be in no frame any more; fill the frames as they are and filter the result, or write the "
            "frames to a table or topic and fill the stream that is read from there"
        )
    start = framed.schema[meeting.start]
    if not isinstance(start.dataType, TimestampType) or not has_watermark(start):
        raise SpecError(
            f"frames: nothing tells when all frames of some time have come; call withWatermark({start.name!r}, "
            "'1 hour') on this stream of frames, with a delay as long as a frame may take to come after its start"
        )


def is_framed_here(frames: DataFrame) -> bool:
    """Return whether a stream is the result of a Windrow operator in the same query.

    A watermark on such a stream would wait for itself: it advances with the frames, which are emitted as it advances.
    """
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        frames.explain(True)
    return "TransformWithStateInPySpark" in plan.getvalue()


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
    moved: dict[str, int | float]
    """How far starts and ends still have to be moved."""
    schema: StructType

    @classmethod
    def of(cls, framed: DataFrame, tuples: DataFrame, meeting: FillQuery, made_of: FrameStream | None) -> FillLayout:
        """Build the layout of a query."""
        names = framed.columns
        at = {name: wire.column(i) for i, name in enumerate(names)}
        in_pieces = framed.isStreaming and "fragment" in at and "final" in at
        roles: dict[str, str | None] = {
            "number": at[meeting.frame], "start": at[meeting.start], "end": at[meeting.end],
            "fragment": at["fragment"] if in_pieces else None, "final": at["final"] if in_pieces else None,
        }  # fmt: skip
        of_all: dict[str, str] = {role: at[role] for role in ("start", "end", "count") if in_pieces and role in at}
        if meeting.agg:
            schema = StructType([*framed.schema.fields, *aggregate_fields(tuples, meeting)])
        else:
            schema = StructType([*tuples.schema.fields, StructField("frame", LongType(), nullable=False)])
        plan = FillPlan(
            meeting.clock,
            tuple(arrow_type(StructField(wire.key(i), kind), "by") for i, kind in enumerate(meeting.key_types)),
            tuple(meeting.accumulators),
            tuple(wire.value(j) if name else None for j, name in enumerate(meeting.values)),
            tuple(wire.tie(i) for i in range(len(meeting.order_by))),
            tuple(_travels_as(tuples, meeting)) if not meeting.agg else (),
            tuple(at.values()) if meeting.agg else (),
            of_all,
            _asked(framed, tuples, meeting, made_of),
            frames_are_table=not framed.isStreaming,
            rows_are_table=not tuples.isStreaming,
            before=made_of.before if made_of else 0,
        )
        moved = {"start": -made_of.before, "end": made_of.after} if made_of else {}
        schema = StructType([StructField(f.name, f.dataType, f.nullable) for f in schema.fields])
        return cls(plan, list(at.values()), [at[name] for name in meeting.frame_keys], roles, moved, schema)

    def frames(self, table: pa.Table) -> pa.Table:
        """Return pieces of frames in the form that the filler takes."""
        for i in range(table.num_columns, len(self.columns)):
            # The column for late rows, which frames do not have.
            table = table.append_column(self.columns[i], pa.nulls(len(table)))
        table = table.rename_columns(self.columns)
        for role, length in self.moved.items():
            name = self.roles[role]
            if length and name:
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, moved(table.column(name), length))
        table = table.filter(table.column(self.roles["number"]).is_valid())
        clock = self.plan.clock.type
        kinds = {"number": pa.int64(), "start": clock, "end": clock, "fragment": pa.int64(), "final": pa.bool_()}
        whole = {"fragment": pa.array(np.zeros(len(table), np.int64)), "final": pa.array(np.ones(len(table), np.bool_))}
        named = {wire.key(i): table.column(key) for i, key in enumerate(self.keys)}
        for role, kind in kinds.items():
            name = self.roles[role]
            named[role] = whole[role] if name is None else table.column(name).cast(kind)
        return pa.table(named | {name: table.column(name) for name in self.plan.frame_columns})

    def under_way(self, data: bytes) -> pa.Table | None:
        """Return the starts of open frames from a bucket's punctuation, or None if it sent none."""
        if not data:
            return None
        (table,) = unpack(data)
        start = self.plan.clock.write(table.column("start").combine_chunks())
        return table.set_column(table.num_columns - 1, "start", moved(start, self.moved.get("start", 0)))


def moved(column: pa.Array | pa.ChunkedArray, length: int | float) -> pa.Array:
    """Move instants. Those that would leave the range of their type are clamped to its limit."""
    clock = Clock.of(column.type, "on")
    values = clock.read(column)
    numbers = values.numbers
    if clock.dtype == np.int64:
        narrow = np.iinfo(f"int{column.type.bit_width}")
        low, high = (narrow.min, narrow.max)
        room = numbers < low - length if length < 0 else numbers > high - length
        numbers = np.where(room, low if length < 0 else high, np.where(room, 0, numbers) + int(length))
    else:
        numbers = numbers + length
    mask = ~values.valid if values.valid.size else None
    return clock.write(pa.array(numbers, mask=mask))


def _asked(framed: DataFrame, tuples: DataFrame, meeting: FillQuery, made_of: FrameStream | None) -> dict[str, str]:
    return {
        "on": meeting.on,
        "by": str(list(meeting.tuple_keys)),
        "agg": str([repr(aggregate) for aggregate in meeting.agg.values()]),
        "order_by": str(list(meeting.order_by)),
        "columns of the frames": framed.schema.simpleString(),
        "columns of the source": tuples.schema.simpleString(),
        "frames in a stream": str(framed.isStreaming),
        "source in a stream": str(tuples.isStreaming),
        "before": str(made_of.before if made_of else 0),
        "after": str(made_of.after if made_of else 0),
    }


def _travels_as(tuples: DataFrame, meeting: FillQuery) -> list[str]:
    """Return the name under which each column of a row travels: `on` or a key if it equals one, else its own."""
    same = {meeting.on: ("on", meeting.time)}
    same |= {name: (wire.key(i), meeting.key_types[i]) for i, name in enumerate(meeting.tuple_keys)}
    names = []
    for i, field in enumerate(tuples.schema.fields):
        at, kind = same.get(field.name, ("", None))
        names.append(at if kind == field.dataType else wire.column(i))
    return names


def _tuples(tuples: DataFrame, meeting: FillQuery, sides: FillLayout, buckets: int, nulls_on: str) -> DataFrame:
    """Pack rows and send them to their buckets."""
    columns = Columns(tuples)
    chosen = {
        wire.key(i): column(name).cast(kind)
        for i, (name, kind) in enumerate(zip(meeting.tuple_keys, meeting.key_types, strict=True))
    }
    chosen["on"] = column(meeting.on).cast(meeting.time)
    chosen |= {wire.tie(i): column(name) for i, name in enumerate(meeting.order_by)}
    for j, name in enumerate(meeting.values):
        if name:
            chosen[wire.value(j)] = column(columns.find(name, "agg"))
    if not meeting.agg:
        chosen = {
            at: column(name) for name, at in zip(tuples.columns, _travels_as(tuples, meeting), strict=True)
        } | chosen
    selected = tuples.select(*(value.alias(name) for name, value in chosen.items()))
    places = {"on": meeting.on, **{wire.key(i): name for i, name in enumerate(meeting.tuple_keys)}}
    keys = [*map(F.col, wire.keys(len(meeting.tuple_keys)))]
    packed = in_buckets(selected, keys, buckets, places, nulls_on)
    return packed.select(
        "bucket", F.lit(False).alias("frames"), "dropped", F.lit(None).cast("binary").alias("open"), "data"
    )


def _frames(framed: DataFrame, meeting: FillQuery, made_of: FrameStream | None, buckets: int) -> DataFrame:
    """Pack frames and send them to their buckets, with punctuation if there is any."""
    none, is_frames = F.lit(0).cast("long").alias("dropped"), F.lit(True).alias("frames")
    if made_of:
        return made_of.with_punctuation().select("bucket", is_frames, none, "open", "data")
    renamed = framed.select(*(column(name).alias(wire.column(i)) for i, name in enumerate(framed.columns)))
    at = {name: wire.column(i) for i, name in enumerate(framed.columns)}
    keys = [F.col(at[name]).cast(kind) for name, kind in zip(meeting.frame_keys, meeting.key_types, strict=True)]
    required = [*meeting.frame_keys, meeting.frame]
    if not {"fragment", "final"} <= at.keys():
        required += [meeting.start, meeting.end]
    packed = in_buckets(renamed, keys, buckets, {at[name]: name for name in required}, "error", FRAME_NEEDS)
    return packed.select("bucket", is_frames, none, F.lit(None).cast("binary").alias("open"), "data")


def _flushed(
    spark: SparkSession, sides: FillLayout, made_of: FrameStream | None, checkpoint: str | os.PathLike[str]
) -> DataFrame:
    """Return the remaining results of a finished stream, including the frames that its end leaves."""
    rows = buckets_of(spark, checkpoint, FILLING, fingerprint=sides.plan.fingerprint).withColumn(
        "framing", F.lit(False)
    )
    if made_of:
        framing = buckets_of(spark, checkpoint, FRAMING, fingerprint=made_of.plan.fingerprint)
        rows = rows.unionAll(framing.withColumn("framing", F.lit(True)))
    return rows.groupBy("bucket").applyInArrow(_finish(sides, made_of.plan if made_of else None), sides.schema)


def _finish(sides: FillLayout, framing: StreamPlan | None) -> FROM_TABLE:
    schema = to_arrow_schema(sides.schema)

    def finish(table: pa.Table) -> pa.Table:
        of_framing, of_filling = table.filter(table["framing"]), table.filter(pc.invert(table["framing"]))
        frames: list[pa.Table] = []
        if len(of_framing) and framing:
            state, pieces = parts_of(of_framing)
            frames = [sides.frames(found) for found in StreamFramer.load(framing, pieces, state).finish()]
        filling, tuples = parts_of(of_filling) if len(of_filling) else (None, MemoryShelf())
        found = Filler.load(sides.plan, tuples, filling).finish(frames)
        return in_schema(pa.concat_tables(found), schema) if found else schema.empty_table()

    return finish


class FillProcessor(StatefulProcessor):
    """A stateful operator that stores a bucket's state and wakes it once the watermark has passed buffered rows."""

    def __init__(self, sides: FillLayout, buckets: int, timed: bool) -> None:
        self.sides, self.buckets, self.timed = sides, buckets, timed

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables: the frames with all they need, and the rows."""
        self.state = BucketState(handle, KIND, *FILLING, self.buckets)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Store a side that is a table, before the stream starts."""
        filler = Filler.load(self.sides.plan, self.state.shelf, self.state.load())
        arrived = Arrived(self.sides)
        arrived.add(initialState)
        filler.take_table(arrived.tuples, arrived.frames)
        self._save(filler, 0, None)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Process the frames or rows that arrived."""
        arrived = Arrived(self.sides)
        for frame in rows:
            arrived.add(frame)
        with plain_errors():
            found = self._step(arrived, timerValues, None)
        yield found

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Process what the watermark has passed."""
        with plain_errors():
            found = self._step(Arrived(self.sides), timerValues, expiredTimerInfo.getExpiryTimeInMs())
        yield found

    def _step(self, arrived: Arrived, timer_values: Any, expired: int | None) -> pd.DataFrame:
        filler = Filler.load(self.sides.plan, self.state.shelf, self.state.load())
        reached = timer_values.getCurrentWatermarkInMs() if self.timed else 0
        # A bucket of the framing operator is woken when the watermark is past its event, not when it reaches it, so
        # rows of the last millisecond may not have been framed yet.
        watermark = 1000 * (reached - 1) if reached > 0 else None
        found = filler.step(arrived.tuples, arrived.frames, watermark, arrived.under_way)
        self._save(filler, reached, expired)
        counts = filler.counts
        told = {"tuples": counts.rows, "frames": counts.frames, "late": counts.late, "held": filler.held.rows}
        told["dropped"] = arrived.dropped
        return pd.DataFrame({name: [value] for name, value in (told | {"data": pack(found)}).items()})

    def _save(self, filler: Filler, reached: int, expired: int | None) -> None:
        event = filler.held.next_event() if self.timed else None
        self.state.save(filler.save(), None if event is None else 1 - (-event // 1000), reached, expired)


class Arrived:
    """The rows, frames and punctuation that arrived at a bucket in one batch."""

    def __init__(self, sides: FillLayout) -> None:
        self._sides = sides
        self.tuples: list[pa.Table] = []
        self.frames: list[pa.Table] = []
        self.under_way: pa.Table | None = None
        self.dropped = 0

    def add(self, rows: pd.DataFrame) -> None:
        """Add the rows of one pandas DataFrame."""
        self.dropped += int(rows["dropped"].sum())
        for is_frames, told, data in zip(rows["frames"], rows["open"], rows["data"], strict=True):
            if not is_frames:
                self.tuples += unpack(data)
                continue
            self.frames += [self._sides.frames(table) for table in unpack(data)]
            under_way = self._sides.under_way(told) if told else None
            self.under_way = self.under_way if under_way is None else under_way
