"""Variance, standard deviation, skewness and kurtosis, by recurrences for adding a value and for merging two sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from windrow.aggregates.base import THESIS, AggregateFunction

State = tuple[float, float, float]


@dataclass(frozen=True, repr=False)
class Variance(AggregateFunction):
    """The sample variance (divided by n - 1); null for fewer than two values.

    The state is the count, the mean and the sum of squared distances from it. There is no `remove`: removing a value
    from floating-point moments can lose every digit.

    >>> import windrow as wr
    >>> wr.variance("speed").compute([1.0, 2.0, 4.0])
    2.333333333333334
    """

    needs: ClassVar[int] = 2
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "var_samp(CAST({x} AS DOUBLE))"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("count({x})", "avg({x})", "var_pop({x}) * count({x})")

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0, 0.0, 0.0)

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        n = s[0] + 1.0
        delta = x - s[1]
        # This division does not depend on the previous mean, so consecutive values take a third less time.
        mean = s[1] + delta * (1.0 / n)
        return (n, mean, s[2] + delta * (x - mean))

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        if a[0] == 0.0:
            return b
        if b[0] == 0.0:
            return a
        n = a[0] + b[0]
        delta = b[1] - a[1]
        share = b[0] * (1.0 / n)
        return (n, a[1] + delta * share, a[2] + b[2] + delta * delta * (a[0] * share))

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[2] / (s[0] - 1.0) if s[0] > 1.0 else 0.0


@dataclass(frozen=True, repr=False)
class Stddev(Variance):
    """The sample standard deviation; null for fewer than two values.

    >>> import windrow as wr
    >>> wr.stddev("speed").compute([1.0, 3.0])
    1.4142135623730951
    """

    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "stddev_samp(CAST({x} AS DOUBLE))"

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return math.sqrt(s[2] / (s[0] - 1.0)) if s[0] > 1.0 else 0.0


Shape = tuple[float, float, float, float, float]


@dataclass(frozen=True, repr=False)
class _HigherMoment(AggregateFunction):
    """An aggregate of higher moments. The state is the count, the mean, and the sums of distances² to distances⁴."""

    source: ClassVar[str] = THESIS

    @staticmethod
    def zero() -> Shape:
        return (0.0, 0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def add(s: Shape, x: float) -> Shape:
        n = s[0] + 1.0
        delta = x - s[1]
        step = delta / n
        term = delta * step * s[0]
        return (
            n,
            s[1] + step,
            s[2] + term,
            s[3] + term * step * (n - 2.0) - 3.0 * step * s[2],
            s[4] + term * step * step * (n * n - 3.0 * n + 3.0) + 6.0 * step * step * s[2] - 4.0 * step * s[3],
        )

    @staticmethod
    def merge(a: Shape, b: Shape) -> Shape:
        if a[0] == 0.0:
            return b
        if b[0] == 0.0:
            return a
        na, nb = a[0], b[0]
        n = na + nb
        delta = b[1] - a[1]
        d = delta / n
        second = a[2] + b[2] + delta * d * na * nb
        third = a[3] + b[3] + d * d * delta * na * nb * (na - nb) + 3.0 * d * (na * b[2] - nb * a[2])
        fourth = (
            a[4]
            + b[4]
            + d * d * d * delta * na * nb * (na * na - na * nb + nb * nb)
            + 6.0 * d * d * (na * na * b[2] + nb * nb * a[2])
            + 4.0 * d * (na * b[3] - nb * a[3])
        )
        return (n, a[1] + d * nb, second, third, fourth)


@dataclass(frozen=True, repr=False)
class Skewness(_HigherMoment):
    """The skewness: the third standardised moment of the population, as in Spark; NaN if all values are equal.

    >>> import windrow as wr
    >>> wr.skewness("speed").compute([0.0, 0.0, 3.0])
    0.7071067811865476
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: Shape) -> float:  # noqa: D102
        return math.sqrt(s[0]) * s[3] / (s[2] * math.sqrt(s[2])) if s[2] > 0.0 else math.nan


@dataclass(frozen=True, repr=False)
class Kurtosis(_HigherMoment):
    """The excess kurtosis: the fourth standardised moment minus 3, of the population; NaN if all values are equal.

    >>> import windrow as wr
    >>> wr.kurtosis("speed").compute([0.0, 0.0, 1.0, 1.0])
    -2.0
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: Shape) -> float:  # noqa: D102
        return s[0] * s[4] / (s[2] * s[2]) - 3.0 if s[2] > 0.0 else math.nan
