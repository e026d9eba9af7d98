"""Parallel plans without an engine: cuts, frames and joins an in-memory table as tasks would.

It calls the same functions as the tasks; only the sort and the exchange between tasks happen here. Tests and the fuzzer
use it to try far more cuts than a Spark session could run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.framing.parallel.pieces import PIECES, ReplayChunk, read_again, receiver, run_from_empty
from windrow.framing.parallel.ranges import buckets_of, replay_sent, run_range
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.schemes.base import Scheme
from windrow.predicates.parse import parse_predicate
from windrow.rows.ordering import read_in_order, sorted_as_spark, whole_instants
from windrow.rows.query import Layout, Reader, RowBatch
from windrow.rows.roles import Condition, Roles

NO_LIMIT = 1 << 40


@dataclass(frozen=True)
class Case:
    """A frame query over an in-memory table whose rows may be in any order.

    >>> import windrow as wr
    >>> case = Case(pa.table({"t": [1, 2, 9], "x": [5, 5, 5]}), wr.Boundary({"x": 10}), on="t")
    >>> case.whole() == case.chunks(upto=[2, 5]) == case.ranges(pa.table({"t": [1, 1, 3]}))
    True
    """

    table: pa.Table
    scheme: Scheme
    on: str
    by: tuple[str, ...] = ()
    agg: Mapping[str, AggregateFunction] = field(default_factory=dict)
    order_by: tuple[str, ...] = ()

    @cached_property
    def request(self) -> FrameQuery:
        """The query that a plan would be made for."""
        types = dict(zip(self.table.column_names, self.table.schema.types, strict=True))
        return FrameQuery(self.scheme, Roles(self.on, self.by, self.order_by, dict(self.agg), types))

    @cached_property
    def layout(self) -> Layout:
        """How the columns of the table are read."""
        evaluate = {
            name: parse_predicate(text).compile(self.table.schema) for name, text in self.scheme.predicates.items()
        }
        attributes = {name: name for name in self.scheme.attributes}
        values = tuple(
            parse_predicate(source.text).compile(self.table.schema) if isinstance(source, Condition) else source
            for source in self.request.values
        )
        return Layout(self.on, self.by, evaluate, attributes, values, self.order_by)

    def whole(self, *, batch: int = NO_LIMIT) -> pa.Table:
        """Return the frames found by one task that reads tables of `batch` rows."""
        reader, framer = Reader(self.request, self.layout), self.request.framer()
        framer.directory = reader.directory
        tables = []
        for table in self._tables(self._sorted(), batch):
            closed = framer.process(read_in_order(reader, table))
            tables.append(frames_table(self.request, reader.directory.keys(), closed))
        tables.append(frames_table(self.request, reader.directory.keys(), framer.finish()))
        return self._in_order(tables)

    def ranges(self, cuts: pa.Table, *, batch: int = NO_LIMIT) -> pa.Table:
        """Return the frames found by ranges of `by` and `on`; each cut is the last key of its range."""
        keys = [*self.by, self.on]
        cuts = cuts.select(keys).cast(pa.schema([self.table.schema.field(name) for name in keys]))
        number = self._range_numbers(cuts)
        pieces: list[pa.RecordBatch] = []
        for i in range(cuts.num_rows + 1):
            batches = self._sorted(number == i).to_batches(max_chunksize=min(batch, NO_LIMIT))
            pieces += run_range(self.request, self.layout, cuts, i, batches)
        assert buckets_of(self.request, cuts) > 0
        return self._reconciled(pieces, replay_sent(self.request, self.layout))

    def chunks(self, upto: Sequence[Any], *, buckets: int = 1, batch: int = NO_LIMIT) -> pa.Table:
        """Return the frames found by chunks of a scan, cut after the values `upto` of `on`."""
        clock = self.request.clock
        on = clock.read(self.table.column(self.on)).numbers
        bounds = clock.read(pa.array(upto, self.table.schema.field(self.on).type)).numbers
        number = np.searchsorted(bounds, on, "left")

        def tables(chunk: int) -> Iterator[pa.Table]:
            return self._tables(self._sorted(number == chunk), batch)

        def replay(chunk: int, sent: list[pa.Table], keys: list[pa.Array]) -> Iterator[RowBatch]:
            return read_again(self.request, self.layout, keys, tables(chunk))

        pieces: list[pa.RecordBatch] = []
        for chunk in range(len(upto) + 1):
            pieces += run_from_empty(self.request, self.layout, chunk, buckets, tables(chunk))
        return self._reconciled(pieces, replay)

    def _sorted(self, keep: npt.NDArray[np.bool_] | None = None) -> pa.Table:
        """Return some rows sorted by `on` alone, as a task receives them; ties keep their order."""
        table = self.table if keep is None else self.table.filter(pa.array(keep))
        order = np.argsort(self.request.clock.read(table.column(self.on)).numbers, kind="stable")
        return table.take(pa.array(order)).combine_chunks()

    def _tables(self, table: pa.Table, batch: int) -> Iterator[pa.Table]:
        parts = (table.slice(at, batch) for at in range(0, table.num_rows, batch))
        return whole_instants(parts, self.on, self.request.clock)

    def _range_numbers(self, cuts: pa.Table) -> npt.NDArray[np.int64]:
        """Return how many cuts precede each row in Spark's order; a row equal to a cut belongs before it."""
        both = pa.concat_tables([self.table.select(cuts.column_names), cuts])
        is_cut = np.arange(both.num_rows) >= self.table.num_rows
        order = sorted_as_spark([*both.columns, pa.chunked_array([pa.array(is_cut)])])
        number = np.empty(both.num_rows, np.int64)
        number[order] = np.cumsum(is_cut[order])
        return number[: self.table.num_rows]

    def _reconciled(self, pieces: Iterable[pa.RecordBatch], replay: ReplayChunk) -> pa.Table:
        order = [(name, "ascending") for name in ("bucket", "chunk", "piece")]
        exchanged = pa.Table.from_batches(pieces, PIECES).sort_by(order)
        tables = list(receiver(self.request, replay)(exchanged.to_batches()))
        return self._in_order([pa.Table.from_batches(tables, self.request.schema)])

    def _in_order(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Return the frames ordered by group and number."""
        frames = pa.concat_tables(tables)
        return frames.take(pa.array(sorted_as_spark([frames.column(name) for name in (*self.by, "frame")])))
