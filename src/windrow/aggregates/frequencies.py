"""Aggregates of frequencies: the most frequent values, and the number of distinct values.

A result of several values is a list of structs with the fields `value` and `count`, most frequent first; ties are in
order of value, text in the order of its bytes. All NaN are one value, and so are both zeros, as in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.aggregates.base import MOST_VALUES, THESIS, AggregateFunction, Counted, Form, Gives, Kind, Options
from windrow.aggregates.order import check_share, check_size

Row = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class _Frequency(AggregateFunction):
    max_values: int = field(default=MOST_VALUES, kw_only=True)
    """The largest number of distinct values per frame; more raise an error."""

    kind: ClassVar[Kind] = "holistic"
    form: ClassVar[Form] = "values"
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    source: ClassVar[str] = THESIS

    def __post_init__(self) -> None:
        check_size(self, "max_values", self.max_values)
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class CountDistinct(_Frequency):
    """The number of distinct values.

    >>> import windrow as wr
    >>> wr.count_distinct("lane").compute([1, 2, 1, None])
    2
    >>> wr.count_distinct("code").compute(["E7", "E1", "E7"])
    2
    """

    needs: ClassVar[int] = 0
    monotonic = "always"
    duplicate_sensitive: ClassVar[bool] = False
    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a 64-bit integer type."""
        return pa.int64()

    @staticmethod
    def finish(s: Counted) -> int:  # noqa: D102
        return s[0].size


@dataclass(frozen=True, repr=False)
class Mode(_Frequency):
    """The most frequent value; the smallest one if several are equally frequent.

    >>> import windrow as wr
    >>> wr.mode("lane").compute([3, 2, 3, 2, 1])
    2
    >>> wr.mode("code").compute(["E7", "E1", "E7"])
    'E7'
    """

    robust: ClassVar[bool] = False
    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return the type of the column."""
        return values

    @staticmethod
    def finish(s: Counted) -> Any:  # noqa: D102
        return s[0][np.argmax(s[1])]


@njit(cache=True)
def _most_frequent(values: Row, counts: Row, at_most: int, least: float, items: Row, often: Row) -> int:
    """Write up to `at_most` values that occur at least `least` times, most frequent first, and return how many."""
    n = 0
    # The sort is stable, so the smaller of two equally frequent values stays in front.
    for i in np.argsort(-counts, kind="mergesort"):
        if n == at_most or counts[i] < least:
            break
        items[n], often[n] = values[i], counts[i]
        n += 1
    return n


@dataclass(frozen=True, repr=False)
class _Frequent(_Frequency):
    gives: ClassVar[Gives] = "counted list"
    has_options: ClassVar[bool] = True

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a list type of structs with a value and its count."""
        return pa.list_(pa.struct([("value", values), ("count", pa.int64())]))


@dataclass(frozen=True, repr=False)
class TopK(_Frequent):
    """The `k` most frequent values, each with its count.

    Of equally frequent values, the smaller comes first. Text is in the order of its bytes.

    >>> import windrow as wr
    >>> wr.top_k("lane", 2).compute([3, 2, 3, 1, 2, 3])
    [{'value': 3, 'count': 3}, {'value': 2, 'count': 2}]
    >>> wr.top_k("code", 1).compute(["E7", "E1", "E7"])
    [{'value': 'E7', 'count': 2}]
    """

    k: int

    robust: ClassVar[bool] = False
    source: ClassVar[str] = "On a design space for sliding windows (2011), 3.5"
    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_size(self, "k", self.k)
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example of two values."""
        return cls(column, 2)

    def options(self, integral: bool) -> Options:
        """Return `k`."""
        return np.array([self.k], np.int64)

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of values seen, but at most `k`."""
        return np.minimum(seen, self.k)

    @staticmethod
    def finish(s: Counted, options: Options, items: Row, counts: Row) -> int:  # noqa: D102
        return int(_most_frequent(s[0], s[1], options[0], 0.0, items, counts))


@dataclass(frozen=True, repr=False)
class HeavyHitters(_Frequent):
    """The values that make up at least the share `phi` of all values, each with its count.

    Parameters
    ----------
    column
        The column to aggregate.
    phi
        Above 0 and up to 1: a value is included if it occurs at least `phi * N` times.
    eps
        The share of all values by which a count may be off if a synopsis approximates the result; frames are exact.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.heavy_hitters("lane", 0.5).compute([3, 2, 3, 1, 2, 3])
    [{'value': 3, 'count': 3}]
    """

    phi: float
    eps: float = 0.0

    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "phi", check_share(self, "phi", self.phi, least="above 0 and up to 1"))
        object.__setattr__(self, "eps", check_share(self, "eps", self.eps, least="of at least 0 and below 1"))
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example with a share of 0.3."""
        return cls(column, 0.3)

    def options(self, integral: bool) -> Options:
        """Return the share."""
        return np.array([self.phi])

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many shares of `phi` fit into 1, plus 1 for rounding, but at most the number of values seen."""
        return np.minimum(seen, np.int64(min(1 / self.phi, 2.0**62)) + 1)

    @staticmethod
    def finish(s: Counted, options: Options, items: Row, counts: Row) -> int:  # noqa: D102
        values, often = s
        return int(_most_frequent(values, often, values.size, options[0] * often.sum(), items, counts))
