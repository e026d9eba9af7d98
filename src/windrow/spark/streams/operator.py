"""Frames and windows of a stream: one stateful operator whose state is stored per bucket of groups, not per group.

Rows travel to their bucket in pieces of Arrow, so Spark moves a few large rows instead of many small ones; frames
leave it the same way. `framing/stream.py` and `windows/stream.py` do the work. This module contains only Spark's side:
where the state is stored, when a bucket is woken, and what the query's progress reports.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeAlias
from uuid import uuid4

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from windrow.errors import SpecError
from windrow.framing.migration import take_over
from windrow.framing.query import COMPLETE_UNTIL, OPEN_SINCE, FrameQuery
from windrow.framing.schedule import check_schedule, schedule_of
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.arrivals import WHOLE
from windrow.rows.duration import to_clock
from windrow.rows.query import Query
from windrow.spark.failures import plain_errors
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.streams.buckets import (
    BucketState,
    in_buckets,
    out_of_buckets,
)
from windrow.spark.streams.future import hold_back
from windrow.spark.streams.initial import check_complete
from windrow.spark.streams.lineage import after, delay_of, marked, with_known_at
from windrow.spark.streams.options import (
    StreamOptions,
)
from windrow.spark.streams.punctuation import FrameStream
from windrow.spark.streams.saved import flushed
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.windows.stream import SlidePlan

COUNTED = ("arrived", "late", "framed", "dropped", "groups", "state_bytes")
"""The counts per batch, shown in `observedMetrics` of the query's progress."""

_RESULT_SPARK = (
    f"bucket int, buckets int, {', '.join(f'{name} long' for name in COUNTED)}, known_at long, open binary, data binary"
)
_queries = count(1)

Plan: TypeAlias = StreamPlan | SlidePlan


def stream_schema(schema: StructType, df: DataFrame, request: FrameQuery, options: StreamOptions) -> StructType:
    """Return the schema of a batch result with `fragment` and `final`, and with what options add to it.

    These are the columns of punctuation, and `late` if late rows are emitted.
    """
    may_lack = set() if options.fragments is False else {"start", "end"}
    fields = [StructField(f.name, f.dataType, f.nullable or f.name in may_lack) for f in schema.fields]
    fields += [StructField("fragment", LongType(), False), StructField("final", BooleanType(), False)]
    if options.punctuation:
        fields = [StructField(f.name, f.dataType, f.nullable or f.name not in request.by) for f in fields]
        on = schema["start"].dataType
        for name in (COMPLETE_UNTIL, OPEN_SINCE):
            if name in schema.names:
                raise SpecError(f"agg: punctuation=True adds a column {name!r} to the result; choose another name")
            fields.append(StructField(name, on, True))
    return with_late(StructType(fields), df, request, options)


def with_late(schema: StructType, df: DataFrame, request: Query[Any], options: StreamOptions) -> StructType:
    """Return a schema with `late` if late rows are emitted. In their rows, everything except the group is null."""
    if options.late != "emit":
        return schema
    fields = [StructField(f.name, f.dataType, f.nullable or f.name not in request.by) for f in schema.fields]
    return StructType([*fields, StructField("late", StructType(df.schema.fields), True)])


def stream_frames(
    df: DataFrame, request: FrameQuery, schema: StructType, options: StreamOptions, nulls_on: str
) -> DataFrame:
    """Compute the frames of a streaming DataFrame."""
    every = None
    if not isinstance(options.fragments, bool):
        check_schedule(request.scheme, request.clock, request.types)
        every = schedule_of(options.fragments, request.clock)
    make_plan = partial(
        StreamPlan,
        fragments=options.fragments is not False,
        every=every,
        idle=options.idle_ms,
        punctuation=options.punctuation,
    )
    return in_stream(df, make_plan, request, schema, options, nulls_on)


def in_stream(
    df: DataFrame,
    make_plan: Callable[..., Plan],
    request: Query[Any],
    schema: StructType,
    options: StreamOptions,
    nulls_on: str,
) -> DataFrame:
    """Run the plan that `make_plan` builds from a query and a layout over a streaming DataFrame.

    The columns of the result have marks: see `streams/lineage.py`. For frames, the result carries a `FrameStream`,
    which `wr.fill` reads: see `streams/punctuation.py`.
    """
    buckets = options.buckets or request.tuning.buckets if request.by else 1
    guarded = df if options.delay is None else hold_back(df, request.on, options.ahead)
    rows, layout = select_rows(guarded, request, whole_as=WHOLE if options.late == "emit" else None)
    keep, clock = options.keep_groups, request.clock
    keep_for = None if keep is None else to_clock(keep, clock.kind, "keep_groups")
    delay = None if options.delay is None else clock.at_most(options.delay, "delay")
    plan = make_plan(request, layout, ordered=options.ordered, keep_groups=keep_for, delay=delay)
    lag = None if plan.idle is not None else delay_of(df)
    stream = uuid4().hex
    if options.flush is not None:
        return flushed(df.sparkSession, plan, with_known_at(schema, lag, flushed=True), options.flush)
    if options.initial is not None:
        buckets = check_complete(options.initial, buckets)
    places = {layout.on: request.on, **dict(zip(layout.by, request.by, strict=True))}
    packed = in_buckets(rows, [F.col(name) for name in layout.by], buckets, places, nulls_on)
    late = to_arrow_schema(schema) if options.late == "emit" else None
    schema = with_known_at(marked(schema, stream, request.by, plan.in_order), lag)
    name = f"windrow {request.what!r} {next(_queries)}"

    def operator(punctuates: bool, again: bool = False) -> DataFrame:
        # With another column, Spark does not reuse the exchange of the first operator, behind which it finds no
        # watermark.
        rows = packed.withColumn("again", F.lit(True)) if again else packed
        return (
            rows.groupBy("bucket")
            .transformWithStateInPandas(
                BucketProcessor(plan, buckets, late, punctuates),
                outputStructType=_RESULT_SPARK,
                outputMode="Append",
                timeMode=_time_mode(plan, lag),
                initialState=None if options.initial is None else options.initial.groupBy("bucket"),
            )
            .observe(f"{name} punctuation" if again else name, *(F.sum(count).alias(count) for count in COUNTED))
        )

    result = out_of_buckets(operator(False), schema)
    if isinstance(plan, StreamPlan):
        FrameStream(plan, buckets, partial(operator, True), stream).is_of(result)
    return result


