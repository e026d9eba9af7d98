"""Instants and times without a zone: how they are shown, and how a stream of the latter gets a watermark.

Instants are shown, as they are written to text files, in the session's time zone and with their offset from UTC. A
watermark is of instants, so times without a zone are taken for times in UTC, and given back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from windrow.aggregates import AggregateFunction
from windrow.errors import TypeMismatchError
from windrow.spark.guarding import guard
from windrow.spark.resolve.columns import Columns, column

ZONE = "spark.sql.session.timeZone"
OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?")
BOUNDS = ("start", "end", "closed_at")
EASTERNMOST = timedelta(hours=14)
"""How far a clock on the wall can be ahead of UTC: by so much, times without a zone are not ahead."""


def has_zone(df: DataFrame, on: str) -> bool:
    """Whether a column is of instants; an error if it is of no times at all."""
    field = Columns(df).field(on, "--on")
    if not isinstance(field.dataType, TimestampType | TimestampNTZType):
        raise TypeMismatchError(
            f"--on: column {field.name!r} is of type {field.dataType.simpleString()}; --watermark wants a timestamp, "
            "and where rows come in order, --ordered does without"
        )
    return isinstance(field.dataType, TimestampType)


def with_watermark(df: DataFrame, on: str, delay: str, ahead: timedelta | None) -> DataFrame:
    """Return a stream whose times are instants, with a guard and a watermark; call and run it within `in_utc`.

    Rows that are `ahead` of the clock by more than that are held back; None holds none back.
    """
    name = Columns(df).find(on, "--on")
    if has_zone(df, on):
        instants, offset = df, timedelta()
    else:
        instants, offset = df.withColumn(name, column(name).cast(TimestampType())), EASTERNMOST
    return (instants if ahead is None else guard(instants, on=name, ahead=ahead + offset)).withWatermark(name, delay)


def as_landed(frames: DataFrame, df: DataFrame, on: str, agg: Mapping[str, AggregateFunction]) -> DataFrame:
    """Frames with the times as the files have them."""
    if has_zone(df, on):
        return frames
    names = Columns(df)
    times = {name for name, f in agg.items() if f.columns and names.find(f.column, "--agg") == names.find(on, "--on")}
    kinds: dict[str, DataType] = dict.fromkeys((*BOUNDS, *times), TimestampNTZType())
    kinds["late"] = StructType(df.schema.fields)
    casts = [
        column(f.name).cast(kinds[f.name]).alias(f.name)
        if isinstance(f.dataType, TimestampType | StructType) and f.name in kinds
        else column(f.name)
        for f in frames.schema.fields
    ]
    return frames.select(*casts)


@contextmanager
def in_utc(spark: SparkSession) -> Iterator[None]:
    """A session in which a time without a zone and the instant that it is taken for look the same, every day."""
    before = spark.conf.get(ZONE) or "UTC"
    spark.conf.set(ZONE, "UTC")
    try:
        yield
    finally:
        spark.conf.set(ZONE, before)


def session_zone(spark: SparkSession) -> tzinfo:
    """Return the time zone of a session."""
    return as_zone(spark.conf.get(ZONE) or "UTC")


def as_zone(name: str) -> tzinfo:
    """Return a time zone by the name that Java has for it; UTC if Python does not know it.

    >>> as_zone("Europe/Berlin"), as_zone("GMT+5:30"), as_zone("-08:00")
    (zoneinfo.ZoneInfo(key='Europe/Berlin'), datetime.timezone(...19800)), datetime.timezone(...57600)))
    """
    found = OFFSET.fullmatch(name)
    if found:
        sign = -1 if found["sign"] == "-" else 1
        return timezone(sign * timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0)))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return UTC


def in_zone(values: pa.ChunkedArray, zone: tzinfo) -> list[Any]:
    """Return the values of a column, instants in a time zone; those that Python has no dates for, as texts in UTC."""
    kind = values.type
    try:
        found: list[Any] = values.to_pylist()
        if pa.types.is_timestamp(kind) and kind.tz:
            return [None if value is None else value.astimezone(zone) for value in found]
        return found
    except (OverflowError, ValueError):
        return [None if value is None else str(value) for value in values.cast(pa.string()).to_pylist()]
