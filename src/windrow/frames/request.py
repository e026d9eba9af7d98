"""What was asked for over the tuples of a table, with names and types settled, and how its tuples are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.keeper import Keeper, Values, read_numbers, read_values
from windrow.frames.base import Scheme
from windrow.frames.clock import Clock
from windrow.frames.framer import Framer, Frames, Tuples
from windrow.frames.groups import Directory

FLOAT = np.dtype(np.float64)
Evaluate = Callable[[pa.Table], pa.BooleanArray]
What = TypeVar("What")


@dataclass(frozen=True)
class Asked(Generic[What]):
    """What is to be found in the tuples of a table, the columns it needs by role, and the types they have.

    It is all that a task needs to know.
    """

    what: What
    on: str
    by: tuple[str, ...]
    order_by: tuple[str, ...]
    agg: dict[str, AggregateFunction]
    types: dict[str, pa.DataType] = field(compare=False)

    @property
    def predicates(self) -> Mapping[str, Any]:
        """Conditions that are evaluated for each tuple."""
        return {}

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are read as numbers."""
        return ()

    @property
    def nulls(self) -> str:
        """What is done where one of these is null."""
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
        """The columns of the aggregates, one after the other; none for a count of tuples."""
        return [name for aggregate in self.agg.values() for name in aggregate.columns or (None,)]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What a state of it depends on, apart from what is to be found, in words that can be compared."""
        return {
            "on": self.on,
            "by": list(self.by),
            "order_by": list(self.order_by),
            "agg": [repr(aggregate) for aggregate in self.agg.values()],
            "types": {name: str(kind) for name, kind in sorted(self.types.items())},
        }

    @property
    def keepers(self) -> list[Keeper]:
        """What keeps the states of each aggregate."""
        return [Keeper.of(aggregate, self.types) for aggregate in self.agg.values()]


@dataclass(frozen=True)
class Request(Asked[Scheme]):
    """Frames that are asked for: a scheme over the tuples of a table."""

    @property
    def scheme(self) -> Scheme:
        """How frames start and end."""
        return self.what

    @property
    def predicates(self) -> Mapping[str, Any]:
        """The conditions of the scheme."""
        return self.scheme.predicates

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns whose numbers the scheme reads."""
        return self.scheme.attributes

    @property
    def nulls(self) -> str:
        """What the scheme does with nulls."""
        return self.scheme.nulls

    def framer(self, kind: type[Framer] = Framer) -> Framer:
        """A framer that has seen nothing."""
        return kind(self.scheme, self.clock, self.types, list(self.agg.values()))

    @cached_property
    def schema(self) -> pa.Schema:
        """The result: `by`, `frame`, `start`, `end`, `closed_at`, `count`, `complete`, the scheme's, the aggregates."""
        on = self.clock.type
        fields = [(name, self.types[name]) for name in self.by]
        fields += [("frame", pa.int64()), ("start", on), ("end", on), ("closed_at", on)]
        fields += [("count", pa.int64()), ("complete", pa.bool_())]
        fields += list(self.scheme.extras.items())
        fields += [(name, keeper.result) for name, keeper in zip(self.agg, self.keepers, strict=True)]
        return pa.schema(fields)


@dataclass(frozen=True)
class Layout:
    """Under which names a table holds what a request reads, and how a predicate's value is had from it."""

    on: str
    by: tuple[str, ...]
    predicates: Mapping[str, Evaluate]
    attributes: Mapping[str, str]
    values: tuple[str | None, ...]
    order_by: tuple[str, ...] = ()


@dataclass
class Reader:
    """Turns Arrow tables into tuples, numbering groups as it goes."""

    request: Asked[Any]
    layout: Layout
    directory: Directory = field(init=False)

    def __post_init__(self) -> None:
        self.directory = Directory(self.request.by_types)
        self._keepers = self.request.keepers

    def read(self, table: pa.Table) -> Tuples:
        """The tuples of a table, in its order."""
        layout = self.layout
        inputs: dict[str, Values] = {name: _truth(evaluate(table)) for name, evaluate in layout.predicates.items()}
        inputs |= {name: read_numbers(table.column(at), FLOAT) for name, at in layout.attributes.items()}
        group = self.directory.encode([table.column(name) for name in layout.by], table.num_rows)
        on = self.request.clock.read(table.column(layout.on)).numbers
        return Tuples(group, on, inputs, read_values(self._keepers, layout.values, table))


def _truth(column: pa.BooleanArray) -> Values:
    valid = np.asarray(column.is_valid()) if column.null_count else np.empty(0, np.bool_)
    truth = column.fill_null(False) if column.null_count else column
    return Values(np.array(truth.to_numpy(zero_copy_only=False), np.bool_), valid)


def frames_table(request: Request, keys: list[pa.Array], frames: Frames) -> pa.Table:
    """Frames as rows of the result; `keys` has the `by` values of each group."""
    records, clock, schema = frames.records, request.clock, request.schema
    group = pa.array(records.group)
    closed = clock.write(pa.array(records.closed)) if frames.closed else pa.nulls(len(frames), clock.type)
    columns: list[Any] = [key.take(group) for key in keys]
    columns += [
        pa.array(records.number),
        clock.write(pa.array(records.start)),
        clock.write(pa.array(records.end)),
        closed,
    ]
    columns += [pa.array(records.count), pa.array(records.complete)]
    columns += [pa.array(records.label[:, j]).cast(kind) for j, kind in enumerate(request.scheme.extras.values())]
    return pa.table(columns + list(frames.aggregates), schema=schema)
