"""`fill` on streams of frames, of rows, or of both: one stateful operator whose state is stored per bucket of groups.

A side that is a table becomes the operator's initial state, before the first batch, so the operator is the same
whichever side is a stream. `filling/filler.py` does the work.

If the frames are the unmodified result of `wr.frames` or `wr.widen`, their `FrameStream` is the recipe by which this
module builds the framing operator again, with punctuation: see `streams/punctuation.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.filling.codec import KIND
from windrow.filling.filler import Filler
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows import wire
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.spark.failures import plain_errors
from windrow.spark.resolve.columns import column, value_of
from windrow.spark.resolve.fills import FRAME_NEEDS, FillQuery
from windrow.spark.streams.buckets import BucketState, check_state_store, in_buckets, out_of_buckets
from windrow.spark.streams.fill_checks import check_sides
from windrow.spark.streams.fill_layout import FillLayout, wire_names
from windrow.spark.streams.lineage import (
    after,
    comes_in_order,
    delay_of,
    known_at_of,
    marked,
    with_known_at,
)
from windrow.spark.streams.options import StreamOptions
from windrow.spark.streams.punctuation import FrameStream
from windrow.spark.streams.saved import FILLING, FRAMING, FROM_TABLE, buckets_of, in_schema, parts_of
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.tuning import current_tuning

COUNTED = ("tuples", "frames", "late", "held", "dropped")
"""The counts per batch, shown in `observedMetrics` of the query's progress."""
_FILLED_SPARK = ", ".join(f"{name} long" for name in COUNTED) + ", known_at long, data binary"
_queries = count(1)


def stream_fill(
    frames: DataFrame, source: DataFrame, query: FillQuery, nulls_on: str, options: StreamOptions
) -> DataFrame:
    """Tag rows with their frames, or aggregate them per frame, on streams."""
    check_state_store(frames)
    start, end = query.frames.start, query.frames.end
    recipe = FrameStream.behind(frames, start, end) if frames.isStreaming else None
    check_sides(frames, source, query, recipe, options)
    delay = delay_of(*(side for side in (frames, source) if side.isStreaming))
    in_order = [name for name in (start, end) if query.agg and comes_in_order(frames, name, query.frames.by)]
    frames, source = _without_known_at(frames), source if query.agg else _without_known_at(source)
    layout = FillLayout.of(frames, source, query, recipe)
    schema = with_known_at(layout.schema, delay, flushed=options.flush is not None)
    if options.flush is not None:
        return _flushed(frames.sparkSession, replace(layout, schema=schema), recipe, options.flush)
    buckets = 1 if not query.source.by else recipe.buckets if recipe else options.buckets or current_tuning().buckets
    packed_rows = _packed_rows(source, query, buckets, nulls_on)
    packed_frames = _packed_frames(frames, query, recipe, buckets)
    if frames.isStreaming and source.isStreaming:
        streams, table = packed_frames.unionAll(packed_rows), None
    else:
        streams, table = (packed_frames, packed_rows) if frames.isStreaming else (packed_rows, packed_frames)
    timed = source.isStreaming or not (recipe and recipe.plan.per_group)
    filled = streams.groupBy("bucket").transformWithStateInPandas(
        FillProcessor(layout, timed),
        outputStructType=_FILLED_SPARK,
        outputMode="Append",
        timeMode="EventTime" if timed or delay is not None else "None",
        initialState=None if table is None else table.groupBy("bucket"),
    )
    counted = filled.observe(f"windrow fill {next(_queries)}", *(F.sum(name).alias(name) for name in COUNTED))
    return out_of_buckets(counted, marked(schema, uuid4().hex, query.frames.by, in_order) if query.agg else schema)


def _without_known_at(df: DataFrame) -> DataFrame:
    """Return a side without its own `known_at`: the result has another."""
    name = known_at_of(df)
    return df if name is None else df.drop(name)


# Packing.


def _packed_rows(source: DataFrame, query: FillQuery, buckets: int | None, nulls_on: str) -> DataFrame:
    """Pack rows and send them to their buckets."""
    roles = query.source
    selected = {} if query.agg else dict(zip(wire_names(source, query), map(column, source.columns), strict=True))
    selected |= {
        wire.key(i): column(name).cast(kind)
        for i, (name, kind) in enumerate(zip(roles.by, query.key_types, strict=True))
    }
    selected[wire.ON] = column(roles.on).cast(query.time)
    selected |= {wire.tie(i): column(name) for i, name in enumerate(roles.order_by)}
    selected |= {wire.value(j): value_of(value) for j, value in enumerate(roles.values) if value}
    rows = source.select(*(value.alias(name) for name, value in selected.items()))
    required = {wire.ON: roles.on, **{wire.key(i): name for i, name in enumerate(roles.by)}}
    keys = [*map(F.col, wire.keys(len(roles.by)))]
    packed = in_buckets(rows, keys, buckets, required, nulls_on)
    no_punctuation = F.lit(None).cast("binary").alias("open")
    return packed.select("bucket", "buckets", F.lit(False).alias("frames"), "dropped", no_punctuation, "data")


