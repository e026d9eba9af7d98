"""Instants and times without a zone: how they are shown, and how a stream of zoneless times gets a watermark.

Instants are shown in the session's time zone with their UTC offset, just as text files contain them. A watermark needs
instants, so times without a zone are treated as UTC and converted back.
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
from windrow.spark.streams.lineage import KNOWN_AT

ZONE = "spark.sql.session.timeZone"
OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?")
BOUNDS = ("start", "end", "closed_at")
EASTERNMOST = timedelta(hours=14)
"""How far local time can be ahead of UTC; zoneless times within this offset are not from the future."""


def has_zone(df: DataFrame, on: str) -> bool:
    """Return whether a column holds instants; raise an error if it holds no times."""
    field = Columns(df).field(on, "--on")
    if not isinstance(field.dataType, TimestampType | TimestampNTZType):
        raise TypeMismatchError(
            f"--on: column {field.name!r} is of type {field.dataType.simpleString()}; --watermark requires a "
            "timestamp; if rows arrive in order, use --ordered instead"
        )
    return isinstance(field.dataType, TimestampType)


def with_watermark(df: DataFrame, on: str, delay: str, ahead: timedelta | None) -> DataFrame:
    """Return a stream whose times are instants, with a guard and a watermark; call and run it within `in_utc`.

    Rows further than `ahead` in front of the clock are held back; None disables this.
    """
    name = Columns(df).find(on, "--on")
    if has_zone(df, on):
        instants, offset = df, timedelta()
    else:
        instants, offset = df.withColumn(name, column(name).cast(TimestampType())), EASTERNMOST
    return (instants if ahead is None else guard(instants, on=name, ahead=ahead + offset)).withWatermark(name, delay)


def as_landed(frames: DataFrame, df: DataFrame, on: str, agg: Mapping[str, AggregateFunction]) -> DataFrame:
    """Return frames with times as the files contain them."""
    if has_zone(df, on):
        return frames
    names = Columns(df)
    times = {name for name, f in agg.items() if f.columns and names.find(f.column, "--agg") == names.find(on, "--on")}
    kinds: dict[str, DataType] = dict.fromkeys((*BOUNDS, KNOWN_AT, *times), TimestampNTZType())
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
    """Set the session to UTC, where a zoneless time and the instant it stands for always look the same."""
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
    """Return a time zone by its Java name; UTC if Python does not know it.

    >>> as_zone("Europe/Berlin"), as_zone("GMT+5:30"), as_zone("-08:00")
    (zoneinfo.ZoneInfo(key='Europe/Berlin'), datetime.timezone(...19800)), datetime.timezone(...57600)))
    """
    offset = OFFSET.fullmatch(name)
    if offset:
        sign = -1 if offset["sign"] == "-" else 1
        return timezone(sign * timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"] or 0)))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return UTC


def in_zone(values: pa.ChunkedArray, zone: tzinfo) -> list[Any]:
    """Return the values of a column, with instants in a time zone; out of Python's range, as strings in UTC."""
    kind = values.type
    try:
        plain: list[Any] = values.to_pylist()
        if pa.types.is_timestamp(kind) and kind.tz:
            return [None if value is None else value.astimezone(zone) for value in plain]
        return plain
    except (OverflowError, ValueError):
        return [None if value is None else str(value) for value in values.cast(pa.string()).to_pylist()]
