"""Sums of integers in Catalyst, exact in whatever order rows arrive and partitions merge.

Spark's own sum of 64-bit integers fails, wraps or becomes null as soon as an intermediate result exceeds 64 bits, even
if later rows bring it back. So each 64-bit value is split into two halves of 32 bits, whose sums cannot overflow before
there are four billion rows. If the combined sum still exceeds 64 bits, the query fails, as in the kernel.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from windrow.aggregates import AggregateFunction

HALF = 2**31
PAST = 2**40
"""More carries than any sum can have. Marks a sum of halves that itself exceeds 64 bits."""


def whole_sum(value: Column, kind: pa.DataType, aggregate: AggregateFunction) -> Column:
    """Return the sum of an integer column. It is null without values, and fails if it does not fit into 64 bits."""
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
    """Return the sum as a multiple of 2^32 (null if that exceeds 64 bits) and the remainder, from 0 to 2^32 - 1.

    The lower halves are signed, so small numbers, including negative ones, fit into them entirely.
    """
    bit = F.shiftright(value, 31).bitwiseAND(_long(1))
    upper = F.try_sum(F.shiftright(value, 32) + bit)
    lower = F.try_sum(value.bitwiseAND(_long(2**32 - 1)) - F.shiftleft(bit, 32))
    return F.try_add(upper, F.shiftright(lower, 32)), lower.bitwiseAND(_long(2**32 - 1))


def _together(high: Column, low: Column) -> Column:
    """Return the lowest 64 bits."""
    return F.shiftleft(high, 32).bitwiseOR(low)


def _long(number: int) -> Column:
    return F.lit(number).cast("bigint")
