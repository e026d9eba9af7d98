"""Sums of integers by Catalyst, exact in whatever order rows come and partitions merge.

Spark's own sum of 64-bit integers fails, wraps or is null as soon as it is past 64 bits on the way, even if later rows
bring it back. So a 64-bit value is split into two halves of 32 bits, whose sums cannot get that far before there are
four billion rows. What remains past 64 bits when the halves are put together is refused, as by the kernel.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from windrow.aggregates import AggregateFunction

HALF = 2**31
PAST = 2**40
"""More carries than any sum has: a sum of halves that is past 64 bits itself."""


def whole_sum(value: Column, kind: pa.DataType, aggregate: AggregateFunction) -> Column:
    """Return the sum of an integer column, which is null without values and fails if it does not fit in 64 bits."""
    refused = F.raise_error(F.lit(f"{aggregate!r} is past 64 bits; cast column {aggregate.column!r} to double"))
    if kind.bit_width < 64:
        total, fits = F.try_sum(value), F.try_sum(value).isNotNull()
    else:
        high, low = _halves(value)
        total, fits = _together(high, low), high.between(-HALF, HALF - 1)
    return F.when(F.count(value) == 0, F.lit(None)).when(fits, total).otherwise(refused)


def sum_state(value: Column, kind: pa.DataType) -> list[Column]:
    """Return the state of `wr.sum` over integers: the lowest 64 bits of the sum, and how often it carried."""
    if kind.bit_width < 64:
        total = F.try_sum(value)
        past = F.when(total.isNull() & (F.count(value) > 0), PAST).otherwise(0)
        return [F.coalesce(total, F.lit(0)), past]
    high, low = _halves(value)
    carries = F.shiftright(F.try_add(high, F.lit(HALF)), 32)
    past = F.when(F.count(value) == 0, 0).otherwise(F.coalesce(carries, F.lit(PAST)))
    return [F.coalesce(_together(high, low), F.lit(0)), past]


def _halves(value: Column) -> tuple[Column, Column]:
    """The sum as a multiple of 2^32, null if that is past 64 bits itself, and the rest, from 0 to 2^32 - 1.

    The lower halves are signed, so that small numbers, negative ones too, are all in them.
    """
    bit = F.shiftright(value, 31).bitwiseAND(_long(1))
    upper = F.try_sum(F.shiftright(value, 32) + bit)
    lower = F.try_sum(value.bitwiseAND(_long(2**32 - 1)) - F.shiftleft(bit, 32))
    return F.try_add(upper, F.shiftright(lower, 32)), lower.bitwiseAND(_long(2**32 - 1))


def _together(high: Column, low: Column) -> Column:
    """The lowest 64 bits."""
    return F.shiftleft(high, 32).bitwiseOR(low)


def _long(number: int) -> Column:
    return F.lit(number).cast("bigint")
