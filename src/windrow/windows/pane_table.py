"""Panes as rows of a table: merged, buffered by a task, sent to another one and read there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.rows import wire
from windrow.rows.groups import Directory
from windrow.windows.gather import differs, naming_window
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import PaneKeys

PANES_AT_ONCE = 2_000_000
"""The number of panes, and values in them, that a task buffers before it sends them."""


def merge_panes(
    accumulators: Sequence[Accumulator],
    pieces: Sequence[tuple[PaneKeys, list[States]]],
    directory: Directory | None = None,
) -> tuple[PaneKeys, list[States]]:
    """Return the panes of several pieces by group and number, merging equal panes in the order of the pieces.

    The states of the pieces must not be used again.
    """
    group, number = (np.concatenate(parts) for parts in zip(*(panes for panes, _ in pieces), strict=True))
    order = np.lexsort((number, group))
    group, number = group[order], number[order]
    states = [reduce(States.joined, parts).keep(order) for parts in zip(*(states for _, states in pieces), strict=True)]
    other = differs(group, number)
    rows = np.flatnonzero(other)
    if rows.size < group.size:
        into, parts = rows[np.cumsum(other) - 1], np.flatnonzero(~other)
        for accumulator, state in zip(accumulators, states, strict=True):
            with naming_window(directory, group):
                accumulator.merge(state, into, parts)
        group, number, states = group[rows], number[rows], [state.keep(rows) for state in states]
    return PaneKeys(group, number), states


class PaneHeap:
    """Panes of one task, buffered and merged so that each is sent once, or a few times if there are very many."""

    def __init__(self, query: WindowQuery, directory: Directory | None = None) -> None:
        self.accumulators, self.directory = query.pane_accumulators, directory
        self._pieces: list[tuple[PaneKeys, list[States]]] = []

    def add(self, panes: PaneKeys, states: list[States]) -> Iterator[tuple[PaneKeys, list[States]]]:
        """Add panes to the heap; if it gets too large, yield all of it, merged."""
        self._pieces.append((panes, states))
        weight = sum(panes.group.size + sum(map(_values_in, states)) for panes, states in self._pieces)
        if weight > PANES_AT_ONCE:
            yield from self.rest()

    def rest(self) -> Iterator[tuple[PaneKeys, list[States]]]:
        """Yield all panes on the heap, merged."""
        if self._pieces:
            yield merge_panes(self.accumulators, self._pieces, self.directory)
            self._pieces = []


def _values_in(states: States) -> int:
    return 0 if states.runs is None else int(states.seen.sum())


def panes_table(directory: Directory, panes: PaneKeys, states: Sequence[States]) -> pa.Table:
    """Return panes as rows: the keys of their group, their number, and the state of each aggregate."""
    group = pa.array(panes.group)
    columns = {wire.key(i): key.take(group) for i, key in enumerate(directory.keys())}
    columns["pane"] = pa.array(panes.number)
    for j, state in enumerate(states):
        columns |= {name: _short(column) for name, column in state.columns(wire.state(j)).items()}
    return pa.table(columns)


def read_panes(table: pa.Table, query: WindowQuery, directory: Directory) -> tuple[PaneKeys, list[States]]:
    """Return the panes that `panes_table` wrote."""
    group = directory.encode([table.column(name) for name in wire.keys(len(query.by))], table.num_rows)
    states = [accumulator.empty(0).read(wire.state(j), table) for j, accumulator in enumerate(query.pane_accumulators)]
    return PaneKeys(group, np.array(table.column("pane").to_numpy(), np.int64)), states


def _short(column: pa.Array) -> pa.Array:
    """Cast types with 64-bit offsets to those that Spark accepts; a table of panes is never that long."""
    return column.cast(_short_type(column.type))


def _short_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(kind):
        return pa.list_(_short_type(kind.value_type))
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind


def panes_schema(query: WindowQuery) -> pa.Schema:
    """Return the schema of `panes_table`."""
    none = PaneKeys(np.empty(0, np.int64), np.empty(0, np.int64))
    states = [accumulator.empty(0) for accumulator in query.pane_accumulators]
    return panes_table(Directory(query.by_types), none, states).schema
