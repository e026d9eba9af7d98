"""The Spark SQL that aggregates declare, turned into columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from windrow.aggregates import AggregateFunction

NAMES = ("x", "y", "z")
"""What an aggregate's Spark SQL calls its columns."""
ONE = "1"
"""The value of a row for an aggregate that reads no column."""


def kinds_of(aggregate: AggregateFunction, types: dict[str, pa.DataType]) -> list[pa.DataType]:
    """Return the types of the columns that an aggregate reads; a row counts as an integer."""
    return [types[name] for name in aggregate.columns] or [pa.int64()]


def filled(template: str, names: Sequence[str], order: Iterable[str] = ()) -> Column:
    """Return the column of a template over columns of these names, which must be safe to put into SQL."""
    values = dict(zip(NAMES, (f"`{name}`" for name in names), strict=False)) or {"x": ONE}
    place = f"struct({', '.join(f'`{name}`' for name in order)})"
    return F.expr(template.format(**values, order=place))


def masked(values: Sequence[Column]) -> list[Column]:
    """Return columns that are all null in rows where one of them is."""
    if len(values) < 2:
        return list(values)
    together = reduce(lambda a, b: a & b, (value.isNotNull() for value in values))
    return [F.when(together, value) for value in values]