def _packed_frames(frames: DataFrame, query: FillQuery, recipe: FrameStream | None, buckets: int | None) -> DataFrame:
    """Pack frames and send them to their buckets, with punctuation if there is any."""
    none_dropped, are_frames = F.lit(0).cast("long").alias("dropped"), F.lit(True).alias("frames")
    if recipe and not recipe.selected:
        return recipe.with_punctuation(False).select("bucket", "buckets", are_frames, none_dropped, "open", "data")
    if recipe:
        # Late rows that were emitted are not frames.
        frames = frames.where(column(query.frames.number).isNotNull())
    at = dict(zip(frames.columns, wire.columns(len(frames.columns)), strict=True))
    renamed = frames.select(*(column(name).alias(wire_name) for name, wire_name in at.items()))
    keys = [F.col(at[name]).cast(kind) for name, kind in zip(query.frames.by, query.key_types, strict=True)]
    required = [*query.frames.by, query.frames.number]
    if not {"fragment", "final"} <= at.keys():
        required += [query.frames.start, query.frames.end]
    packed = in_buckets(renamed, keys, buckets, {at[name]: name for name in required}, "error", FRAME_NEEDS)
    no_punctuation = F.lit(None).cast("binary").alias("open")
    selected = packed.select("bucket", "buckets", are_frames, none_dropped, no_punctuation, "data")
    if not recipe:
        return selected
    no_frames = F.lit(b"").alias("data")
    return selected.unionAll(
        recipe.with_punctuation(True).select("bucket", "buckets", are_frames, none_dropped, "open", no_frames)
    )


# The end of a stream.


def _flushed(
    spark: SparkSession, layout: FillLayout, recipe: FrameStream | None, checkpoint: str | os.PathLike[str]
) -> DataFrame:
    """Return the remaining results of a finished stream, including the frames that its end leaves."""
    states = buckets_of(spark, checkpoint, FILLING, fingerprint=layout.plan.fingerprint).withColumn(
        "framing", F.lit(False)
    )
    if recipe:
        framing = buckets_of(spark, checkpoint, FRAMING, fingerprint=recipe.plan.fingerprint)
        states = states.unionAll(framing.withColumn("framing", F.lit(True)))
    return states.groupBy("bucket").applyInArrow(_finish(layout, recipe.plan if recipe else None), layout.schema)


def _finish(layout: FillLayout, framing: StreamPlan | None) -> FROM_TABLE:
    schema = to_arrow_schema(layout.schema)

    def finish(table: pa.Table) -> pa.Table:
        of_framing, of_filling = table.filter(table["framing"]), table.filter(pc.invert(table["framing"]))
        frames: list[pa.Table] = []
        if len(of_framing) and framing:
            state, pieces = parts_of(of_framing)
            frames = [layout.frames(left) for left in StreamFramer.load(framing, pieces, state).finish()]
        state_of_filling, rows = parts_of(of_filling) if len(of_filling) else (None, MemoryShelf())
        results = Filler.load(layout.plan, rows, state_of_filling).finish(frames)
        return in_schema(pa.concat_tables(results), schema) if results else schema.empty_table()

    return finish


class FillProcessor(StatefulProcessor):
    """A stateful operator that stores a bucket's state and wakes it once the watermark has passed buffered rows."""

    def __init__(self, layout: FillLayout, timed: bool) -> None:
        self.layout, self.timed = layout, timed

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables: the frames with all they need, and the rows."""
        self.state = BucketState(handle, KIND, *FILLING)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Store a side that is a table, before the stream starts."""
        arrived = Arrived(self.layout)
        arrived.add(initialState)
        filler = Filler.load(self.layout.plan, self.state.shelf, self.state.load(arrived.buckets))
        filler.take_table(arrived.rows, arrived.frames)
        self._save(filler, 0, None)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Process the frames or rows that arrived."""
        arrived = Arrived(self.layout)
        for batch in rows:
            arrived.add(batch)
        with plain_errors():
            result = self._step(arrived, timerValues, None)
        yield result

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Process what the watermark has passed."""
        with plain_errors():
            result = self._step(Arrived(self.layout), timerValues, expiredTimerInfo.getExpiryTimeInMs())
        yield result

    def _step(self, arrived: Arrived, timer_values: Any, expired: int | None) -> pd.DataFrame:
        filler = Filler.load(self.layout.plan, self.state.shelf, self.state.load(arrived.buckets))
        reached = timer_values.getCurrentWatermarkInMs() if self.timed else 0
        # A bucket of the framing operator is woken when the watermark is past its event, not when it reaches it, so
        # rows of the last millisecond may not have been framed yet.
        watermark = 1000 * (reached - 1) if reached > 0 else None
        results = filler.step(arrived.rows, arrived.frames, watermark, arrived.under_way)
        self._save(filler, reached, expired)
        counts = filler.counts
        counted = (counts.rows, counts.frames, counts.late, filler.held.rows, arrived.dropped)
        row: dict[str, Any] = dict(zip(COUNTED, counted, strict=True))
        row |= {"known_at": after(timer_values.getCurrentWatermarkInMs()), "data": pack(results)}
        return pd.DataFrame({name: [value] for name, value in row.items()})

    def _save(self, filler: Filler, reached: int, expired: int | None) -> None:
        event = filler.held.next_event() if self.timed else None
        self.state.save(filler.save(), None if event is None else 1 - (-event // 1000), reached, expired)


class Arrived:
    """The rows, frames and punctuation that arrived at a bucket in one batch."""

    def __init__(self, layout: FillLayout) -> None:
        self._layout = layout
        self.rows: list[pa.Table] = []
        self.frames: list[pa.Table] = []
        self.under_way: pa.Table | None = None
        self.dropped = 0
        self.buckets: int | None = None

    def add(self, packed: pd.DataFrame) -> None:
        """Add the pieces in one pandas DataFrame."""
        self.dropped += int(packed["dropped"].sum())
        self.buckets = int(packed["buckets"].iloc[0]) if len(packed) else self.buckets
        for are_frames, punctuation, data in zip(packed["frames"], packed["open"], packed["data"], strict=True):
            if not are_frames:
                self.rows += unpack(data)
                continue
            self.frames += [self._layout.frames(table) for table in unpack(data)]
            under_way = self._layout.under_way(punctuation)
            self.under_way = self.under_way if under_way is None else under_way
