"""Frames and windows of a stream: one stateful operator whose state is kept by bucket of groups, not by group.

Tuples travel to their bucket as pieces of Arrow, so that Spark moves a few large rows and not many small ones, and so
do frames on their way out. In between, `frames/stream.py` or `windows/stream.py` does the work; here is only Spark's
side of it: where the state is kept, when a bucket is woken, and what the query's progress tells.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BooleanType, LongType, StructField, StructType, TimestampType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError, is_one_of, quoted
from windrow.frames.arrivals import WHOLE
from windrow.frames.base import check_duration
from windrow.frames.duration import Duration, to_clock
from windrow.frames.migration import take_over
from windrow.frames.packing import pack, unpack
from windrow.frames.request import Asked, Request
from windrow.frames.stream import StreamFramer, StreamPlan
from windrow.spark.arguments import check_dataframe, check_switch
from windrow.spark.buckets import (
    BUCKETS,
    BucketState,
    check_buckets,
    check_state_store,
    in_buckets,
    out_of_buckets,
)
from windrow.spark.checkpoint import flushed
from windrow.spark.failure import plain_errors
from windrow.spark.shuffle import select_tuples
from windrow.spark.versions import to_arrow_schema
from windrow.windows.stream import SlidePlan

LATE = ("drop", "emit")
COUNTED = ("arrived", "late", "framed", "dropped", "groups", "state_bytes")
"""What is told of each batch of the query, under `observedMetrics` of its progress."""

_FOUND_SPARK = f"bucket int, {', '.join(f'{name} long' for name in COUNTED)}, open binary, data binary"
_MADE_OF = "_windrow_punctuated"
_queries = count(1)

Plan: TypeAlias = StreamPlan | SlidePlan


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is framed and reported; none of these has a meaning for a table."""

    fragments: bool = False
    ordered: bool = False
    late: str = "drop"
    buckets: int | None = None
    flush: str | os.PathLike[str] | None = None
    keep_groups: Duration | None = None
    initial: DataFrame | None = None

    def __post_init__(self) -> None:
        for name in ("fragments", "ordered"):
            check_switch(getattr(self, name), name)
        if not is_one_of(self.late, LATE):
            raise SpecError(f"late: {quoted(self.late)} is not a policy; it must be one of {', '.join(LATE)}")
        if self.flush is not None and not isinstance(self.flush, str | os.PathLike):
            raise SpecError(
                f"flush: {quoted(self.flush)} is no checkpoint; give the checkpointLocation of the query that has ended"
            )
        check_buckets(self.buckets)
        check_duration(self.keep_groups, "keep_groups")
        if self.initial is not None:
            _check_initial(self.initial)
        if self.initial is not None and self.flush is not None:
            raise SpecError("initial: a checkpoint is flushed as it is; pass either initial= or flush=")

    def refuse_for_tables(self) -> None:
        """Refuse options that only a stream can have."""
        default = StreamOptions()
        if self.initial is not None:
            raise UnsupportedError("initial: the state of a query is for streams, got a table as the source")
        for name in ("fragments", "ordered", "late", "buckets", "flush", "keep_groups"):
            if getattr(self, name) != getattr(default, name):
                raise UnsupportedError(
                    f"{name}={quoted(getattr(self, name))} is for streams, and the source is no streaming DataFrame"
                )


def _check_initial(initial: Any) -> None:
    """Refuse what cannot be the result of `wr.migrate`, by its columns."""
    check_dataframe(initial, "initial", "; wr.migrate makes one")
    if initial.isStreaming or {"bucket", "data"} - {*initial.columns}:
        what = "a stream" if initial.isStreaming else f"a table of the columns {quoted(initial.columns)}"
        raise SpecError(f"initial: expected the result of wr.migrate, a table of 'bucket' and 'data', got {what}")


def check_stream(df: DataFrame, request: Asked[Any], options: StreamOptions) -> None:
    """Refuse a stream that cannot be put in order, and a session that cannot keep its state."""
    check_state_store(df)
    if options.ordered:
        return
    check_watermark(df, request.on, "; where tuples arrive in order already, say ordered=True")


