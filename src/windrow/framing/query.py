"""What was asked for over the tuples of a table, with names and types settled, and how its tuples are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes.base import Scheme
from windrow.rows.query import Query


@dataclass(frozen=True)
class FrameQuery(Query[Scheme]):
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
        fields += [(name, accumulator.result) for name, accumulator in zip(self.agg, self.accumulators, strict=True)]
        return pa.schema(fields)


def frames_table(request: FrameQuery, keys: list[pa.Array], frames: Frames) -> pa.Table:
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
