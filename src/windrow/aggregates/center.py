"""The centre of mass: the mean of positions, each weighted by its mass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from windrow.aggregates.base import THESIS, AggregateFunction

State = tuple[float, float]


@dataclass(frozen=True, repr=False)
class CenterOfMass(AggregateFunction):
    """The mean of a column weighted by another, stored as two sums; NaN if the weights add up to zero.

    >>> import windrow as wr
    >>> wr.center_of_mass("position", "mass").compute([0.0, 10.0, 99.0], [3, 1, None])
    2.5
    """

    weight: str

    reads: ClassVar[int] = 2
    source: ClassVar[str] = THESIS
    builtin: ClassVar[bool] = True

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example over two columns."""
        return cls(column, other)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of positions and the column of weights."""
        return (self.column, self.weight)

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0, 0.0)

    @staticmethod
    def add(s: State, x: float, weight: float) -> State:  # noqa: D102
        return (s[0] + weight, s[1] + weight * x)

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def finish(s: State) -> float:  # noqa: D102
        return s[1] / s[0] if s[0] != 0.0 else math.nan

    @staticmethod
    def remove(s: State, x: float, weight: float) -> State:  # noqa: D102
        return (s[0] - weight, s[1] - weight * x)
