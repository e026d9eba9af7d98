"""Aggregates of two columns: covariance, correlation and least-squares regression. Rows with a null are skipped.

All share one state, updated by the recurrences of the moments: the number of rows, the two means, the sums of squared
distances from them, and the sum of products of the distances. There is no `remove`, for the same reason as in
`variance`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from windrow.aggregates.base import THESIS, AggregateFunction

State = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, repr=False)
class Pair(AggregateFunction):
    """An aggregate of two columns. The state is (n, mean of x, mean of y, sum of dx², sum of dy², sum of dx·dy)."""

    other: str

    reads: ClassVar[int] = 2
    needs: ClassVar[int] = 2
    source: ClassVar[str] = THESIS
    spark_sql_state: ClassVar[tuple[str, ...] | None] = (
        "count({x})",
        "avg({x})",
        "avg({y})",
        "var_pop({x}) * count({x})",
        "var_pop({y}) * count({x})",
        "covar_pop({x}, {y}) * count({x})",
    )

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example over two columns."""
        return cls(column, other)

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns."""
        return (self.column, self.other)

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def add(s: State, x: float, y: float) -> State:  # noqa: D102
        n = s[0] + 1.0
        dx, dy = x - s[1], y - s[2]
        mean_x, mean_y = s[1] + dx / n, s[2] + dy / n
        return (n, mean_x, mean_y, s[3] + dx * (x - mean_x), s[4] + dy * (y - mean_y), s[5] + dx * (y - mean_y))

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        if a[0] == 0.0:
            return b
        if b[0] == 0.0:
            return a
        n = a[0] + b[0]
        dx, dy = b[1] - a[1], b[2] - a[2]
        share, both = b[0] / n, a[0] * b[0] / n
        return (
            n,
            a[1] + dx * share,
            a[2] + dy * share,
            a[3] + b[3] + dx * dx * both,
            a[4] + b[4] + dy * dy * both,
            a[5] + b[5] + dx * dy * both,
        )


@dataclass(frozen=True, repr=False)
class Covariance(Pair):
    """The sample covariance of two columns (divided by n - 1); null for fewer than two rows.

    >>> import windrow as wr
    >>> wr.covariance("speed", "volume").compute([1, 2, 3, None], [2, 4, 9, 5])
    3.5
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[5] / (s[0] - 1.0) if s[0] > 1.0 else 0.0


@dataclass(frozen=True, repr=False)
class Correlation(Pair):
    """Pearson's correlation of two columns, from -1 to 1; NaN if a column is constant, null for fewer than two rows.

    >>> import windrow as wr
    >>> wr.correlation("speed", "volume").compute([1, 2, 3], [6, 4, 2])
    -1.0
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        product = s[3] * s[4]
        # The product may overflow or underflow a float even if its root does not.
        fits = 1e-300 < product < 1e300
        spread = math.sqrt(product) if fits else math.sqrt(s[3]) * math.sqrt(s[4])
        if not spread > 0.0:
            return math.nan
        ratio = s[5] / spread
        # Rounding must not exceed 1, and NaN must pass through.
        return 1.0 if ratio > 1.0 else -1.0 if ratio < -1.0 else ratio


@dataclass(frozen=True, repr=False)
class Slope(Pair):
    """The slope of the least-squares line of `column` over `other`; NaN if `other` is constant.

    The order of the columns is that of SQL's `regr_slope`: the dependent variable comes first.

    >>> import windrow as wr
    >>> wr.slope("speed", "hour").compute([10.0, 12.0, 14.0], [1, 2, 3])
    2.0
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[5] / s[4] if s[4] > 0.0 else math.nan


@dataclass(frozen=True, repr=False)
class Intercept(Pair):
    """The intercept of the least-squares line of `column` over `other`; NaN if `other` is constant.

    >>> import windrow as wr
    >>> wr.intercept("speed", "hour").compute([10.0, 12.0, 14.0], [1, 2, 3])
    8.0
    """

    builtin: ClassVar[bool] = True

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[1] - s[5] / s[4] * s[2] if s[4] > 0.0 else math.nan
