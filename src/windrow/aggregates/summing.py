"""Sum and mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import AggregateFunction, Kind
from windrow.aggregates.integer_sums import sum_sql, sum_state_sql
from windrow.errors import DataError

State = tuple[float, float]
LARGEST = int(np.iinfo(np.int64).max)
SMALLEST = int(np.iinfo(np.int64).min)
FLOATS = -(2**62)
"""Marks the state of a sum of floats, in place of the carries; integers never carry that often."""


@dataclass(frozen=True, repr=False)
class Sum(AggregateFunction):
    """The sum: a 64-bit integer over integers, a float over floats.

    The state over integers is the lowest 64 bits of the sum and the number of carries, each worth 2^64. Intermediate
    sums may exceed 64 bits, so only the final sum must fit, whatever the order of the values. If it does not fit,
    Windrow raises an error instead of returning a wrong number. The state over floats is their sum and a mark.

    >>> import windrow as wr
    >>> wr.sum("volume").compute([3, 4, None])
    7
    """

    kind: ClassVar[Kind] = "distributive"
    keeps_integers: ClassVar[bool] = True
    monotonic = "non-negative"
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    additive: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "sum({x})"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("sum({x})", str(FLOATS))

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a 64-bit integer type over integers, a float type otherwise."""
        return pa.int64() if pa.types.is_integer(values) else pa.float64()

    def spark_sql_over(self, *kinds: pa.DataType) -> str | None:
        """Return Spark's sum of floats, or a sum of integers that is exact in any order."""
        if self.spark_sql is None or not pa.types.is_integer(kinds[0]):
            return self.spark_sql
        return sum_sql(kinds[0], f"{self!r} exceeds 64 bits; cast column {self.column!r} to double")

    def spark_sql_state_over(self, *kinds: pa.DataType) -> tuple[str, ...] | None:
        """Return the sum of floats and their mark, or the sum of integers and the number of its carries."""
        if self.spark_sql_state is None or not pa.types.is_integer(kinds[0]):
            return self.spark_sql_state
        return sum_state_sql(kinds[0])

    def check(self, numbers: npt.NDArray[Any]) -> None:
        """Raise if a sum does not fit in 64 bits."""
        overflows = int(np.count_nonzero(numbers[:, 1]))
        if overflows:
            raise DataError(f"{self!r} exceeds 64 bits in {overflows} frame(s); cast column {self.column!r} to double")

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (0, 0 if integral else FLOATS)

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        if s[1] <= FLOATS:
            return (s[0] + x, s[1])
        # Tested before adding. 2^64 is subtracted in two halves, so that no intermediate sum exceeds 64 bits either.
        carry = ((x > 0) & (s[0] > LARGEST - x)) * 1 - ((x < 0) & (s[0] < SMALLEST - x)) * 1
        return ((s[0] + carry * SMALLEST) + (x + carry * SMALLEST), s[1] + carry)

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        if a[1] <= FLOATS:
            return (a[0] + b[0], a[1])
        carry = ((b[0] > 0) & (a[0] > LARGEST - b[0])) * 1 - ((b[0] < 0) & (a[0] < SMALLEST - b[0])) * 1
        return ((a[0] + carry * SMALLEST) + (b[0] + carry * SMALLEST), a[1] + b[1] + carry)

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[0]

    @staticmethod
    def remove(s: State, x: float) -> State:  # noqa: D102
        if s[1] <= FLOATS:
            return (s[0] - x, s[1])
        carry = ((x < 0) & (s[0] > LARGEST + x)) * 1 - ((x > 0) & (s[0] < SMALLEST + x)) * 1
        return ((s[0] + carry * SMALLEST) - (x - carry * SMALLEST), s[1] + carry)


@dataclass(frozen=True, repr=False)
class Mean(AggregateFunction):
    """The arithmetic mean, stored as a count and a sum.

    >>> import windrow as wr
    >>> wr.mean("speed").compute([40, 41])
    40.5
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    additive: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "avg(CAST({x} AS DOUBLE))"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("count({x})", "sum({x})")

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0, 0.0)

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        return (s[0] + 1.0, s[1] + x)

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[1] / s[0] if s[0] > 0.0 else 0.0

    @staticmethod
    def remove(s: State, x: float) -> State:  # noqa: D102
        return (s[0] - 1.0, s[1] - x)
