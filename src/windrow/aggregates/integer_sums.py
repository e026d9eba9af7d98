"""Spark SQL for sums of integers, exact in whatever order rows arrive and partitions merge.

Spark's own sum of 64-bit integers fails, wraps or becomes null as soon as an intermediate result exceeds 64 bits, even
if later rows bring it back. So each 64-bit value is split into two halves of 32 bits, whose sums cannot overflow before
there are four billion rows. If the combined sum still exceeds 64 bits, the query fails, as in the kernel.
"""

from __future__ import annotations

import pyarrow as pa

PAST = 2**40
"""More carries than any sum can have. Marks a sum of halves that itself exceeds 64 bits."""

_BIT = "(shiftright({x}, 31) & 1L)"
_UPPER = f"try_sum(shiftright({{x}}, 32) + {_BIT})"
# The lower halves are signed, so small numbers, including negative ones, fit into them entirely.
_LOWER = f"try_sum(({{x}} & 4294967295L) - shiftleft({_BIT}, 32))"
_HIGH = f"try_add({_UPPER}, shiftright({_LOWER}, 32))"
"""The sum as a multiple of 2^32, rounded down; null if that exceeds 64 bits."""
_LOWEST = f"(shiftleft({_HIGH}, 32) | ({_LOWER} & 4294967295L))"
"""The lowest 64 bits of the sum."""


def sum_sql(kind: pa.DataType, refusal: str) -> str:
    """Return the sum of an integer column. It is null without values, and fails if it does not fit into 64 bits."""
    total, fits = "try_sum({x})", "try_sum({x}) IS NOT NULL"
    if kind.bit_width == 64:
        total, fits = _LOWEST, f"{_HIGH} BETWEEN -2147483648L AND 2147483647L"
    failed = f"raise_error({text_literal(refusal)})"
    return f"CASE WHEN count({{x}}) = 0 THEN NULL WHEN {fits} THEN {total} ELSE {failed} END"


def sum_state_sql(kind: pa.DataType) -> tuple[str, str]:
    """Return the state of `wr.sum` over integers: the lowest 64 bits of the sum, and how often it carried."""
    total, carries = "try_sum({x})", f"if(try_sum({{x}}) IS NULL, {PAST}L, 0L)"
    if kind.bit_width == 64:
        total, carries = _LOWEST, f"coalesce(shiftright(try_add({_HIGH}, 2147483648L), 32), {PAST}L)"
    return total, f"CASE WHEN count({{x}}) > 0 THEN {carries} END"


def text_literal(text: str) -> str:
    """Return a Spark SQL expression of a text, whatever characters it contains and however Spark reads backslashes.

    >>> text_literal("it's")
    "decode(unhex('69742773'), 'UTF-8')"
    """
    return f"decode(unhex('{text.encode().hex()}'), 'UTF-8')"
