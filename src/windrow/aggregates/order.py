"""Aggregates based on the order of values: the n largest and smallest, quantiles, the median, and ranks.

NaN is greater than any other value, as in Spark.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.aggregates.base import MOST_VALUES, THESIS, AggregateFunction, Counted, Form, Gives, Kind, Options
from windrow.aggregates.values import precedes
from windrow.errors import SpecError, quoted

Row = npt.NDArray[Any]


def chosen_type(values: pa.DataType) -> pa.DataType:
    """Return the type of values selected from a column: the type of the column; a decimal becomes a float."""
    return pa.float64() if pa.types.is_decimal(values) else values


def check_size(aggregate: AggregateFunction, option: str, size: Any) -> None:
    """Reject anything that is not a positive 32-bit integer."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size < 2**31:
        raise SpecError(
            f"{type(aggregate).__name__}: {option}: expected an integer from 1 to 2**31 - 1, got {quoted(size)}"
        )


def check_share(aggregate: AggregateFunction, option: str, share: Any, *, least: str) -> float:
    """Return a share as a float, or raise; `least` states the range of valid shares."""
    fine = not isinstance(share, bool) and isinstance(share, int | float | np.integer | np.floating)
    limits = {"from 0 to 1": (0, 1), "above 0 and up to 1": (math.ulp(0.0), 1), "of at least 0 and below 1": (0, 1)}
    low, high = limits[least]
    if not fine or not low <= share <= high or ("below 1" in least and share == 1):
        raise SpecError(f"{type(aggregate).__name__}: {option}: expected a number {least}, got {quoted(share)}")
    return float(share)


# The n largest and smallest.


@njit(cache=True)
def _insert(row: Row, x: Any, ascending: bool) -> None:
    """Insert a value in order among the best so far; `row[0]` is their number."""
    held = int(row[0])
    if held == row.size - 1:
        worst = row[held]
        if not (precedes(x, worst) if ascending else precedes(worst, x)):
            return
        held -= 1
    place = held + 1
    while place > 1 and (precedes(x, row[place - 1]) if ascending else precedes(row[place - 1], x)):
        row[place] = row[place - 1]
        place -= 1
    row[place] = x
    row[0] = held + 1


@dataclass(frozen=True, repr=False)
class _Few(AggregateFunction):
    """The n best values. The state is a row with the number of values, followed by the values in order."""

    n: int

    kind: ClassVar[Kind] = "algebraic"
    form: ClassVar[Form] = "row"
    gives: ClassVar[Gives] = "list"
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    robust: ClassVar[bool] = False
    source: ClassVar[str] = THESIS

    def __post_init__(self) -> None:
        check_size(self, "n", self.n)
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example of two values."""
        return cls(column, 2)

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a list type of the column's values."""
        return pa.list_(chosen_type(values))

    def zero_state(self, integral: bool) -> tuple[float, ...]:
        """Return a state without values and with room for `n`."""
        return (0,) * (self.n + 1)

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of values seen, but at most `n`."""
        return np.minimum(seen, self.n)

    @staticmethod
    def finish(row: Row, items: Row) -> int:
        n = int(row[0])
        items[:n] = row[1 : n + 1]
        return n


@dataclass(frozen=True, repr=False)
class MaxN(_Few):
    """The `n` largest values as a list, largest first; duplicates are included.

    >>> import windrow as wr
    >>> wr.max_n("speed", 3).compute([40, 38, 55, 40, 12])
    [55, 40, 40]
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def add(row: Row, x: float) -> None:  # noqa: D102
        _insert(row, x, False)

    @staticmethod
    def merge(row: Row, other: Row) -> None:  # noqa: D102
        for i in range(1, int(other[0]) + 1):
            _insert(row, other[i], False)


@dataclass(frozen=True, repr=False)
class MinN(_Few):
    """The `n` smallest values as a list, smallest first; duplicates are included.

    >>> import windrow as wr
    >>> wr.min_n("speed", 3).compute([40, 38, 55])
    [38, 40, 55]
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def add(row: Row, x: float) -> None:  # noqa: D102
        _insert(row, x, True)

    @staticmethod
    def merge(row: Row, other: Row) -> None:  # noqa: D102
        for i in range(1, int(other[0]) + 1):
            _insert(row, other[i], True)


# Quantiles.


@njit(cache=True)
def rank_of(q: float, n: int) -> int:
    """Return the rank of quantile `q` among `n` values: `q * n` rounded up, but at least 1."""
    return max(1, min(n, math.ceil(q * n)))


@dataclass(frozen=True, repr=False)
class _Quantile(AggregateFunction):
    max_values: int = field(default=MOST_VALUES, kw_only=True)

    ranks_suffice: ClassVar[bool] = True
    kind: ClassVar[Kind] = "holistic"
    form: ClassVar[Form] = "values"
    has_options: ClassVar[bool] = True
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    robust: ClassVar[bool] = False
    source: ClassVar[str] = THESIS

    def __post_init__(self) -> None:
        check_size(self, "max_values", self.max_values)
        super().__post_init__()

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return the type of the column; a decimal becomes a float."""
        return chosen_type(values)

    @staticmethod
    def finish(s: Counted, options: Options) -> Any:
        values, counts = s
        left = rank_of(options[0], counts.sum())
        for i in range(values.size):
            left -= counts[i]
            if left <= 0:
                return values[i]
        return values[-1]


