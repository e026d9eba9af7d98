"""The progressing attribute in Catalyst: the numbers that the kernels count instants by, and their distances.

Spark subtracts timestamps by the clock on the wall of the session's time zone, so that an hour in which clocks change
has two hours, or none. Windrow measures the time that passes, in every plan and in every zone.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from windrow.rows.clock import LARGEST, Clock

_MINUTE, _DAY = 60_000_000, 86_400_000_000


def as_integer(value: Column, kind: pa.DataType) -> Column:
    """An integer, or an instant as the kernels count it: microseconds or days since 1970, in any session zone."""
    if pa.types.is_date32(kind):
        return F.unix_date(value).cast("bigint")
    if pa.types.is_timestamp(kind):
        return F.unix_micros(value) if kind.tz else _local_micros(value)
    return value.cast("bigint")


def _local_micros(value: Column) -> Column:
    """The microseconds of a timestamp without a time zone, which Spark turns into no number without the session's zone.

    Days before 1970 are counted from their end: the beginning of the first day there is lies past 64 bits.
    """
    seconds = (F.extract(F.lit("SECOND"), value) * 1_000_000).cast("bigint")
    in_day = (F.hour(value) * 60 + F.minute(value)).cast("bigint") * _MINUTE + seconds
    days = F.unix_date(value.cast("date")).cast("bigint")
    return F.when(days < 0, (days + 1) * _DAY + (in_day - _DAY)).otherwise(days * _DAY + in_day)


def as_number(value: Column, clock: Clock) -> Column:
    """The `on` of a tuple as the kernels count it."""
    return value.cast("double") if clock.kind == "float" else as_integer(value, clock.type)


def distance(later: Column, earlier: Column, clock: Clock) -> Column:
    """How far two `on` are apart, both by `as_number`; null where one of them is.

    As in the kernels, a distance past 64 bits is the largest number there is, and that of equal infinities is zero.
    """
    if clock.kind == "float":
        return F.when(later == earlier, F.lit(0.0)).otherwise(later - earlier)
    apart = F.coalesce(F.try_subtract(later, earlier), F.lit(LARGEST))
    return F.when(later.isNotNull() & earlier.isNotNull(), apart)
