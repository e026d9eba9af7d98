"""`fill` on streams of frames, of rows, or of both: one stateful operator whose state is stored per bucket of groups.

A side that is a table becomes the operator's initial state, before the first batch, so the operator is the same
whichever side is a stream. `filling/filler.py` does the work.

If the frames are the unmodified result of `wr.frames` or `wr.widen`, their `FrameStream` is the recipe by which this
module builds the framing operator again, with punctuation: see `streams/punctuation.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import TimestampType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError
from windrow.filling.codec import KIND
from windrow.filling.filler import Filler
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows import wire
from windrow.rows.waiting import MemoryShelf
from windrow.spark.failures import plain_errors
from windrow.spark.resolve.columns import Columns, column
from windrow.spark.resolve.fills import FRAME_NEEDS, FillQuery
from windrow.spark.streams.buckets import BucketState, check_state_store, in_buckets, out_of_buckets
from windrow.spark.streams.fill_layout import FillLayout, wire_names
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
    frames: DataFrame, source: DataFrame, query: FillQuery, nulls_on: str, options: StreamOptions
) -> DataFrame:
    """Tag rows with their frames, or aggregate them per frame, on streams."""
    check_state_store(frames)
    recipe = FrameStream.of(frames) if frames.isStreaming else None
    _check_sides(frames, source, query, recipe)
    layout = FillLayout.of(frames, source, query, recipe)
    if options.flush is not None:
        return _flushed(frames.sparkSession, layout, recipe, options.flush)
    buckets = 1 if not query.source.by else recipe.buckets if recipe else current_tuning().buckets
    packed_rows = _packed_rows(source, query, buckets, nulls_on)
    packed_frames = _packed_frames(frames, query, recipe, buckets)
    if frames.isStreaming and source.isStreaming:
        streams, table = packed_frames.unionAll(packed_rows), None
    else:
        streams, table = (packed_frames, packed_rows) if frames.isStreaming else (packed_rows, packed_frames)
    timed = source.isStreaming or not (recipe and recipe.plan.per_group)
    filled = streams.groupBy("bucket").transformWithStateInPandas(
        FillProcessor(layout, buckets, timed),
        outputStructType=_FILLED_SPARK,
        outputMode="Append",
        timeMode="EventTime" if timed else "None",
        initialState=None if table is None else table.groupBy("bucket"),
    )
    counted = filled.observe(f"windrow fill {next(_queries)}", *(F.sum(name).alias(name) for name in COUNTED))
    return out_of_buckets(counted, layout.schema)


# Checks.


def _check_sides(frames: DataFrame, source: DataFrame, query: FillQuery, recipe: FrameStream | None) -> None:
    """Reject sides that cannot be filled in a stream."""
    if source.isStreaming:
        check_watermark(source, query.source.on)
        if recipe and recipe.plan.per_group:
            how = "ordered=True" if recipe.plan.ordered else "delay="
            raise UnsupportedError(
                f"frames: framed with {how}, so no watermark shows when a row of the source can no longer be in "
                "a frame; frame the stream by a watermark"
            )
    if recipe is not None:
        _check_keys(frames, query, recipe)
    elif frames.isStreaming:
        _check_foreign(frames, query)


def _check_keys(frames: DataFrame, query: FillQuery, recipe: FrameStream) -> None:
    """Reject groups other than those by which the stream was framed."""
    framed_by = recipe.plan.request.by
    if query.frames.by != framed_by:
        raise UnsupportedError(
            f"by: expected the columns by which the stream was framed, {list(framed_by)}, got {list(query.frames.by)}; "
            "a stream of frames is filled by the groups it was framed by"
        )
    for name, kind in zip(query.frames.by, query.key_types, strict=True):
        framed_as = frames.schema[name].dataType
        if framed_as != kind:
            raise TypeMismatchError(
                f"by: column {name!r} is of type {framed_as.simpleString()} in the frames and of a wider type in the "
                f"source; cast it to {kind.simpleString()} before the stream is framed"
            )


def _check_foreign(frames: DataFrame, query: FillQuery) -> None:
    """Reject a stream of frames that has neither punctuation nor a watermark on `start`."""
    if is_framed_here(frames):
        raise UnsupportedError(
            "frames: this stream is no longer the unmodified result of wr.frames or wr.widen, so it does not show when "
            "a row of the source can no longer be in a frame; fill the frames unmodified and filter the result, or "
            "write the frames to a table or topic and fill the stream that is read from there"
        )
    start = frames.schema[query.frames.start]
    if not isinstance(start.dataType, TimestampType) or not has_watermark(start):
        raise SpecError(
            f"frames: column {start.name!r} has no watermark, so nothing shows when all frames of some time have "
            f"arrived; call withWatermark({start.name!r}, '1 hour') on this stream of frames, with a delay as long as "
            "a frame may take to arrive after its start"
        )


def is_framed_here(frames: DataFrame) -> bool:
    """Return whether a stream is the result of a Windrow operator in the same query.

    A watermark on such a stream would wait for itself: it advances with the frames, which are emitted as it advances.
    """
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        frames.explain(True)
    return "TransformWithStateInPySpark" in plan.getvalue()


# Packing.


def _packed_rows(source: DataFrame, query: FillQuery, buckets: int, nulls_on: str) -> DataFrame:
    """Pack rows and send them to their buckets."""
    roles, columns = query.source, Columns(source)
    selected = {} if query.agg else dict(zip(wire_names(source, query), map(column, source.columns), strict=True))
    selected |= {
        wire.key(i): column(name).cast(kind)
        for i, (name, kind) in enumerate(zip(roles.by, query.key_types, strict=True))
    }
    selected[wire.ON] = column(roles.on).cast(query.time)
    selected |= {wire.tie(i): column(name) for i, name in enumerate(roles.order_by)}
    selected |= {wire.value(j): column(columns.find(name, "agg")) for j, name in enumerate(roles.values) if name}
    rows = source.select(*(value.alias(name) for name, value in selected.items()))
    required = {wire.ON: roles.on, **{wire.key(i): name for i, name in enumerate(roles.by)}}
    keys = [*map(F.col, wire.keys(len(roles.by)))]
    packed = in_buckets(rows, keys, buckets, required, nulls_on)
    no_punctuation = F.lit(None).cast("binary").alias("open")
    return packed.select("bucket", F.lit(False).alias("frames"), "dropped", no_punctuation, "data")


def _packed_frames(frames: DataFrame, query: FillQuery, recipe: FrameStream | None, buckets: int) -> DataFrame:
    """Pack frames and send them to their buckets, with punctuation if there is any."""
    none_dropped, are_frames = F.lit(0).cast("long").alias("dropped"), F.lit(True).alias("frames")
    if recipe:
        return recipe.with_punctuation().select("bucket", are_frames, none_dropped, "open", "data")
    at = dict(zip(frames.columns, wire.columns(len(frames.columns)), strict=True))
    renamed = frames.select(*(column(name).alias(wire_name) for name, wire_name in at.items()))
    keys = [F.col(at[name]).cast(kind) for name, kind in zip(query.frames.by, query.key_types, strict=True)]
    required = [*query.frames.by, query.frames.number]
    if not {"fragment", "final"} <= at.keys():
        required += [query.frames.start, query.frames.end]
    packed = in_buckets(renamed, keys, buckets, {at[name]: name for name in required}, "error", FRAME_NEEDS)
    no_punctuation = F.lit(None).cast("binary").alias("open")
    return packed.select("bucket", are_frames, none_dropped, no_punctuation, "data")


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

    def __init__(self, layout: FillLayout, buckets: int, timed: bool) -> None:
        self.layout, self.buckets, self.timed = layout, buckets, timed

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables: the frames with all they need, and the rows."""
        self.state = BucketState(handle, KIND, *FILLING, self.buckets)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Store a side that is a table, before the stream starts."""
        filler = Filler.load(self.layout.plan, self.state.shelf, self.state.load())
        arrived = Arrived(self.layout)
        arrived.add(initialState)
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
        filler = Filler.load(self.layout.plan, self.state.shelf, self.state.load())
        reached = timer_values.getCurrentWatermarkInMs() if self.timed else 0
        # A bucket of the framing operator is woken when the watermark is past its event, not when it reaches it, so
        # rows of the last millisecond may not have been framed yet.
        watermark = 1000 * (reached - 1) if reached > 0 else None
        results = filler.step(arrived.rows, arrived.frames, watermark, arrived.under_way)
        self._save(filler, reached, expired)
        counts = filler.counts
        counted = (counts.rows, counts.frames, counts.late, filler.held.rows, arrived.dropped)
        row = dict(zip(COUNTED, counted, strict=True)) | {"data": pack(results)}
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

    def add(self, packed: pd.DataFrame) -> None:
        """Add the pieces in one pandas DataFrame."""
        self.dropped += int(packed["dropped"].sum())
        for are_frames, punctuation, data in zip(packed["frames"], packed["open"], packed["data"], strict=True):
            if not are_frames:
                self.rows += unpack(data)
                continue
            self.frames += [self._layout.frames(table) for table in unpack(data)]
            under_way = self._layout.under_way(punctuation)
            self.under_way = self.under_way if under_way is None else under_way
