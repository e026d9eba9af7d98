"""Sum and mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import AggregateFunction, Kind
from windrow.errors import DataError

State = tuple[float, float]
LARGEST = int(np.iinfo(np.int64).max)
SMALLEST = int(np.iinfo(np.int64).min)
FLOATS = -(2**62)
"""Marks, in place of the carries, the state of a sum of floats; integers never carry that often."""


@dataclass(frozen=True, repr=False)
class Sum(AggregateFunction):
    """The sum: of integers as a 64-bit integer, of floats as a float.

    The state of integers is the lowest 64 bits of the sum, and how many times 2^64 it is more: what passes 64 bits on
    the way counts up or down, so only the whole sum must fit, in whatever order the values come. If it does not, that
    is an error, never a wrong number. The state of floats is their sum and a mark.

    >>> import windrow as wr
    >>> wr.sum("volume").compute([3, 4, None])
    7
    """

    kind: ClassVar[Kind] = "distributive"
    keeps_integers: ClassVar[bool] = True
    monotonic = "non-negative"
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    builtin: ClassVar[bool] = True

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """A 64-bit integer over integers, a float over anything else."""
        return pa.int64() if pa.types.is_integer(values) else pa.float64()

    def check(self, numbers: npt.NDArray[Any]) -> None:
        """Refuse sums that do not fit in 64 bits."""
        past = int(np.count_nonzero(numbers[:, 1]))
        if past:
            raise DataError(f"{self!r} is past 64 bits in {past} frame(s); cast column {self.column!r} to double")

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (0, 0 if integral else FLOATS)

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        if s[1] <= FLOATS:
            return (s[0] + x, s[1])
        # Asked before adding, and 2^64 is taken off in two halves, so that no sum on the way is past 64 bits either.
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
    """The arithmetic mean, kept as a count and a sum.

    >>> import windrow as wr
    >>> wr.mean("speed").compute([40, 41])
    40.5
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    builtin: ClassVar[bool] = True

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
