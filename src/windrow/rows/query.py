"""A query over the rows of a table, with resolved names and types, and the reader of these rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator, read_values
from windrow.arrays import Array, Values, read_numbers
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory

FLOAT = np.dtype(np.float64)


Evaluate = Callable[[pa.Table], pa.BooleanArray]


What = TypeVar("What")


@dataclass(frozen=True)
class Query(Generic[What]):
    """The subject of a query, the columns it needs by role, and their types.

    A task needs to know nothing else.
    """

    what: What
    on: str
    by: tuple[str, ...]
    order_by: tuple[str, ...]
    agg: dict[str, AggregateFunction]
    types: dict[str, pa.DataType] = field(compare=False)

    @property
    def predicates(self) -> Mapping[str, Any]:
        """Conditions that are evaluated per row."""
        return {}

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are read as numbers."""
        return ()

    @property
    def nulls(self) -> str:
        """How rows are handled in which a predicate or an attribute is null."""
        return "skip"

    @property
    def clock(self) -> Clock:
        """The clock of `on`."""
        return Clock.of(self.types[self.on], self.on)

    @property
    def by_types(self) -> list[pa.DataType]:
        """The types of the `by` columns."""
        return [self.types[name] for name in self.by]

    @property
    def values(self) -> list[str | None]:
        """The columns of the aggregates, one after the other; None for a count of rows."""
        return [name for aggregate in self.agg.values() for name in aggregate.columns or (None,)]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What a saved state depends on apart from `what`, in a form that can be compared."""
        return {
            "on": self.on,
            "by": list(self.by),
            "order_by": list(self.order_by),
            "agg": [repr(aggregate) for aggregate in self.agg.values()],
            "types": {name: str(kind) for name, kind in sorted(self.types.items())},
        }

    @property
    def accumulators(self) -> list[Accumulator]:
        """One accumulator per aggregate."""
        return [Accumulator.of(aggregate, self.types) for aggregate in self.agg.values()]


@dataclass(frozen=True)
class Layout:
    """The names of the columns of a table by role, and how each predicate is evaluated."""

    on: str
    by: tuple[str, ...]
    predicates: Mapping[str, Evaluate]
    attributes: Mapping[str, str]
    values: tuple[str | None, ...]
    order_by: tuple[str, ...] = ()


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
        return RowBatch(group, on, inputs, read_values(self._keepers, layout.values, table))


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
            {name: _only(values, keep) for name, values in self.inputs.items()},
            [_only(values, keep) for values in self.values],
        )


def _only(values: Values, keep: npt.NDArray[np.bool_]) -> Values:
    return Values(values.numbers[keep], values.valid[keep] if values.valid.size else values.valid)