def check_watermark(df: DataFrame, on: str, otherwise: str = "") -> None:
    """Refuse a stream whose `on` does not tell when it has passed an instant; `otherwise` says what else would do."""
    field = df.schema[on]
    if not isinstance(field.dataType, TimestampType):
        raise TypeMismatchError(
            f"on: column {on!r} is of type {field.dataType.simpleString()}; a stream is put in order by the "
            f"watermark of a timestamp{otherwise}"
        )
    if not has_watermark(field):
        raise SpecError(
            f"on: column {on!r} has no watermark, so nothing tells when a tuple can be framed; call "
            f"withWatermark({on!r}, '10 seconds') on the stream{otherwise}"
        )


def has_watermark(field: StructField) -> bool:
    """Whether a column of a stream has a watermark."""
    return any("watermark" in key.lower() for key in field.metadata or {})


def stream_schema(schema: StructType, df: DataFrame, request: Request, options: StreamOptions) -> StructType:
    """The schema of a batch result, with `fragment` and `final`, and `late` if late tuples are wanted."""
    may_lack = {"start", "end"} if options.fragments else set()
    fields = [StructField(f.name, f.dataType, f.nullable or f.name in may_lack) for f in schema.fields]
    fields += [StructField("fragment", LongType(), False), StructField("final", BooleanType(), False)]
    return with_late(StructType(fields), df, request, options)


def with_late(schema: StructType, df: DataFrame, request: Asked[Any], options: StreamOptions) -> StructType:
    """A schema with `late`, if late tuples are wanted: in their rows all else but the group is null."""
    if options.late != "emit":
        return schema
    fields = [StructField(f.name, f.dataType, f.nullable or f.name not in request.by) for f in schema.fields]
    return StructType([*fields, StructField("late", StructType(df.schema.fields), True)])


def stream_frames(
    df: DataFrame, request: Request, schema: StructType, options: StreamOptions, nulls_on: str
) -> DataFrame:
    """Frames of a streaming DataFrame."""
    return in_stream(df, partial(StreamPlan, fragments=options.fragments), request, schema, options, nulls_on)


def in_stream(
    df: DataFrame,
    make_plan: Callable[..., Plan],
    request: Asked[Any],
    schema: StructType,
    options: StreamOptions,
    nulls_on: str,
) -> DataFrame:
    """What a plan, made of a request and a layout, finds in a streaming DataFrame."""
    buckets = (options.buckets or BUCKETS) if request.by else 1
    tuples, layout = select_tuples(df, request, whole_as=WHOLE if options.late == "emit" else None)
    keep = options.keep_groups
    kept = None if keep is None else to_clock(keep, request.clock.kind, "keep_groups")
    plan = make_plan(request, layout, ordered=options.ordered, keep_groups=kept)
    if options.flush is not None:
        return flushed(df.sparkSession, plan, schema, options.flush)
    places = {layout.on: request.on, **dict(zip(layout.by, request.by, strict=True))}
    packed = in_buckets(tuples, [F.col(name) for name in layout.by], buckets, places, nulls_on)
    late = to_arrow_schema(schema) if options.late == "emit" else None
    name = f"windrow {request.what!r} {next(_queries)}"

    def found(punctuates: bool) -> DataFrame:
        return (
            packed.groupBy("bucket")
            .transformWithStateInPandas(
                BucketProcessor(plan, buckets, late, punctuates),
                outputStructType=_FOUND_SPARK,
                outputMode="Append",
                timeMode="None" if options.ordered else "EventTime",
                initialState=None if options.initial is None else options.initial.groupBy("bucket"),
            )
            .observe(name, *(F.sum(name).alias(name) for name in COUNTED))
        )

    result = out_of_buckets(found(False), schema)
    if isinstance(plan, StreamPlan):
        Punctuated(plan, buckets, lambda: found(True)).is_of(result)
    return result


