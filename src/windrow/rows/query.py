"""A query over the rows of a table, with resolved names and types, and the reader of these rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator, ValueSource, read_values
from windrow.aggregates.engine.codes import joined_values
from windrow.arrays import Array, Values, read_numbers
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory
from windrow.rows.roles import Condition, Roles
from windrow.tuning import Tuning, current_tuning

FLOAT = np.dtype(np.float64)


Evaluate = Callable[[pa.Table], pa.BooleanArray]


What = TypeVar("What")


@dataclass(frozen=True)
class Query(Generic[What]):
    """A resolved query: what to compute, the columns it reads by role, and sizes. A task needs no more."""

    what: What
    roles: Roles
    tuning: Tuning = field(default_factory=current_tuning, compare=False, repr=False)

    @property
    def predicates(self) -> Mapping[str, Any]:
        """Conditions that are evaluated per row."""
        return {}

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are read as numbers."""
        return ()

    @property
    def label_columns(self) -> Mapping[str, Any]:
        """Columns of any type that label the rows."""
        return {}

    def completed(self, rows: RowBatch) -> RowBatch:
        """Return rows that were read, with the inputs that the query derives from their values."""
        return rows

    @property
    def never_null(self) -> frozenset[str]:
        """The predicates and attributes in which a null is an error."""
        return frozenset()

    @property
    def on(self) -> str:
        """The progressing attribute."""
        return self.roles.on

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that make a group."""
        return self.roles.by

    @property
    def order_by(self) -> tuple[str, ...]:
        """The columns that break ties in `on`."""
        return self.roles.order_by

    @property
    def agg(self) -> dict[str, AggregateFunction]:
        """The aggregates, by the name of the result."""
        return self.roles.agg

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The Arrow types of all columns that the query reads."""
        return self.roles.types

    @property
    def clock(self) -> Clock:
        """The clock of `on`."""
        return self.roles.clock

    @property
    def by_types(self) -> list[pa.DataType]:
        """The types of the `by` columns."""
        return self.roles.by_types

    @property
    def values(self) -> list[str | Condition | None]:
        """The inputs of the aggregates, one after the other: columns, conditions, and None for a count of rows."""
        return self.roles.values

    @property
    def accumulators(self) -> list[Accumulator]:
        """One accumulator per aggregate."""
        return self.roles.accumulators


@dataclass(frozen=True)
class Layout:
    """The names of the columns of a table by role, and how each predicate is evaluated."""

    on: str
    by: tuple[str, ...]
    predicates: Mapping[str, Evaluate]
    attributes: Mapping[str, str]
    values: tuple[ValueSource, ...]
    order_by: tuple[str, ...] = ()

    @classmethod
    def on_wire(cls, query: Query[Any]) -> Layout:
        """Return the layout of rows that were selected under the names of `rows/wire.py`, with predicates evaluated."""
        return cls(
            wire.ON,
            wire.keys(len(query.by)),
            {name: read_column(wire.predicate(name)) for name in query.predicates},
            {name: wire.attribute(i) for i, name in enumerate(query.attributes)},
            tuple(None if name is None else wire.value(j) for j, name in enumerate(query.values)),
            tuple(wire.tie(i) for i in range(len(query.order_by))),
        )


def read_column(name: str) -> Evaluate:
    """Return a function that reads a predicate which is already evaluated as a column."""

    def read(table: pa.Table) -> pa.BooleanArray:
        return table.column(name).combine_chunks()

    return read


@dataclass
class Reader:
    """A reader that turns Arrow tables into row batches and numbers the groups."""

    request: Query[Any]
    layout: Layout
    directory: Directory = field(init=False)

    def __post_init__(self) -> None:
        self.directory = Directory(self.request.by_types)
        self._keepers = self.request.accumulators

    def read(self, table: pa.Table) -> RowBatch:
        """Read the rows of a table, in its order."""
        layout = self.layout
        inputs: dict[str, Values] = {name: _truth(evaluate(table)) for name, evaluate in layout.predicates.items()}
        inputs |= {name: read_numbers(table.column(at), FLOAT) for name, at in layout.attributes.items()}
        group = self.directory.encode([table.column(name) for name in layout.by], table.num_rows)
        on = self.request.clock.read(table.column(layout.on)).numbers
        values = read_values(self._keepers, layout.values, table, on)
        return self.request.completed(RowBatch(group, on, inputs, values))


def _truth(column: pa.BooleanArray) -> Values:
    valid = np.asarray(column.is_valid()) if column.null_count else np.empty(0, np.bool_)
    truth = column.fill_null(False) if column.null_count else column
    return Values(np.array(truth.to_numpy(zero_copy_only=False), np.bool_), valid)


class RowBatch(NamedTuple):
    """Rows of many groups, ordered within each group: what the scheme reads, by name, and what each aggregate reads."""

    group: npt.NDArray[np.int64]
    on: Array
    inputs: Mapping[str, Values]
    values: Sequence[Values]

    def where(self, keep: npt.NDArray[np.bool_]) -> RowBatch:
        """Return only the rows that are marked."""
        return RowBatch(
            self.group[keep],
            self.on[keep],
            {name: values.at(keep) for name, values in self.inputs.items()},
            [values.at(keep) for values in self.values],
        )

    def joined(self, other: RowBatch) -> RowBatch:
        """Return these rows, followed by those of another batch of the same query."""
        return RowBatch(
            np.concatenate([self.group, other.group]),
            np.concatenate([self.on, other.on]),
            {name: joined_values(values, other.inputs[name]) for name, values in self.inputs.items()},
            [joined_values(mine, theirs) for mine, theirs in zip(self.values, other.values, strict=True)],
        )
