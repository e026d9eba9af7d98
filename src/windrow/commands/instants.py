"""Times without a zone in a stream. A watermark is of instants, so they are taken for times in UTC, and given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from windrow.aggregates import AggregateFunction
from windrow.errors import TypeMismatchError
from windrow.spark.guard import guard
from windrow.spark.resolve import Columns, column

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
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key) or "UTC"
    spark.conf.set(key, "UTC")
    try:
        yield
    finally:
        spark.conf.set(key, before)
