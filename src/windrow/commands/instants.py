"""Times without a zone in a stream. A watermark is of instants, so they are taken for times in UTC, and given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from windrow.aggregates import AggregateFunction
from windrow.errors import TypeMismatchError
from windrow.spark.resolve import Columns, column

BOUNDS = ("start", "end", "closed_at")


def has_zone(df: DataFrame, on: str) -> bool:
    """Whether a column is of instants; an error if it is of no times at all."""
    field = Columns(df).field(on, "--on")
    if not isinstance(field.dataType, TimestampType | TimestampNTZType):
        raise TypeMismatchError(
            f"--on: column {field.name!r} is of type {field.dataType.simpleString()}; --watermark wants a timestamp, "
            "and where rows come in order, --ordered does without"
        )
    return isinstance(field.dataType, TimestampType)


def with_watermark(df: DataFrame, on: str, delay: str) -> DataFrame:
    """A stream whose times are instants, with a watermark; call it, and run the result, within `in_utc`."""
    name = Columns(df).find(on, "--on")
    instants = df if has_zone(df, on) else df.withColumn(name, column(name).cast(TimestampType()))
    return instants.withWatermark(name, delay)


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
