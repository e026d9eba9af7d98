"""The first and the last value of a frame, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow.aggregates.base import AggregateFunction, Kind

State = tuple[float, float]


@dataclass(frozen=True, repr=False)
class _End(AggregateFunction):
    """One of the two ends. The state is (1 if there is a value, the value)."""

    kind: ClassVar[Kind] = "distributive"
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    duplicate_sensitive: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    order_sensitive: ClassVar[bool] = True
    value_at: ClassVar[int | None] = 1
    source: ClassVar[str] = "Spark SQL's first and last"

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return the type of the column."""
        return values

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:
        return (0, 0)

    @staticmethod
    def finish(s: State) -> float:
        return s[1]


@dataclass(frozen=True, repr=False)
class First(_End):
    """The first non-null value.

    >>> import windrow as wr
    >>> wr.first("speed").compute([None, 40, 38])
    40
    >>> wr.first("state").compute(["idle", None, "busy"])
    'idle'
    """

    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "min_by({x}, CASE WHEN {x} IS NOT NULL THEN {order} END)"

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        return s if s[0] > 0 else (s[0] + 1, x)

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        return a if a[0] > 0 else b


@dataclass(frozen=True, repr=False)
class Last(_End):
    """The last non-null value.

    >>> import windrow as wr
    >>> wr.last("speed").compute([40, 38, None])
    38
    >>> wr.last("state").compute(["idle", None, "busy"])
    'busy'
    """

    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "max_by({x}, CASE WHEN {x} IS NOT NULL THEN {order} END)"

    @staticmethod
    def add(s: State, x: float) -> State:  # noqa: D102
        return (s[0] * 0 + 1, x)

    @staticmethod
    def merge(a: State, b: State) -> State:  # noqa: D102
        return b if b[0] > 0 else a