@dataclass(frozen=True, repr=False)
class Quantile(_Quantile):
    """The smallest value such that at least the share `q` of all values does not exceed it: that of rank `⌈q * N⌉`.

    Parameters
    ----------
    column
        The column to aggregate.
    q
        From 0 (the smallest value) to 1 (the largest).
    eps
        The share of all values by which the rank may be off. If it is given, frames and windows keep a summary of about
        1 / eps values instead of all values, and all plans agree within `eps`. Up to 2 / eps values are exact.
    max_values
        The largest number of distinct values per frame without `eps`; more raise an error.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.quantile("temp", 0.99, eps=0.01)
    quantile('temp', 0.99, eps=0.01)
    >>> wr.quantile("temp", 0.25).compute([7, 1, 5, 3])
    1
    """

    q: float
    eps: float = 0.0

    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", check_share(self, "q", self.q, least="from 0 to 1"))
        object.__setattr__(self, "eps", check_share(self, "eps", self.eps, least="of at least 0 and below 1"))
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example, the quantile of 0.3."""
        return cls(column, 0.3)

    def options(self, integral: bool) -> Options:
        """Return the share."""
        return np.array([self.q])


@dataclass(frozen=True, repr=False)
class Median(_Quantile):
    """The quantile of 0.5. It is always one of the values: of an even number, the lower of the two in the middle.

    `eps` and `max_values` have the same meaning as in `quantile`.

    >>> import windrow as wr
    >>> wr.median("temp").compute([7, 1, 5, 3])
    3
    """

    eps: float = 0.0

    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps", check_share(self, "eps", self.eps, least="of at least 0 and below 1"))
        super().__post_init__()

    @property
    def q(self) -> float:
        """The share of values up to the median."""
        return 0.5

    def options(self, integral: bool) -> Options:
        """Return the share."""
        return np.array([0.5])


# Rank.


@dataclass(frozen=True, repr=False)
class Rank(AggregateFunction):
    """The rank that a given value has or would have: the number of values that are at most as large.

    >>> import windrow as wr
    >>> wr.rank("speed", 40).compute([38, 40, 55, 40])
    3
    """

    value: float

    kind: ClassVar[Kind] = "distributive"
    has_options: ClassVar[bool] = True
    needs: ClassVar[int] = 0
    keeps_integers: ClassVar[bool] = True
    monotonic = "always"
    source: ClassVar[str] = THESIS
    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        value = self.value
        is_number = not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)
        if not is_number or value != value or (isinstance(value, int) and abs(value) > sys.float_info.max):
            raise SpecError(f"Rank: value: expected a number, got {quoted(value)}")
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example, the rank of 1."""
        return cls(column, 1)

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a 64-bit integer type."""
        return pa.int64()

    def options(self, integral: bool) -> Options:
        """Return the value, rounded down for integers, and whether any number can be as small."""
        if not integral:
            return np.array([self.value, 1.0])
        limits = np.iinfo(np.int64)
        if not limits.min <= self.value <= limits.max:
            return np.array([limits.max, self.value > 0])
        return np.array([math.floor(self.value), 1])

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (0,)

    @staticmethod
    def add(s: tuple[int], x: float, options: Options) -> tuple[int]:  # noqa: D102
        return (s[0] + ((x <= options[0]) & (options[1] > 0)),)

    @staticmethod
    def merge(a: tuple[int], b: tuple[int], options: Options) -> tuple[int]:  # noqa: D102
        return (a[0] + b[0],)

    @staticmethod
    def finish(s: tuple[int], options: Options) -> int:  # noqa: D102
        return s[0]

    @staticmethod
    def remove(s: tuple[int], x: float, options: Options) -> tuple[int]:  # noqa: D102
        return (s[0] - ((x <= options[0]) & (options[1] > 0)),)
