"""Rows from the future: they are held back, so that they neither move a watermark nor make other rows late."""

from __future__ import annotations

from itertools import count

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from windrow.rows.clock import LARGEST
from windrow.rows.duration import Duration, to_clock
from windrow.spark.resolve.columns import column

_guards = count(1)


def hold_back(stream: DataFrame, on: str, ahead: Duration | None) -> DataFrame:
    """Hold back rows further ahead of the clock than `ahead`, if it is given and `on` is a timestamp or a date.

    Times without a zone are in that of the session.
    """
    kind = stream.schema[on].dataType
    if ahead is None or not isinstance(kind, TimestampType | TimestampNTZType | DateType):
        return stream
    if isinstance(kind, TimestampType):
        return divided(stream, is_ahead(column(on), ahead), held=False)
    length = min(to_clock(ahead, "timestamp", "ahead"), LARGEST // 2)
    latest = F.timestamp_micros(F.unix_micros(F.current_timestamp()) + F.lit(length))
    return divided(stream, F.coalesce(column(on) > latest.cast(kind), F.lit(False)), held=False)


def divided(stream: DataFrame, too_far: Column, *, held: bool) -> DataFrame:
    """Return the rows that are held back, or the others, and count those held back in the query's progress."""
    name = f"windrow guard {next(_guards)}"
    observed = stream.observe(name, F.count_if(too_far).alias("held"))
    return observed.where(too_far if held else ~too_far)


def is_ahead(on: Column, ahead: Duration) -> Column:
    """Return whether a timestamp is too far ahead of the clock; false for null."""
    length = min(to_clock(ahead, "timestamp", "ahead"), LARGEST)
    # Timestamps are compared as numbers: Spark adds whole days by the calendar of the session's time zone. A timestamp
    # that is null or not ahead of the clock counts as the clock itself, so no difference overflows 64 bits.
    clock = F.unix_micros(F.current_timestamp())
    return F.greatest(F.unix_micros(on), clock) - clock > F.lit(length)
