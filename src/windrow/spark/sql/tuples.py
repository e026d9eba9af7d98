"""How tuples come to a table function: what Catalyst is asked to select, and how rows become Arrow tables and back.

Rows come one by one, as Python objects. Instants come as whole numbers: Python's `datetime` has no place for the hour
that comes twice when clocks are set back, and is slow to make.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.udtf import SelectedColumn

from windrow.errors import DataError
from windrow.frames.request import Layout, Request
from windrow.spark.shuffle import read_column


@dataclass(frozen=True)
class Selected:
    """An expression over the table, the name of its value in a tuple, and its types on the way and in the kernel."""

    expression: str
    name: str
    sent: pa.DataType
    type: pa.DataType

    @property
    def column(self) -> SelectedColumn:
        """What Catalyst is asked for."""
        return SelectedColumn(self.expression, self.name)

    def read(self, values: Sequence[Any]) -> pa.Array:
        """The values of many rows as a column."""
        found = pa.array(values, self.sent)
        return found if self.sent == self.type else found.view(self.type)


def select_tuples(request: Request) -> tuple[tuple[Selected, ...], Layout]:
    """What the kernel reads, under names of our own, with `on` first."""
    types, scheme = request.types, request.scheme
    by = [_as_is(name, f"by{i}", types[name]) for i, name in enumerate(request.by)]
    ties = [_as_is(name, f"tie{i}", types[name]) for i, name in enumerate(request.order_by)]
    predicates = {name: _condition(text, f"p_{name}") for name, text in scheme.predicates.items()}
    attributes = {name: _number(name, f"a{i}") for i, name in enumerate(scheme.attributes)}
    values = [None if name is None else _as_is(name, f"v{j}", types[name]) for j, name in enumerate(request.values)]
    layout = Layout(
        "on",
        tuple(one.name for one in by),
        {name: read_column(one.name) for name, one in predicates.items()},
        {name: one.name for name, one in attributes.items()},
        tuple(None if one is None else one.name for one in values),
        tuple(one.name for one in ties),
    )
    on = _as_is(request.on, "on", types[request.on])
    chosen = (on, *by, *ties, *predicates.values(), *attributes.values(), *(one for one in values if one))
    return chosen, layout


def quoted(name: str) -> str:
    """A column by its literal name, dots and backticks included."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _as_is(column: str, name: str, kind: pa.DataType) -> Selected:
    if pa.types.is_timestamp(kind) and kind.tz:
        return Selected(f"unix_micros({quoted(column)})", name, pa.int64(), kind)
    if pa.types.is_date32(kind):
        return Selected(f"unix_date({quoted(column)})", name, pa.int32(), kind)
    return Selected(quoted(column), name, kind, kind)


def _condition(text: str, name: str) -> Selected:
    """The condition; CASE makes Spark refuse what is none, and a line break ends a comment in the text."""
    return Selected(f"CASE WHEN ({text}\n) THEN true WHEN NOT ({text}\n) THEN false END", name, pa.bool_(), pa.bool_())


def _number(column: str, name: str) -> Selected:
    return Selected(f"CAST({quoted(column)} AS DOUBLE)", name, pa.float64(), pa.float64())


def as_table(rows: Sequence[Sequence[Any]], selected: Sequence[Selected]) -> pa.Table:
    """Rows as columns of the kernel's types."""
    columns = [one.read(values) for one, values in zip(selected, zip(*rows, strict=True), strict=True)]
    return pa.table(columns, names=[one.name for one in selected])


def refuse_nulls(table: pa.Table, request: Request, layout: Layout) -> None:
    """Refuse a tuple that has no place in any group's order."""
    columns = [("on", request.on, layout.on), *(("by", *names) for names in zip(request.by, layout.by, strict=True))]
    for role, column, name in columns:
        lacking = pc.sum(pc.is_null(table.column(name), nan_is_null=True)).as_py()
        if lacking:
            raise DataError(
                f"{role}: column {column!r} is null or NaN in at least {lacking} row{'s' if lacking > 1 else ''}: such "
                "a row has no place in any group's order; mend the data or leave such rows out with WHERE"
            )


def as_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Frames as rows of Python values."""
    try:
        columns = [column.to_pylist() for column in table.columns]
    except (OverflowError, ValueError):
        raise DataError(
            "a date or time of a frame is not within the years 1 to 9999, which is all that a table function can give; "
            "wr.frames can"
        ) from None
    return zip(*columns, strict=True)
