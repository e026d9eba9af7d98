"""`widen`: move the starts of frames back and their ends forward."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    IntegerType,
    ShortType,
    StructField,
    TimestampNTZType,
    TimestampType,
)

from windrow.errors import SpecError, TypeMismatchError, quoted
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.duration import Duration, to_clock
from windrow.spark.arguments import check_dataframe
from windrow.spark.resolve.columns import Columns, arrow_type, column
from windrow.spark.streams.lineage import moved as moved_mark
from windrow.spark.streams.punctuation import FrameStream

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, DateType: 32}


def widen(frames: DataFrame, *, before: Duration | None = None, after: Duration | None = None) -> DataFrame:
    """Move the start of each frame back and its end forward by fixed amounts.

    An integer that would leave the range of its type is clamped to the limit of that range.

    Parameters
    ----------
    frames
        A table with the columns `start` and `end`, such as `wr.frames` returns.
    before
        How far to move `start` back: a duration such as `"5 minutes"`, or a number if `start` is numeric. A day is
        always 24 hours, even across daylight saving changes. Dates move by whole days, integers by integers.
    after
        How far to move `end` forward.

    Returns
    -------
    The same table with new `start` and `end`. Widened frames may overlap. A stream of frames can still be passed to
    `wr.fill`.

    Examples
    --------
    >>> import windrow as wr
    >>> jams = wr.session().createDataFrame([(0, 10, 20)], "frame long, start int, end int")
    >>> widen(jams, before=5, after=1).collect()
    [Row(frame=0, start=5, end=21)]
    """
    check_dataframe(frames, "frames")
    columns = Columns(frames)
    moved: dict[str, Column] = {}
    lengths: dict[str, int | float] = {}
    for role, option, amount, sign in (("start", "before", before, -1), ("end", "after", after, 1)):
        field = columns.field(role, "frames")
        lengths[option] = length = _length(field.dataType, field.name, amount, option)
        if length:
            metadata = moved_mark(field, sign * length)
            moved[field.name] = _move(column(field.name), field.dataType, sign * length).alias(
                field.name, metadata=metadata
            )
    if not moved:
        return frames
    widened = frames.withColumns(moved)
    punctuated = FrameStream.of(frames)
    if punctuated is not None:
        punctuated.widened(**lengths).is_of(widened)
    return widened


def _length(kind: DataType, name: str, amount: Duration | None, option: str) -> int | float:
    """Return how far to move, in the unit of the column."""
    try:
        clock = Clock.of(arrow_type(StructField(name, kind), name), name)
    except TypeMismatchError:
        raise TypeMismatchError(
            f"frames: column {name!r} is of type {kind.simpleString()}; "
            f"expected a timestamp, a date, an integer or a float"
        ) from None
    if amount is None:
        return 0
    length = to_clock(amount, clock.kind, option)
    if clock.kind == "float":
        return float(length)
    if length != int(length):
        whole = "whole days" if clock.kind == "date" else "an integer"
        raise SpecError(
            f"{option}: column {name!r} is of type {kind.simpleString()}, so expected {whole}, got {quoted(amount)}"
        )
    if length > LARGEST:
        raise SpecError(f"{option}: {quoted(amount)} is longer than the longest duration, {LARGEST}")
    return int(length)


def _move(value: Column, kind: DataType, length: int | float) -> Column:
    if isinstance(kind, TimestampNTZType):
        return value + F.lit(timedelta(microseconds=length))
    if isinstance(kind, TimestampType):
        # Spark adds the whole days of an interval by the calendar of the time zone, where a day may have 23 hours.
        return F.timestamp_micros(_shifted(F.unix_micros(value), int(length), 64))
    if isinstance(kind, DateType):
        return F.date_from_unix_date(_shifted(F.unix_date(value), int(length), 32).cast("int"))
    if isinstance(length, int):
        return _shifted(value, length, _BITS.get(type(kind), 64)).cast(kind)
    return (value + F.lit(length)).cast(kind)


def _shifted(value: Column, length: int, bits: int) -> Column:
    """Return the sum, clamped to the range of integers of `bits` bits."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    value = value.cast("bigint")
    if length < 0:
        return F.when(value < lowest - length, F.lit(lowest)).otherwise(value + F.lit(length))
    return F.when(value > highest - length, F.lit(highest)).otherwise(value + F.lit(length))