def _time_mode(plan: Plan, lag: int | None) -> str:
    """Return the clock of the operator's timers: the wall clock for silent groups, else the watermark, if any."""
    if plan.idle is not None:
        return "ProcessingTime"
    return "None" if lag is None else "EventTime"


class BucketProcessor(StatefulProcessor):
    """A stateful operator that stores a bucket's state and wakes it once the watermark has passed buffered rows."""

    def __init__(self, plan: Plan, buckets: int | None, late: pa.Schema | None, punctuates: bool) -> None:
        self.plan, self.buckets, self.late, self.punctuates = plan, buckets, late, punctuates

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables: the state of the groups, and the buffered rows."""
        self.state = BucketState(handle, self.plan.kind, *self.plan.state)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Start from the state of another query."""
        with plain_errors():
            assert self.buckets is not None
            bucket = self.plan.load(self.state.shelf, self.state.load(self.buckets))
            for share in initialState["data"]:
                take_over(bucket, bytes(share), self.buckets)
            event = self._wake_up(bucket)
            self.state.save(bucket.save(), event, 0, None)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Process the rows that arrived."""
        arrived: list[pa.Table] = []
        dropped, buckets = 0, None
        for frame in rows:
            dropped, buckets = dropped + int(frame["dropped"].sum()), int(frame["buckets"].iloc[0])
            for data in frame["data"]:
                arrived += unpack(data)
        with plain_errors():
            result = self._step(key[0], buckets, arrived, dropped, timerValues, None)
        yield result

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Process the buffered rows that the watermark has passed, or close what silent groups have open."""
        with plain_errors():
            result = self._step(key[0], None, [], 0, timerValues, expiredTimerInfo.getExpiryTimeInMs())
        yield result

    def _wake_up(self, bucket: Any) -> int | None:
        """Return when to wake the bucket, in milliseconds of the watermark or, for silent groups, of the wall clock."""
        event: int | None = bucket.next_event()
        return event if event is None or self.plan.idle is not None else -(-event // 1000)

    def _step(
        self,
        key: int,
        buckets: int | None,
        arrived: list[pa.Table],
        dropped: int,
        timer_values: Any,
        expired: int | None,
    ) -> pd.DataFrame:
        bucket = self.plan.load(self.state.shelf, self.state.load(buckets))
        if self.plan.idle is not None and isinstance(bucket, StreamFramer):
            reached = timer_values.getCurrentProcessingTimeInMs()
            tables, late = bucket.step(arrived, None, reached)
        else:
            reached = 0 if self.plan.per_group else timer_values.getCurrentWatermarkInMs()
            warn_if_ahead(reached, time.time())
            tables, late = bucket.step(arrived, 1000 * reached if reached > 0 else None)
        punctuation = [bucket.unreported()] if self.punctuates and isinstance(bucket, StreamFramer) else []
        event = self._wake_up(bucket)
        self.state.save(bucket.save(), event, reached, expired)
        tables += [] if self.late is None else [late_rows(table, self.plan, self.late) for table in late if len(table)]
        columns = (
            asdict(bucket.arrivals.counts)
            | bucket.held
            | {"dropped": dropped, "bucket": key, "buckets": self.state.buckets}
        )
        columns |= {
            "known_at": after(timer_values.getCurrentWatermarkInMs()),
            "open": pack(punctuation),
            "data": pack(tables),
        }
        return pd.DataFrame({name: [value] for name, value in columns.items()})


def warn_if_ahead(reached: int, now: float) -> None:
    """Warn, in the worker's log, if the watermark is in the future, which makes today's rows late.

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
    """Return late rows as rows of the result: their group, and the row itself in `late`."""
    values = dict(zip(plan.request.by, map(table.column, plan.layout.by), strict=True)) | {"late": table.column(WHOLE)}
    columns = [values[f.name].cast(f.type) if f.name in values else pa.nulls(len(table), f.type) for f in schema]
    return pa.table(columns, schema=schema)
