"""Find the columns that a query uses by role, and check their names and types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import ColumnError, SpecError, TypeMismatchError, WindrowError, quoted
from windrow.rows.roles import Condition, Roles
from windrow.spark.resolve.predicates import check_condition, condition
from windrow.spark.versions import to_arrow_type


def resolve_roles(
    df: DataFrame,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    attributes: Mapping[str, str] | None = None,
    analyse: Callable[[DataFrame, Any, str], None] | None = None,
) -> Roles:
    """Return the columns of a table by role, or raise an error that says what is wrong with the arguments.

    `attributes` maps further columns that the query reads to the role to name in errors. `analyse` checks a condition
    against the table; by default, Spark's analyzer does.
    """
    columns = Columns(df)
    on = columns.find(on, "on")
    keys = columns.find_all(by, "by")
    ties = columns.find_all(order_by, "order_by")
    aggregates = check_aggregates(agg)
    for name, role in (attributes or {}).items():
        columns.find(name, role)
    for name, aggregate in aggregates.items():
        for column in aggregate.columns:
            columns.find(column, f"agg {name!r}")
        if aggregate.condition is not None:
            (analyse or check_condition)(df, aggregate.condition, f"agg {name!r}")
    aggregated = (column for aggregate in aggregates.values() for column in aggregate.columns)
    types = columns.arrow_types([on, *keys, *ties, *(attributes or {}), *aggregated])
    check_keys(types, keys)
    check_keys(types, ties, "order_by")
    for name, aggregate in aggregates.items():
        check_collations(df, aggregate.columns if aggregate.only_compares else (), f"agg {name!r}")
    roles = Roles(on, keys, ties, aggregates, types)
    _ = roles.clock
    return roles


class Columns:
    """The columns of a DataFrame, looked up as Spark does: case matters only if the session says so."""

    def __init__(self, df: DataFrame) -> None:
        self._spark = df.sparkSession
        self._fields: list[StructField] = df.schema.fields
        self.names = [field.name for field in self._fields]

    def find(self, name: Any, role: str) -> str:
        """Return the only column of that name, spelled as in the table."""
        return self.field(name, role).name

    def find_all(self, names: str | Sequence[str] | None, role: str) -> tuple[str, ...]:
        """Return one or several columns; reject duplicates."""
        if not isinstance(names, Sequence | None):
            raise SpecError(f"{role}: expected a column name or a list of column names, got {quoted(names)}")
        listed = [] if names is None else [names] if isinstance(names, str) else list(names)
        columns = tuple(self.find(name, role) for name in listed)
        check_distinct(columns, role)
        return columns

    def field(self, name: Any, role: str) -> StructField:
        """Return the only column of that name, with its type."""
        if not isinstance(name, str):
            raise SpecError(
                f"{role}: expected a column name, got {quoted(name)}; available columns: "
                f"{', '.join(map(repr, self.names))}"
            )
        matches = [f for f in self._fields if f.name.lower() == name.lower()]
        exact = [f for f in matches if f.name == name]
        if matches != exact and self._case_matters():
            matches = exact
        if not matches:
            raise ColumnError.unknown(name, role, self.names)
        if len(matches) > 1:
            named = ", ".join(repr(f.name) for f in matches)
            raise ColumnError(f"{role}: {name!r} is ambiguous: the table has the columns {named}; rename one of them")
        return matches[0]

    def _case_matters(self) -> bool:
        return self._spark.conf.get("spark.sql.caseSensitive") == "true"

    def arrow_types(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """Return the Arrow type of each column. Names may differ from the table's in case."""
        return {name: arrow_type(self.field(name, "type"), name) for name in names}


def arrow_type(field: StructField, name: str) -> pa.DataType:
    """Return the Arrow type in which Spark hands over a column."""
    try:
        return to_arrow_type(field.dataType)
    except PySparkException:
        raise TypeMismatchError(
            f"column {name!r} is of type {field.dataType.simpleString()}, which is not supported here; "
            "expected a number, a string, a timestamp, a date or the like"
        ) from None


def check_aggregates(agg: Any) -> dict[str, AggregateFunction]:
    """Return the aggregates by result name; reject anything else."""
    if agg is None:
        return {}
    if not isinstance(agg, Mapping):
        raise SpecError(
            f"agg: expected a dict from result name to aggregate, e.g. {{'cars': wr.sum('volume')}}, got {quoted(agg)}"
        )
    for name, aggregate in agg.items():
        if not isinstance(name, str) or not name:
            raise SpecError(f"agg: expected a name for a result column, got {quoted(name)}")
        if not isinstance(aggregate, AggregateFunction):
            raise SpecError(
                f"agg: expected an aggregate such as wr.sum('volume') for {quoted(name)}, got {quoted(aggregate)}"
            )
        check_compiles(aggregate)
    return dict(agg)


def check_compiles(aggregate: AggregateFunction) -> None:
    """Compile a user-defined aggregate on the driver, so that numba's errors appear before any job runs."""
    if aggregate.builtin:
        return
    try:
        accumulator = Accumulator(aggregate, *[pa.float64()] * aggregate.reads)
        states = accumulator.empty(0)
        nothing = [pa.array([], pa.float64())] * aggregate.reads
        accumulator.accumulate(states, np.empty((0, 1), np.int64), accumulator.read(*nothing))
        accumulator.merge(states, np.empty(0, np.int64), np.empty(0, np.int64))
        accumulator.finish(states)
    except WindrowError:
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        raise SpecError(f"the aggregate {aggregate!r} cannot be compiled: {message[:300]}") from None


def check_keys(types: Mapping[str, pa.DataType], keys: Sequence[str], role: str = "by") -> None:
    """Reject columns to group or order by whose type has no plain equality and order."""
    for key in keys:
        if pa.types.is_nested(types[key]) or pa.types.is_null(types[key]):
            raise TypeMismatchError(
                f"{role}: column {key!r} is of type {types[key]}; expected a string, a number, a date or the like"
            )


def check_collations(df: DataFrame, names: Iterable[str], role: str) -> None:
    """Reject text with a collation where values are compared: Windrow compares bytes."""
    columns = Columns(df)
    for name in names:
        kind = columns.field(name, role).dataType
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            raise TypeMismatchError(
                f"{role}: column {name!r} is of type {kind.simpleString()}; cast it to a plain string"
            )


def check_distinct(names: Sequence[str], where: str) -> None:
    """Reject two columns of the same name. Spark ignores case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ColumnError(f"{where} would have two columns named {name!r}; rename one of them")
        seen.add(name.lower())


def column(name: str) -> Column:
    """Return a column by its literal name, including dots and backticks."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def value_of(source: str | Condition) -> Column:
    """Return an input of an aggregate: a column, or the truth of a condition."""
    return condition(source.text) if isinstance(source, Condition) else column(source)
