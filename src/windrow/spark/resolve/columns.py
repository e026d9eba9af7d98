"""From a user's words to a request: every name, type and text is checked before any Spark job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import ColumnError, SpecError, TypeMismatchError, WindrowError, quoted
from windrow.predicates.parse import zero_division
from windrow.rows.clock import Clock
from windrow.spark.versions import to_arrow_type


def resolve_roles(
    df: DataFrame,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    attributes: Mapping[str, str] | None = None,
) -> tuple[str, tuple[str, ...], tuple[str, ...], dict[str, AggregateFunction], dict[str, pa.DataType]]:
    """The columns that are asked for by role, as the table spells them, and their types.

    `attributes` are more columns that are read, each with the role in which it is.
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
    aggregated = (column for aggregate in aggregates.values() for column in aggregate.columns)
    types = columns.arrow_types([on, *keys, *ties, *(attributes or {}), *aggregated])
    check_keys(types, keys)
    check_keys(types, ties, "order_by")
    _ = Clock.of(types[on], on)
    return on, keys, ties, aggregates, types


class Columns:
    """The columns of a DataFrame, found by name as Spark finds them: letter case does not matter unless it must."""

    def __init__(self, df: DataFrame) -> None:
        self._spark = df.sparkSession
        self._fields: list[StructField] = df.schema.fields
        self.names = [field.name for field in self._fields]

    def find(self, name: Any, role: str) -> str:
        """The one column of that name, as the table spells it."""
        return self.field(name, role).name

    def find_all(self, names: str | Sequence[str] | None, role: str) -> tuple[str, ...]:
        """One or several columns, none of them twice."""
        if not isinstance(names, Sequence | None):
            raise SpecError(f"{role}: {quoted(names)} is neither the name of a column nor a list of names")
        listed = [] if names is None else [names] if isinstance(names, str) else list(names)
        found = tuple(self.find(name, role) for name in listed)
        check_distinct(found, role)
        return found

    def field(self, name: Any, role: str) -> StructField:
        """The one column of that name, with its type."""
        if not isinstance(name, str):
            raise SpecError(
                f"{role}: {quoted(name)} is no name of a column; the columns are {', '.join(map(repr, self.names))}"
            )
        found = [f for f in self._fields if f.name.lower() == name.lower()]
        exact = [f for f in found if f.name == name]
        if found != exact and self._case_matters():
            found = exact
        if not found:
            raise ColumnError.unknown(name, role, self.names)
        if len(found) > 1:
            named = ", ".join(repr(f.name) for f in found)
            raise ColumnError(f"{role}: {name!r} is ambiguous, the table has columns {named}; rename one of them")
        return found[0]

    def _case_matters(self) -> bool:
        return self._spark.conf.get("spark.sql.caseSensitive") == "true"

    def arrow_types(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """The Arrow type of each column; a name that was written in other letters is found as well."""
        return {name: arrow_type(self.field(name, "type"), name) for name in names}


def arrow_type(field: StructField, name: str) -> pa.DataType:
    """The Arrow type in which Spark hands over a column."""
    try:
        return to_arrow_type(field.dataType)
    except PySparkException:
        raise TypeMismatchError(
            f"column {name!r} is of type {field.dataType.simpleString()}, which cannot be used here; "
            "give a number, a text, a timestamp, a date or the like"
        ) from None


def check_aggregates(agg: Any) -> dict[str, AggregateFunction]:
    """The aggregates by result name, or a refusal."""
    if agg is None:
        return {}
    if not isinstance(agg, Mapping):
        raise SpecError(
            f"agg: {quoted(agg)} must be a dict from result name to aggregate, as in {{'cars': wr.sum('volume')}}"
        )
    for name, aggregate in agg.items():
        if not isinstance(name, str) or not name:
            raise SpecError(f"agg: {quoted(name)} is no name for a result column")
        if not isinstance(aggregate, AggregateFunction):
            raise SpecError(
                f"agg: {quoted(name)} is {quoted(aggregate)}; it must be an aggregate such as wr.sum('volume')"
            )
        check_compiles(aggregate)
    return dict(agg)


def check_compiles(aggregate: AggregateFunction) -> None:
    """Compile a user's aggregate here and now, so that what numba does not like is known before any job runs."""
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
        said = " ".join(str(error).split())
        raise SpecError(f"the aggregate {aggregate!r} cannot be compiled: {said[:300]}") from None


def check_keys(types: Mapping[str, pa.DataType], keys: Sequence[str], role: str = "by") -> None:
    """Refuse to group or to order by what has no plain equality and order."""
    for key in keys:
        if pa.types.is_nested(types[key]) or pa.types.is_null(types[key]):
            raise TypeMismatchError(
                f"{role}: column {key!r} is of type {types[key]}; give a string, a number, a date or the like"
            )


def check_distinct(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name; Spark does not tell letters of different case apart."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ColumnError(f"{where} would have two columns named {name!r}; rename one of them")
        seen.add(name.lower())


def column(name: str) -> Column:
    """A column by its literal name, dots and backticks included."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def _check_divisors(df: DataFrame, predicate: str, option: str) -> None:
    """Refuse to divide by a zero that is written out, where Spark would do so at the first row."""
    part = zero_division(predicate)
    if part and (df.sparkSession.conf.get("spark.sql.ansi.enabled") or "").lower() == "true":
        raise SpecError(f"{option}: {quoted(predicate)}: {quoted(part)} divides by zero")
