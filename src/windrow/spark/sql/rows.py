"""How rows reach a table function: what Catalyst selects, and how rows become Arrow tables and back.

Rows arrive one by one, as Python objects. Instants arrive as integers: Python's `datetime` cannot represent the hour
that repeats when clocks are set back, and is slow to create.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.udtf import SelectedColumn

from windrow.rows import wire
from windrow.rows.query import Layout, Query
from windrow.rows.roles import Condition


@dataclass(frozen=True)
class Selected:
    """An expression over the table, the name of its value in a row, and its types in transit and in the kernel."""

    expression: str
    name: str
    sent: pa.DataType
    type: pa.DataType

    @property
    def column(self) -> SelectedColumn:
        """The column that Catalyst is asked to select."""
        return SelectedColumn(self.expression, self.name)

    def read(self, values: Sequence[Any]) -> pa.Array:
        """Return the values of many rows as a column."""
        column = pa.array(values, self.sent)
        return column if self.sent == self.type else column.view(self.type)


LEAST_MICROS, MOST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
LEAST_DAY, MOST_DAY = -719_162, 2_932_896
EARLIEST_AND_LATEST = "TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
"""The years 1 to 9999, the only ones that Python's dates support."""


def select_rows(request: Query[Any]) -> tuple[tuple[Selected, ...], Layout]:
    """Select what the kernel reads, under internal names, with `on` first."""
    layout, types, strict = Layout.on_wire(request), request.types, request.never_null
    on = _never_null(_as_is(request.on, layout.on, types[request.on]), request.on, "on")
    by = [
        _never_null(_as_is(name, at, types[name]), name, "by") for name, at in zip(request.by, layout.by, strict=True)
    ]
    return (
        on,
        *by,
        *(_as_is(name, at, types[name]) for name, at in zip(request.order_by, layout.order_by, strict=True)),
        *(_condition(text, wire.predicate(name), name in strict) for name, text in request.predicates.items()),
        *(_number(name, at, name in strict) for name, at in layout.attributes.items()),
        *_values(request, layout, strict),
    ), layout


def _values(request: Query[Any], layout: Layout, strict: frozenset[str]) -> Iterator[Selected]:
    """Select the inputs of the aggregates, the first of which label the rows."""
    for j, (source, at) in enumerate(zip(request.values, layout.values, strict=True)):
        if isinstance(source, Condition):
            yield _condition(source.text, str(at), strict=False)
        elif source:
            value = _as_is(source, str(at), request.types[source])
            is_label = j < len(request.label_columns) and list(request.label_columns)[j] in strict
            yield replace(value, expression=_unless_missing(source, value)) if is_label else value


def quoted(name: str) -> str:
    """Return a column by its literal name, including dots and backticks."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _as_is(column: str, name: str, kind: pa.DataType) -> Selected:
    value = quoted(column)
    if pa.types.is_timestamp(kind):
        if not kind.tz:
            return Selected(_within_years(value, column, *EARLIEST_AND_LATEST), name, kind, kind)
        micros = f"unix_micros({value})"
        return Selected(_within_years(micros, column, LEAST_MICROS, MOST_MICROS), name, pa.int64(), kind)
    if pa.types.is_date32(kind):
        return Selected(_within_years(f"unix_date({value})", column, LEAST_DAY, MOST_DAY), name, pa.int32(), kind)
    return Selected(value, name, kind, kind)


def _within_years(value: str, column: str, least: int | str, most: int | str) -> str:
    message = (
        f"column {column!r} has a value outside the years 1 to 9999, the only ones that a table function can return; "
        "use wr.frames"
    )
    return _unless(f"{value} NOT BETWEEN {least} AND {most}", message, value)


def _never_null(selected: Selected, column: str, role: str) -> Selected:
    """Reject nulls. Catalyst raises the error, because Spark shows a traceback for errors of a worker."""
    message = (
        f"{role}: column {column!r} is null or NaN in some row, so the row cannot be ordered or grouped; "
        "filter such rows with WHERE"
    )
    return replace(selected, expression=_unless(_lacks(column, selected.sent), message, selected.expression))


def _lacks(column: str, kind: pa.DataType) -> str:
    return f"{quoted(column)} IS NULL" + (f" OR isnan({quoted(column)})" if pa.types.is_floating(kind) else "")


def _unless_missing(column: str, selected: Selected) -> str:
    message = f"column {column!r} is null or NaN in some row: nulls='error' forbids that"
    return _unless(_lacks(column, selected.sent), message, selected.expression)


def _unless(test: str, message: str, value: str) -> str:
    """Return an expression that fails the query with a message if a test holds."""
    escaped = message.replace("\\", "\\\\").replace("'", "\\'")
    return f"CASE WHEN {test} THEN raise_error('{escaped}') ELSE {value} END"


def _condition(text: str, name: str, strict: bool) -> Selected:
    """Return the condition. CASE makes Spark reject non-boolean expressions; a line break ends a comment."""
    value = f"CASE WHEN ({text}\n) THEN true WHEN NOT ({text}\n) THEN false END"
    if strict:
        message = f"the predicate {text!r} is null in some row: nulls='error' forbids that"
        value = _unless(f"({text}\n) IS NULL", message, value)
    return Selected(value, name, pa.bool_(), pa.bool_())


def _number(column: str, name: str, strict: bool) -> Selected:
    value = f"CAST({quoted(column)} AS DOUBLE)"
    if strict:
        message = f"column {column!r} is null or NaN in some row: nulls='error' forbids that"
        value = _unless(f"{value} IS NULL OR isnan({value})", message, value)
    return Selected(value, name, pa.float64(), pa.float64())


def as_table(rows: Sequence[Sequence[Any]], selected: Sequence[Selected]) -> pa.Table:
    """Return rows as columns of the kernel's types."""
    columns = [one.read(values) for one, values in zip(selected, zip(*rows, strict=True), strict=True)]
    return pa.table(columns, names=[one.name for one in selected])


def as_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Return frames as rows of Python values."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
