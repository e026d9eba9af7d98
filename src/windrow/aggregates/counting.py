"""The number of rows, or of non-null values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow.aggregates.base import AggregateFunction, Kind


@dataclass(frozen=True, repr=False)
class Count(AggregateFunction):
    """The number of rows; with a column, the number of its non-null values.

    >>> import windrow as wr
    >>> wr.count()
    count()
    >>> wr.count("speed").compute([40.0, None, 38.5])
    2
    >>> wr.count("code").compute(["E7", None])
    1
    """

    column: str = "*"

    kind: ClassVar[Kind] = "distributive"
    needs: ClassVar[int] = 0
    keeps_integers: ClassVar[bool] = True
    accepts_instants: ClassVar[bool] = True
    monotonic = "always"
    source: ClassVar[str] = "On a design space for sliding windows (2011), table 3.1"
    additive: ClassVar[bool] = True
    only_compares: ClassVar[bool] = True
    builtin: ClassVar[bool] = True
    spark_sql: ClassVar[str | None] = "count({x})"
    spark_sql_state: ClassVar[tuple[str, ...] | None] = ("count({x})",)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column whose values are counted; empty if rows are counted."""
        return () if self.column == "*" else (self.column,)

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a 64-bit integer type for any column."""
        return pa.int64()

    @staticmethod
    def zero(integral: bool) -> tuple[float, ...]:  # noqa: D102
        return (0,)

    @staticmethod
    def add(s: tuple[int], x: float) -> tuple[int]:  # noqa: D102
        return (s[0] + 1,)

    @staticmethod
    def merge(a: tuple[int], b: tuple[int]) -> tuple[int]:  # noqa: D102
        return (a[0] + b[0],)

    @staticmethod
    def finish(s: tuple[int]) -> int:  # noqa: D102
        return s[0]

    @staticmethod
    def remove(s: tuple[int], x: float) -> tuple[int]:  # noqa: D102
        return (s[0] - 1,)
