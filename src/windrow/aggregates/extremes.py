"""Minimum and maximum in Spark's order: NaN is greater than any other value, and text is in the order of its bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.aggregates.base import AggregateFunction, Kind

LARGEST = int(np.iinfo(np.int64).max)
SMALLEST = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, repr=False)
class _Extreme(AggregateFunction):
    kind: ClassVar[Kind] = "distributive"
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    duplicate_sensitive: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    value_at: ClassVar[int | None] = 0
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return the type of the column."""
        return values

    @staticmethod
    def finish(s: tuple[float]) -> float:
        return s[0]


@dataclass(frozen=True, repr=False)
class Min(_Extreme):
    """The smallest value.

    Text is in the order of its bytes.

    >>> import windrow as wr
    >>> wr.min("speed").compute([40.0, 38.5, float("nan")])
    38.5
    >>> wr.min("code").compute(["b", "Z", "a"])
    'Z'
    """

    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "min({x})"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("min({x})",)
    monotonic = "falling"

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (LARGEST if integral else math.nan,)

    @staticmethod
    def add(s: tuple[float], x: float) -> tuple[float]:  # noqa: D102
        return (x,) if x < s[0] or s[0] != s[0] else (s[0],)

    @staticmethod
    def merge(a: tuple[float], b: tuple[float]) -> tuple[float]:  # noqa: D102
        return b if b[0] < a[0] or a[0] != a[0] else a


@dataclass(frozen=True, repr=False)
class Max(_Extreme):
    """The largest value; NaN if any value is NaN.

    Text is in the order of its bytes.

    >>> import windrow as wr
    >>> wr.max("speed").compute([40.0, 38.5])
    40.0
    >>> wr.max("code").compute(["b", "Z", "a"])
    'b'
    """

    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "max({x})"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("max({x})",)
    monotonic = "always"

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (SMALLEST if integral else -math.inf,)

    @staticmethod
    def add(s: tuple[float], x: float) -> tuple[float]:  # noqa: D102
        return (x,) if x > s[0] or x != x else (s[0],)

    @staticmethod
    def merge(a: tuple[float], b: tuple[float]) -> tuple[float]:  # noqa: D102
        return b if b[0] > a[0] or b[0] != b[0] else a
