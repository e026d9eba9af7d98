"""Options of a streaming query, checked before it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DateType, StructField, TimestampNTZType, TimestampType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError, is_one_of, quoted
from windrow.rows.checks import check_duration
from windrow.rows.duration import Duration, parse_duration, to_clock
from windrow.rows.query import Query
from windrow.spark.arguments import check_switch
from windrow.spark.streams.buckets import (
    check_buckets,
    check_state_store,
)
from windrow.spark.streams.initial import check_columns
from windrow.spark.streams.lineage import comes_in_order, is_framed_here, known_at_of, mark_of

LATE = ("drop", "emit")
AHEAD = "1 hour"
"""How far ahead of the clock a row may be before it is held back."""


@dataclass(frozen=True)
class StreamOptions:
    """The options of a streaming query. None of them applies to a table."""

    fragments: bool | Duration = False
    ordered: bool = False
    late: str = "drop"
    buckets: int | None = None
    flush: str | os.PathLike[str] | None = None
    keep_groups: Duration | None = None
    initial: DataFrame | None = None
    delay: Duration | None = None
    ahead: Duration | None = AHEAD
    idle: str | timedelta | None = None
    punctuation: bool = False

    def __post_init__(self) -> None:
        for name in ("ordered", "punctuation"):
            check_switch(getattr(self, name), name)
        fragments: object = self.fragments
        if not isinstance(fragments, bool | Duration):
            raise SpecError(
                f"fragments: expected True, False or a duration such as '1 minute', got {quoted(fragments)}"
            )
        if not isinstance(fragments, bool):
            check_duration(fragments, "fragments")
        if not is_one_of(self.late, LATE):
            raise SpecError(f"late: expected one of {', '.join(LATE)}; got {quoted(self.late)}")
        if self.flush is not None and not isinstance(self.flush, str | os.PathLike):
            raise SpecError(
                f"flush: expected the checkpointLocation of the query that has ended, got {quoted(self.flush)}"
            )
        check_buckets(self.buckets)
        for name in ("keep_groups", "delay", "ahead"):
            check_duration(getattr(self, name), name)
        self._check_delay()
        if self.idle is not None and self.idle_ms is not None and not self.ordered and self.delay is None:
            raise SpecError(
                f"idle: {quoted(self.idle)} requires delay= or ordered=True; with a watermark, use max_gap= in the "
                "scheme to end the frames of groups that have stopped"
            )
        if self.initial is not None:
            check_columns(self.initial)
        if self.initial is not None and self.flush is not None:
            raise SpecError("initial: a checkpoint is flushed as it is; pass either initial= or flush=")

    @property
    def idle_ms(self) -> int | None:
        """How long a group may send nothing, in milliseconds."""
        if self.idle is None:
            return None
        number: object = self.idle
        if isinstance(number, int | float):
            raise SpecError(f"idle: expected a duration such as '10 minutes', or a timedelta, got {quoted(number)}")
        check_duration(self.idle, "idle")
        micros = parse_duration(self.idle)
        if micros <= 0:
            raise SpecError(f"idle: {quoted(self.idle)} must be greater than zero")
        return -(-micros // 1000)

    def _check_delay(self) -> None:
        if self.delay is not None and self.ordered:
            raise SpecError(f"delay: {quoted(self.delay)} has no effect with ordered=True; pass one of them")
        if self.delay is None and self.ahead != AHEAD:
            raise SpecError(
                f"ahead: {quoted(self.ahead)} has no effect without delay=; to protect a watermark, call "
                "wr.guard(stream, on=..., ahead=...) before withWatermark"
            )

    def refuse_for_tables(self) -> None:
        """Reject options that only apply to streams."""
        default = StreamOptions()
        if self.initial is not None:
            raise UnsupportedError("initial: an initial state is only for streams, but the source is a table")
        for name in ("fragments", "ordered", "late", "buckets", "flush", "keep_groups", "delay", "idle", "punctuation"):
            if getattr(self, name) != getattr(default, name):
                raise UnsupportedError(
                    f"{name}={quoted(getattr(self, name))} is only for streams, but the source is not a streaming "
                    "DataFrame"
                )


def check_stream(df: DataFrame, request: Query[Any], options: StreamOptions) -> StreamOptions:
    """Reject a stream that cannot be put in order, and a session that cannot store its state.

    Return the options, with `ordered` if the stream is a result of another operator that comes in order.
    """
    check_state_store(df)
    refuse_known_at(df, request.on)
    if options.delay is not None:
        _check_ahead(df.schema[request.on], options)
        return options
    if options.ordered:
        return options
    if comes_in_order(df, request.on, request.by):
        return replace(options, ordered=True)
    _refuse_result(df, request)
    otherwise = "; or pass delay= to put each group in order by its own rows, or ordered=True if they are in order"
    check_watermark(df, request.on, otherwise)
    return options


def _check_ahead(field: StructField, options: StreamOptions) -> None:
    """Reject a distance from the clock for a column that the clock cannot be compared with."""
    if options.ahead is None:
        return
    if isinstance(field.dataType, TimestampType | TimestampNTZType | DateType):
        to_clock(options.ahead, "timestamp", "ahead")
    elif options.ahead != AHEAD:
        raise SpecError(
            f"ahead: column {field.name!r} is of type {field.dataType.simpleString()}, which the clock cannot be "
            "compared with; drop ahead="
        )


def refuse_known_at(df: DataFrame, on: str) -> None:
    """Reject `known_at` as the progressing attribute."""
    if df.isStreaming and on == known_at_of(df):
        raise SpecError(
            f"on: column {on!r} is the watermark at which a row was reported, so it depends on how the rows fell into "
            "batches; expected a column such as 'start' or 'end'"
        )


def _refuse_result(df: DataFrame, request: Query[Any]) -> None:
    """Reject a result of another operator that does not come in the order of `on`, and that no watermark can order."""
    field = df.schema[request.on]
    if (mark_of(field) or (known_at_of(df) and not has_watermark(field))) and is_framed_here(df):
        raise SpecError(
            f"on: the rows of this stream, a result of another operator in the same query, do not arrive in the order "
            f"of {request.on!r} in each group of {list(request.by)}, and a watermark on it would wait for itself; pass "
            "by= with the columns by which they were grouped before, or delay= to put them in order"
        )


def check_watermark(df: DataFrame, on: str, otherwise: str = "") -> None:
    """Reject a stream whose `on` has no watermark. `otherwise` suggests an alternative."""
    field = df.schema[on]
    if not isinstance(field.dataType, TimestampType):
        raise TypeMismatchError(
            f"on: column {on!r} is of type {field.dataType.simpleString()}; expected a timestamp, by whose "
            f"watermark a stream is put in order{otherwise}"
        )
    if not has_watermark(field):
        raise SpecError(
            f"on: column {on!r} has no watermark, so its rows cannot be put in order; call "
            f"withWatermark({on!r}, '10 seconds') on the stream{otherwise}"
        )


def has_watermark(field: StructField) -> bool:
    """Return whether a column of a stream has a watermark."""
    return any("watermark" in key.lower() for key in field.metadata or {})
