"""The columns of a table by the role they have in a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.rows.clock import Clock


class Condition(NamedTuple):
    """A condition over the columns of a row, whose truth an aggregate reads."""

    text: str


@dataclass(frozen=True)
class Roles:
    """The columns that a query reads, by role and spelled as in the table, and their types."""

    on: str
    """The progressing attribute."""
    by: tuple[str, ...]
    """The columns that make a group."""
    order_by: tuple[str, ...]
    """The columns that break ties in `on`."""
    agg: dict[str, AggregateFunction]
    """The aggregates, by the name of the result."""
    types: dict[str, pa.DataType] = field(compare=False)
    """The Arrow types of all columns that the query reads."""

    @property
    def clock(self) -> Clock:
        """The clock of `on`."""
        return Clock.of(self.types[self.on], self.on)

    @property
    def by_types(self) -> list[pa.DataType]:
        """The types of the `by` columns."""
        return [self.types[name] for name in self.by]

    @property
    def values(self) -> list[str | Condition | None]:
        """The inputs of the aggregates, one after the other: columns, conditions, and None for a count of rows."""
        return [
            name if aggregate.condition is None else Condition(aggregate.condition)
            for aggregate in self.agg.values()
            for name in aggregate.inputs
        ]

    @property
    def accumulators(self) -> list[Accumulator]:
        """One accumulator per aggregate."""
        clock = self.clock
        return [Accumulator.of(aggregate, self.types, clock) for aggregate in self.agg.values()]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What a saved state depends on, in a form that can be compared."""
        return {
            "on": self.on,
            "by": list(self.by),
            "order_by": list(self.order_by),
            "agg": [repr(aggregate) for aggregate in self.agg.values()],
            "types": {name: str(kind) for name, kind in sorted(self.types.items())},
        }
