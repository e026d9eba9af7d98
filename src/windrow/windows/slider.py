"""The slider: panes of many groups in, windows out when they are due.

Panes may arrive in any order and in parts; the parts of a pane are merged. Panes that no window needs any more are
dropped. With a landmark window, they are merged into the group's first pane, which then covers all rows so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.clock import Extents
from windrow.rows.groups import Directory
from windrow.windows.bounds import as_instants, check_panes
from windrow.windows.changes import Changes
from windrow.windows.gather import naming_window
from windrow.windows.pane_table import merge_panes, read_panes
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import (
    NEVER,
    Indices,
    PaneKeys,
    Progress,
    Ranges,
    carry_into_windows,
    combined,
    needed_from,
    windows_over,
)

NO_END = int(np.iinfo(np.int64).max)
"""The end of the next window of a group without pending windows."""
VALUES_AT_ONCE = 4_000_000
"""The number of values combined at a time, for states that hold the values themselves."""


@dataclass
class Slider:
    """The panes that are held, and how far windows have been reported."""

    query: WindowQuery
    directory: Directory
    """The numbered groups, shared with the reader that numbers them."""

    def __post_init__(self) -> None:
        query = self.query
        self.accumulators, self.shapes, self.pane = query.pane_accumulators, query.shapes, query.pane
        self.panes = PaneKeys(np.empty(0, np.int64), np.empty(0, np.int64))
        self.states = [accumulator.empty(0) for accumulator in self.accumulators]
        self.after = np.empty((len(self.shapes), 0), np.int64)
        self.synopsis_windows = query.synopsis_windows()
        self.changes = [Changes() for _ in self.shapes] if query.options.only_changed else []

    def add(self, panes: PaneKeys, states: Sequence[States]) -> None:
        """Take in panes of groups in the directory; in a merge, panes that are already held come first."""
        self.grow()
        if self.query.unit == "time":
            check_panes(panes.number, self.shapes, self.pane, self.query.clock, self.query.on)
        pieces = [(self.panes, self.states), (panes, list(states))]
        self.panes, self.states = merge_panes(self.accumulators, pieces, self.directory)

    def add_table(self, table: pa.Table) -> None:
        """Take in panes that are rows of a table, as `panes_table` writes them."""
        self.add(*read_panes(table, self.query, self.directory))

    def grow(self) -> None:
        """Make room for new groups."""
        more = len(self.directory) - self.after.shape[1]
        if more > 0:
            self.after = np.concatenate([self.after, np.full((len(self.shapes), more), NEVER)], axis=1)

    def latest(self) -> Indices:
        """Return the number of each group's last pane; if panes arrive in order, those before it are complete."""
        self.grow()
        latest = np.full(self.after.shape[1], NEVER)
        np.maximum.at(latest, *self.panes)
        return latest

    def report(self, past: Indices, *, final: bool = False) -> Iterator[pa.Table]:
        """Yield the windows that are due as rows of the result; panes before `past` of their group are complete."""
        self.grow()
        most, empty = self.query.tuning.most_windows, self.query.options.empty
        for k, shape in enumerate(self.shapes):
            progress = Progress(self.after[k], past)
            ranges = windows_over(self.panes, shape, self.pane, progress, most, final=final, empty=empty)
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
            reached = after if self.query.options.empty else np.maximum(first, after)
            end = np.where(after == NEVER, first, reached) // step * step + step
            final = last // every * every + every if length == 0 else last + length
            ends[groups] = np.minimum(ends[groups], np.where(end <= final, end, NO_END))
        return ends

    def _table(self, k: int, ranges: Ranges) -> pa.Table:
        query, clock = self.query, self.query.clock
        if query.unit == "time":
            start, end = (as_instants(number, self.pane, clock, query.on) for number in (ranges.start, ranges.end))
        else:
            start, end = (self._results(i, ranges, None) for i in (-2, -1))
        extents = Extents(clock.read(start).numbers, clock.read(end).numbers)
        by_index = {j: self._results(i, ranges, extents) for i, j in enumerate(query.paned)}
        by_index |= {j: windows.results(ranges) for (j, at), windows in self.synopsis_windows.items() if at == k}
        results = [by_index[j] for j in range(len(query.agg))]
        keys = self.directory.keys()
        columns: list[Any] = [key.take(pa.array(ranges.group)) for key in keys]
        if query.options.named:
            columns.append(pa.repeat(pa.scalar([*query.options.windows][k]), ranges.group.size))
        table = pa.table([*columns, start, end, pa.array(ranges.complete), *results], schema=query.schema)
        return table.filter(self.changes[k].update(ranges.group, results)) if self.changes else table

    def _results(self, i: int, ranges: Ranges, extents: Extents | None) -> pa.Array:
        """Return the results of all windows; states that hold values are combined for some windows at a time."""
        accumulator, states = self.accumulators[i], self.states[i]
        first, last = ranges.first, ranges.last
        if states.runs is None:
            together = combined(accumulator, states, first, last)
            if accumulator.carries:
                carry_into_windows(together.numbers, states.numbers, self.panes.group, ranges)
            return accumulator.finish(together, extents)
        before = np.concatenate([[0], np.cumsum(states.seen)])
        share = np.cumsum(before[last] - before[first]) // VALUES_AT_ONCE
        cuts = [0, *(np.flatnonzero(np.diff(share)) + 1).tolist(), first.size]
        results = []
        for a, b in pairwise(cuts):
            with naming_window(self.directory, ranges.group[a:b]):
                results.append(accumulator.finish(combined(accumulator, states, first[a:b], last[a:b])))
        return pa.concat_arrays(results)

    def _forget(self) -> None:
        """Drop panes that no window needs any more."""
        group, number = self.panes
        needed = np.full(self.after.shape[1], np.iinfo(np.int64).max)
        for after, shape in zip(self.after, self.shapes, strict=True):
            needed_from(after, *shape.in_panes(self.pane), needed)
        old = number < needed[group]
        if not old.any():
            return
        if self.query.options.empty and self.query.carries:
            # The last pane before those that are needed has the value that is carried into windows without rows.
            old[:-1] &= old[1:] & (group[:-1] == group[1:])
            old[-1] = False
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
