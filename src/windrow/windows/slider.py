"""The slider: panes of many groups in, windows out when they are due.

Panes may arrive in any order and in parts; the parts of a pane are merged. Panes that no window needs any more are
dropped. With a landmark window, they are merged into the group's first pane, which then covers all rows so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.rows import wire
from windrow.rows.groups import Directory
from windrow.windows.bounds import as_instants, check_panes
from windrow.windows.changes import Changes
from windrow.windows.gather import differs, naming_window
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import NEVER, Indices, PaneKeys, Progress, Ranges, combined, needed_from, windows_over

NO_END = int(np.iinfo(np.int64).max)
"""The end of the next window of a group without pending windows."""
VALUES_AT_ONCE = 4_000_000
"""The number of values combined at a time, for states that hold the values themselves."""
PANES_AT_ONCE = 2_000_000
"""The number of panes, and values in them, that a task buffers before it sends them."""


@dataclass
class Slider:
    """The panes that are held, and how far windows have been reported."""

    slide: WindowQuery
    directory: Directory
    """The numbered groups, shared with the reader that numbers them."""

    def __post_init__(self) -> None:
        slide = self.slide
        self.accumulators, self.shapes, self.pane = slide.pane_keepers, slide.shapes, slide.pane
        self.panes = PaneKeys(np.empty(0, np.int64), np.empty(0, np.int64))
        self.states = [accumulator.empty(0) for accumulator in self.accumulators]
        self.after = np.empty((len(self.shapes), 0), np.int64)
        self.kept = slide.kept()
        self.changes = [Changes() for _ in self.shapes] if slide.what.only_changed else []

    def add(self, panes: PaneKeys, states: Sequence[States]) -> None:
        """Take in panes of groups in the directory; in a merge, panes that are already held come first."""
        self.grow()
        if self.slide.unit == "time":
            check_panes(panes.number, self.shapes, self.pane, self.slide.clock, self.slide.on)
        pieces = [(self.panes, self.states), (panes, list(states))]
        self.panes, self.states = merged(self.accumulators, pieces, self.directory)

    def grow(self) -> None:
        """Make room for new groups."""
        more = len(self.directory) - self.after.shape[1]
        if more > 0:
            self.after = np.concatenate([self.after, np.full((len(self.shapes), more), NEVER)], axis=1)

    def latest(self) -> Indices:
        """Return the number of each group's last pane; if panes arrive in order, those before it are complete."""
        self.grow()
        found = np.full(self.after.shape[1], NEVER)
        np.maximum.at(found, *self.panes)
        return found

    def report(self, past: Indices, *, final: bool = False) -> Iterator[pa.Table]:
        """Yield the windows that are due as rows of the result; panes before `past` of their group are complete."""
        self.grow()
        most = self.slide.tuning.most_windows
        for k, shape in enumerate(self.shapes):
            progress = Progress(self.after[k], past)
            ranges = windows_over(
                self.panes, shape, self.pane, progress, most, final=final, empty=self.slide.what.empty
            )
            if ranges.group.size:
                table = self._table(k, ranges)
                if table.num_rows:
                    yield table
        self._forget()

    def next_end(self) -> int | None:
        """Return the pane at whose start the next window is due, or None."""
        ends = self.next_ends()
        least = int(ends.min(initial=NO_END))
        return None if least == NO_END else least

    def next_ends(self) -> Indices:
        """Return, per group, the pane at whose start the next window is due, or `NO_END`."""
        self.grow()
        group, number = self.panes
        ends = np.full(self.after.shape[1], NO_END)
        if not group.size:
            return ends
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        groups, first, last = group[begins], number[begins], number[np.append(begins[1:], group.size) - 1]
        for k, shape in enumerate(self.shapes):
            length, every, step = shape.in_panes(self.pane)
            after = self.after[k][groups]
            reached = after if self.slide.what.empty else np.maximum(first, after)
            end = np.where(after == NEVER, first, reached) // step * step + step
            final = last // every * every + every if length == 0 else last + length
            ends[groups] = np.minimum(ends[groups], np.where(end <= final, end, NO_END))
        return ends

    def _table(self, k: int, ranges: Ranges) -> pa.Table:
        slide, clock = self.slide, self.slide.clock
        paned = [
            self._results(accumulator, states, ranges)
            for accumulator, states in zip(self.accumulators, self.states, strict=True)
        ]
        if slide.unit == "time":
            start, end = (as_instants(number, self.pane, clock, slide.on) for number in (ranges.start, ranges.end))
        else:
            *paned, start, end = paned
        found = dict(zip(slide.paned, paned, strict=True))
        found |= {j: kept.results(ranges) for (j, at), kept in self.kept.items() if at == k}
        results = [found[j] for j in range(len(slide.agg))]
        keys = self.directory.keys()
        columns: list[Any] = [key.take(pa.array(ranges.group)) for key in keys]
        if slide.what.named:
            columns.append(pa.repeat(pa.scalar([*slide.what.windows][k]), ranges.group.size))
        table = pa.table([*columns, start, end, pa.array(ranges.complete), *results], schema=slide.schema)
        return table.filter(self.changes[k].found(ranges.group, results)) if self.changes else table

    def _results(self, accumulator: Accumulator, states: States, ranges: Ranges) -> pa.Array:
        """Return the results of all windows; states that hold values are combined for some windows at a time."""
        first, last = ranges.first, ranges.last
        if states.runs is None:
            return accumulator.finish(combined(accumulator, states, first, last))
        before = np.concatenate([[0], np.cumsum(states.seen)])
        share = np.cumsum(before[last] - before[first]) // VALUES_AT_ONCE
        cuts = [0, *(np.flatnonzero(np.diff(share)) + 1).tolist(), first.size]
        found = []
        for a, b in pairwise(cuts):
            with naming_window(self.directory, ranges.group[a:b]):
                found.append(accumulator.finish(combined(accumulator, states, first[a:b], last[a:b])))
        return pa.concat_arrays(found)

    def _forget(self) -> None:
        """Drop panes that no window needs any more."""
        group, number = self.panes
        needed = np.full(self.after.shape[1], np.iinfo(np.int64).max)
        for after, shape in zip(self.after, self.shapes, strict=True):
            needed_from(after, *shape.in_panes(self.pane), needed)
        old = number < needed[group]
        if not old.any():
            return
        if any(shape.length is None for shape in self.shapes):
            first = np.flatnonzero(np.diff(group, prepend=-1))
            sizes = np.diff(np.append(first, group.size))
            into = np.repeat(first, sizes)
            # The first pane marks where the group starts, and the last one how far it has got.
            old[first] = old[first + sizes - 1] = False
            for accumulator, states in zip(self.accumulators, self.states, strict=True):
                with naming_window(self.directory, group):
                    accumulator.merge(states, into, np.flatnonzero(old))
        rows = np.flatnonzero(~old)
        self.panes = PaneKeys(group[rows], number[rows])
        self.states = [states.keep(rows) for states in self.states]

    # Panes as rows of a table.

    def read(self, table: pa.Table) -> tuple[PaneKeys, list[States]]:
        """Return the panes that `panes_table` wrote."""
        group = self.directory.encode([table.column(name) for name in wire.keys(len(self.slide.by))], table.num_rows)
        states = [accumulator.empty(0).read(wire.state(j), table) for j, accumulator in enumerate(self.accumulators)]
        return PaneKeys(group, np.array(table.column("pane").to_numpy(), np.int64)), states


