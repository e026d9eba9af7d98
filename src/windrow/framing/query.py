"""Frame queries: a scheme over the rows of a table, with names and types resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates import AggregateFunction
from windrow.aggregates.ends import First
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import Array
from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.rules.labels import LabelColumn, with_plain_zeros
from windrow.rows.query import Query, RowBatch
from windrow.rows.roles import Condition, Roles

COMPLETE_UNTIL, OPEN_SINCE = "complete_until", "open_since"
"""The columns that punctuation adds to a stream's result."""


@dataclass(frozen=True)
class FrameQuery(Query[Scheme]):
    """A query for frames: a scheme over the rows of a table."""

    @property
    def scheme(self) -> Scheme:
        """The scheme that frames the rows."""
        return self.what

    @property
    def predicates(self) -> Mapping[str, Any]:
        """The predicates of the scheme."""
        return self.scheme.predicates

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that the scheme reads as numbers."""
        return self.scheme.attributes

    @property
    def label_columns(self) -> Mapping[str, LabelColumn]:
        """The columns of any type whose values label the rows."""
        return self.scheme.label_columns

    @property
    def agg(self) -> dict[str, AggregateFunction]:
        """The values of the columns that label the rows, then the user's aggregates."""
        return self._all_roles.agg

    @property
    def values(self) -> list[str | Condition | None]:
        """The inputs of the aggregates, one after the other: columns, conditions, and None for a count of rows."""
        return self._all_roles.values

    @property
    def accumulators(self) -> list[Accumulator]:
        """One accumulator per aggregate."""
        return self._all_roles.accumulators

    @cached_property
    def _all_roles(self) -> Roles:
        """The roles with the values of labels as aggregates: they are the same in all rows of a frame."""
        shown: dict[str, AggregateFunction] = {
            label.column: First(label.column) for label in self.label_columns.values()
        }
        return replace(self.roles, agg={**shown, **self.roles.agg})

    def completed(self, rows: RowBatch) -> RowBatch:
        """Add the labels of the rows, which are the first values, to the inputs."""
        if not self.label_columns:
            return rows
        inputs, values = dict(rows.inputs), list(rows.values)
        for j, (name, label) in enumerate(self.label_columns.items()):
            values[j] = with_plain_zeros(values[j])
            inputs[name] = label.read(values[j], self.types[label.column])
        return rows._replace(inputs=inputs, values=values)

    @property
    def never_null(self) -> frozenset[str]:
        """The predicates and columns for which the scheme has `nulls="error"`."""
        return frozenset(name for rule in self.scheme.null_rules if rule.policy == "error" for name in rule.inputs)

    @property
    def has_heads(self) -> bool:
        """Whether the first run of a chunk can be joined to what came before as if it were one row.

        Frames that start before the first value of a chunk need the value carried into the chunk, so they are replayed.
        """
        return self.scheme.has_heads and not any(accumulator.carries for accumulator in self.accumulators)

    def framer(self, kind: type[Framer] = Framer) -> Framer:
        """Return a new framer of the given kind."""
        return kind(self.scheme, self.clock, self.types, list(self.agg.values()), len(self.label_columns))

    @cached_property
    def schema(self) -> pa.Schema:
        """The result: `by`, `frame`, `start`, `end`, `closed_at`, `count`, `complete`, scheme columns, aggregates."""
        on = self.clock.type
        fields = [(name, self.types[name]) for name in self.by]
        fields += [("frame", pa.int64()), ("start", on), ("end", on), ("closed_at", on)]
        fields += [("count", pa.int64()), ("complete", pa.bool_())]
        results = {name: keeper.result for name, keeper in zip(self.agg, self.accumulators, strict=True)}
        added = self.scheme.added_columns
        fields += [(name, self.scheme.extras.get(name) or results[name]) for name in added]
        return pa.schema(fields + [(name, results[name]) for name in self.roles.agg])


def frames_table(request: FrameQuery, keys: list[pa.Array], frames: Frames) -> pa.Table:
    """Return frames as rows of the result; `keys` holds the `by` values of each group."""
    records, clock, schema = frames.records, request.clock, request.schema
    group = pa.array(records.group)
    # What is not closed has an arbitrary number there, which may not be an instant of the clock.
    instants = clock.write(pa.array(np.where(frames.closed, records.closed, records.end)))
    closed = pc.if_else(pa.array(frames.closed), instants, pa.scalar(None, clock.type))
    columns: list[Any] = [key.take(group) for key in keys]
    columns += [
        pa.array(records.number),
        clock.write(pa.array(records.start)),
        clock.write(pa.array(records.end)),
        closed,
    ]
    columns += [pa.array(records.count), pa.array(records.complete)]
    scheme, results = request.scheme, dict(zip(request.agg, frames.aggregates, strict=True))
    places = zip(scheme.extras.items(), scheme.extra_places(request.types), strict=True)
    added = {name: _labels(records.label[:, place], kind) for (name, kind), place in places}
    columns += [added[name] if name in added else results[name] for name in scheme.added_columns]
    return pa.table(columns + [results[name] for name in request.roles.agg], schema=schema)


def progress_table(request: FrameQuery, keys: list[pa.Array], until: Array, since: Array) -> pa.Table:
    """Return punctuation as rows of a stream's result: groups, how far they have got, and what is open, if anything.

    The greatest `since` of the clock stands for nothing.
    """
    clock, n = request.clock, until.size
    is_open = since < clock.greatest
    columns = dict(zip(request.by, keys, strict=True))
    columns |= {field.name: pa.nulls(n, field.type) for field in request.schema if field.name not in columns}
    columns |= {"fragment": pa.nulls(n, pa.int64()), "final": pa.nulls(n, pa.bool_())}
    columns[COMPLETE_UNTIL] = clock.write(pa.array(until))
    columns[OPEN_SINCE] = clock.write(pa.array(np.where(is_open, since, 0), mask=~is_open))
    return pa.table(columns)


def _labels(numbers: Array, kind: pa.DataType) -> pa.Array:
    """Return labels as a column; records store a float by its bits."""
    if pa.types.is_floating(kind):
        return pa.array(np.ascontiguousarray(numbers).view(np.float64))
    return pa.array(numbers).cast(kind)
