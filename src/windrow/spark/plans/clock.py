"""The progressing attribute in Catalyst: instants as the numbers that the kernels use, and distances between them.

Spark subtracts timestamps by wall-clock time in the session's time zone, so an hour in which the clocks change counts
as two hours, or as none. Windrow measures elapsed time, in every plan and every time zone.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from windrow.rows.clock import LARGEST, Clock

_MINUTE, _DAY = 60_000_000, 86_400_000_000


def as_integer(value: Column, kind: pa.DataType) -> Column:
    """Return an integer, or an instant as the kernels count it: microseconds or days since 1970 in UTC.

    Timestamps without a time zone count as UTC. The session's time zone has no effect.
    """
    if pa.types.is_date32(kind):
        return F.unix_date(value).cast("bigint")
    if pa.types.is_timestamp(kind):
        return F.unix_micros(value) if kind.tz else _local_micros(value)
    return value.cast("bigint")


def _local_micros(value: Column) -> Column:
    """Return the microseconds of a timestamp without a time zone. Spark's own conversions use the session's time zone.

    Days before 1970 are counted from their end, because the start of the earliest possible day does not fit into 64
    bits.
    """
    seconds = (F.extract(F.lit("SECOND"), value) * 1_000_000).cast("bigint")
    in_day = (F.hour(value) * 60 + F.minute(value)).cast("bigint") * _MINUTE + seconds
    days = F.unix_date(value.cast("date")).cast("bigint")
    return F.when(days < 0, (days + 1) * _DAY + (in_day - _DAY)).otherwise(days * _DAY + in_day)


def as_number(value: Column, clock: Clock) -> Column:
    """Return the `on` of a row as the kernels count it."""
    return value.cast("double") if clock.kind == "float" else as_integer(value, clock.type)


def distance(later: Column, earlier: Column, clock: Clock) -> Column:
    """Return the distance between two values of `on`, both from `as_number`; null if either is null.

    As in the kernels, a distance that exceeds 64 bits becomes the largest number, and equal infinities have distance
    zero.
    """
    if clock.kind == "float":
        return F.when(later == earlier, F.lit(0.0)).otherwise(later - earlier)
    apart = F.coalesce(F.try_subtract(later, earlier), F.lit(LARGEST))
    return F.when(later.isNotNull() & earlier.isNotNull(), apart)