def merged(
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
    states = [reduce(States.joined, parts).keep(order) for parts in zip(*(kept for _, kept in pieces), strict=True)]
    other = differs(group, number)
    rows = np.flatnonzero(other)
    if rows.size < group.size:
        into, parts = rows[np.cumsum(other) - 1], np.flatnonzero(~other)
        for accumulator, kept in zip(accumulators, states, strict=True):
            with naming_window(directory, group):
                accumulator.merge(kept, into, parts)
        group, number, states = group[rows], number[rows], [kept.keep(rows) for kept in states]
    return PaneKeys(group, number), states


class PaneHeap:
    """Panes of one task, buffered and merged so that each is sent once, or a few times if there are very many."""

    def __init__(self, slide: WindowQuery, directory: Directory | None = None) -> None:
        self.accumulators, self.directory = slide.pane_keepers, directory
        self._pieces: list[tuple[PaneKeys, list[States]]] = []

    def add(self, panes: PaneKeys, states: list[States]) -> Iterator[tuple[PaneKeys, list[States]]]:
        """Add panes to the heap; if it gets too large, yield all of it, merged."""
        self._pieces.append((panes, states))
        weight = sum(panes.group.size + sum(_values_in(kept) for kept in states) for panes, states in self._pieces)
        if weight > PANES_AT_ONCE:
            yield from self.rest()

    def rest(self) -> Iterator[tuple[PaneKeys, list[States]]]:
        """Yield all panes on the heap, merged."""
        if self._pieces:
            yield merged(self.accumulators, self._pieces, self.directory)
            self._pieces = []


def _values_in(states: States) -> int:
    return 0 if states.runs is None else int(states.seen.sum())


def panes_table(directory: Directory, panes: PaneKeys, states: Sequence[States]) -> pa.Table:
    """Return panes as rows: the keys of their group, their number, and the state of each aggregate."""
    group = pa.array(panes.group)
    columns = {wire.key(i): key.take(group) for i, key in enumerate(directory.keys())}
    columns["pane"] = pa.array(panes.number)
    for j, kept in enumerate(states):
        columns |= {name: _short(column) for name, column in kept.columns(wire.state(j)).items()}
    return pa.table(columns)


def _short(column: pa.Array) -> pa.Array:
    """Cast large lists to lists, which Spark accepts; a table of panes is never that long."""
    if pa.types.is_large_list(column.type):
        return column.cast(pa.list_(column.type.value_type))
    return column


def panes_schema(slide: WindowQuery) -> pa.Schema:
    """Return the schema of `panes_table`."""
    none = PaneKeys(np.empty(0, np.int64), np.empty(0, np.int64))
    return panes_table(
        Directory(slide.by_types), none, [accumulator.empty(0) for accumulator in slide.pane_keepers]
    ).schema
