"""Putting rows in order, including what sorting by `on` alone leaves open, such as ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.engine.accumulator import value_column
from windrow.rows.clock import Clock
from windrow.rows.groups import order_of
from windrow.rows.query import Reader, RowBatch
from windrow.tuning import Tuning


def in_larger_tables(batches: Iterable[pa.RecordBatch], tuning: Tuning) -> Iterator[pa.Table]:
    """Combine record batches into tables that are large enough for a call of the kernel."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in chain(batches, [None]):
        if batch is not None and batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if waiting and (batch is None or rows >= tuning.rows_per_table):
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0


def whole_instants(tables: Iterable[pa.Table], on: str, clock: Clock) -> Iterator[pa.Table]:
    """Re-split tables that are sorted by `on` so that no two of them share an instant."""
    held: list[pa.Table] = []
    for table in tables:
        instants: npt.NDArray[Any] = clock.read(table.column(on)).numbers
        first_of_last = int(np.searchsorted(instants, instants[-1], "left"))
        if first_of_last:
            yield (
                pa.concat_tables([*held, table.slice(0, first_of_last)]).combine_chunks()
                if held
                else table.slice(0, first_of_last)
            )
            held = []
        held.append(table.slice(first_of_last))
    if held:
        yield pa.concat_tables(held).combine_chunks()


def read_in_order(reader: Reader, table: pa.Table) -> RowBatch:
    """Read the rows of a table; sort them first if a group has ties or is out of order."""
    rows = reader.read(table)
    last = np.full(len(reader.directory), reader.request.clock.lowest, rows.on.dtype)
    if order_of(rows.group, rows.on, last) == 0:
        return rows
    return reader.read(table.take(pa.array(_sorted_rows(reader, table))))


def _sorted_rows(reader: Reader, table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the row indices sorted by `on`, `order_by` and all columns that the query reads, in Spark's order."""
    layout = reader.layout
    keys = [table.column(name) for name in (layout.on, *layout.order_by)]
    keys += [evaluate(table).cast(pa.int8()) for evaluate in layout.predicates.values()]
    # As the kernel reads them: an integer past 2**53 is the nearest float.
    keys += [table.column(name).cast(pa.float64(), safe=False) for name in layout.attributes.values()]
    values: list[Any] = [value_column(source, table) for source in layout.values if source]
    keys += [value for value in values if not pa.types.is_nested(value.type)]
    return sorted_as_spark(keys)


def sorted_as_spark(keys: Iterable[pa.ChunkedArray]) -> npt.NDArray[np.int64]:
    """Return the row indices in ascending order of several columns, in Spark's order; the sort is stable."""
    columns: dict[str, pa.Array] = {}
    for i, key in enumerate(keys):
        if pa.types.is_dictionary(key.type):
            key = key.cast(key.type.value_type)
        # Spark sorts nulls first and NaN last; Arrow would put both at the end.
        columns[f"valid{i}"] = pc.is_valid(key).cast(pa.int8())
        if pa.types.is_floating(key.type):
            columns[f"nan{i}"] = pc.is_nan(key).cast(pa.int8())
        columns[f"key{i}"] = key.cast(pa.int8()) if pa.types.is_boolean(key.type) else key
    rows = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
    order: npt.NDArray[np.int64] = rows.to_numpy().astype(np.int64)
    return order