@dataclass(frozen=True)
class Punctuated:
    """What a stream of frames is made of: pieces of Arrow by bucket, with the frames that are under way in `open`."""

    plan: StreamPlan
    buckets: int
    found: Callable[[], DataFrame]
    before: int | float = 0
    """How far the starts of the frames were moved back …"""
    after: int | float = 0
    """… and how far their ends were moved on."""

    def widened(self, before: int | float, after: int | float) -> Punctuated:
        """The same frames, moved further."""
        return replace(self, before=self.before + before, after=self.after + after)

    def is_of(self, frames: DataFrame) -> None:
        """Let it be known that these frames are made of it."""
        frames.__dict__[_MADE_OF] = self

    @classmethod
    def of(cls, frames: DataFrame) -> Punctuated | None:
        """What a stream of frames is made of; None if it is not, or no longer, just what `wr.frames` gave."""
        return frames.__dict__.get(_MADE_OF)


class BucketProcessor(StatefulProcessor):
    """Keeps a bucket's state in Spark's state store and wakes it when the watermark has passed what waits there."""

    def __init__(self, plan: Plan, buckets: int, late: pa.Schema | None, punctuates: bool) -> None:
        self.plan, self.buckets, self.late, self.punctuates = plan, buckets, late, punctuates

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept: all that groups need, and the tuples that wait."""
        self.state = BucketState(handle, self.plan.kind, *self.plan.state, self.buckets)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Start from the state of another query."""
        with plain_errors():
            bucket = self.plan.load(self.state.shelf, self.state.load())
            for share in initialState["data"]:
                take_over(bucket, bytes(share), self.buckets)
            event = None if self.plan.ordered else bucket.next_event()
            self.state.save(bucket.save(), None if event is None else -(-event // 1000), 0, None)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Tuples arrived."""
        arrived: list[pa.Table] = []
        dropped = 0
        for frame in rows:
            dropped += int(frame["dropped"].sum())
            for data in frame["data"]:
                arrived += unpack(data)
        with plain_errors():
            found = self._step(key[0], arrived, dropped, timerValues, None)
        yield found

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """The watermark has passed what the bucket waits for."""
        with plain_errors():
            found = self._step(key[0], [], 0, timerValues, expiredTimerInfo.getExpiryTimeInMs())
        yield found

    def _step(
        self, key: int, arrived: list[pa.Table], dropped: int, timer_values: Any, expired: int | None
    ) -> pd.DataFrame:
        bucket = self.plan.load(self.state.shelf, self.state.load())
        reached = 0 if self.plan.ordered else timer_values.getCurrentWatermarkInMs()
        warn_if_ahead(reached, time.time())
        found, late = bucket.step(arrived, 1000 * reached if reached > 0 else None)
        punctuation = [bucket.unreported()] if self.punctuates and isinstance(bucket, StreamFramer) else []
        event = None if self.plan.ordered else bucket.next_event()
        self.state.save(bucket.save(), None if event is None else -(-event // 1000), reached, expired)
        found += [] if self.late is None else [late_rows(table, self.plan, self.late) for table in late if len(table)]
        told = asdict(bucket.arrivals.counts) | bucket.held | {"dropped": dropped, "bucket": key}
        told |= {"open": pack(punctuation), "data": pack(found)}
        return pd.DataFrame({name: [value] for name, value in told.items()})


def warn_if_ahead(reached: int, now: float) -> None:
    """Warn, in the log of the worker, of a watermark in the future, which makes the rows of today late.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_ahead(253_370_764_800_000, now=1_700_000_000.0)
    >>> print(caught[0].message)
    the watermark is at 9999-01-01 00:00:00 UTC, more than 1 hour ahead of the clock, so rows of today are late; ...
    """
    if reached / 1000 - now > 3600:
        at = datetime.fromtimestamp(reached / 1000, UTC)
        warnings.warn(
            f"the watermark is at {at:%Y-%m-%d %H:%M:%S} UTC, more than 1 hour ahead of the clock, so rows of today "
            "are late; put wr.guard before withWatermark to hold rows from the future back",
            RuntimeWarning,
            stacklevel=2,
        )


def late_rows(table: pa.Table, plan: Plan, schema: pa.Schema) -> pa.Table:
    """Late tuples as rows of the result: their group, and themselves."""
    known = dict(zip(plan.request.by, map(table.column, plan.layout.by), strict=True)) | {"late": table.column(WHOLE)}
    columns = [known[f.name].cast(f.type) if f.name in known else pa.nulls(len(table), f.type) for f in schema]
    return pa.table(columns, schema=schema)
