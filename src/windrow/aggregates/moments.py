"""Sample variance and standard deviation, by Welford's recurrence and its pairwise merge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from windrow.aggregates.base import AggregateFunction

State = tuple[float, float, float]


@dataclass(frozen=True, repr=False)
class Variance(AggregateFunction):
    """The sample variance (divided by n - 1); null for fewer than two values.

    The state is the count, the mean and the sum of squared distances from it. There is no `remove`: taking a value out
    of floating-point moments can lose every digit.

    >>> import windrow as wr
    >>> wr.variance("speed").compute([1.0, 2.0, 4.0])
    2.333333333333333
    """

    needs: ClassVar[int] = 2
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    builtin: ClassVar[bool] = True

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0, 0.0, 0.0)

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        n = s[0] + 1.0
        delta = x - s[1]
        mean = s[1] + delta / n
        return (n, mean, s[2] + delta * (x - mean))

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        if a[0] == 0.0:
            return b
        if b[0] == 0.0:
            return a
        n = a[0] + b[0]
        delta = b[1] - a[1]
        return (n, a[1] + delta * (b[0] / n), a[2] + b[2] + delta * delta * (a[0] * b[0] / n))

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

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return math.sqrt(s[2] / (s[0] - 1.0)) if s[0] > 1.0 else 0.0
