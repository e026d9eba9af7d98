"""Heads: the first run of each group in a chunk, stored so that it can be joined to what came before.

Only schemes whose frames are runs of one label have heads: the first row decides whether the open run continues or is
cut, and the rest of the run follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.states import States
from windrow.arrays import Array
from windrow.framing.framer import Framer
from windrow.framing.records import OPEN, Batch, Records
from windrow.state.arrow import array_columns, columns_of, fields_of, read_array

NO_HEAD, NOT_MET = -1, -2
"""The status of a group whose first row opened no run, and of a group without rows, or with skipped rows only."""


class HeadColumns(NamedTuple):
    """A group's first row, and how the run that it opened ended: `status` is that of a record, NO_HEAD or NOT_MET."""

    on: Array
    breaks: Array
    status: Array
    end: Array
    count: Array  # type: ignore[assignment]
    closed: Array


class Heads(NamedTuple):
    """The heads of some groups, with the scheme's inputs at the first row and the aggregates of the run."""

    on: Array
    breaks: Array
    status: Array
    end: Array
    count: Array  # type: ignore[assignment]
    closed: Array
    inputs: dict[str, Array]
    aggregates: tuple[States, ...]


class HeadFramer(Framer):
    """A framer that records the head of each group it has met since it was cleared."""

    def clear(self) -> None:
        """Forget all groups and their heads."""
        super().clear()
        self._met = np.empty(0, np.bool_)
        self._record = np.empty(0, np.int64)
        self._runs = _no_runs(self, 0)
        self._inputs = self.blank_inputs(0)
        self._states = tuple(accumulator.empty(0) for accumulator in self.accumulators)

    def grow(self, n: int) -> None:
        """Make room for groups 0 to n - 1."""
        super().grow(n)
        more = n - self._met.size
        if more > 0:
            self._met = np.append(self._met, np.zeros(more, np.bool_))
            self._record = np.append(self._record, np.full(more, -1, np.int64))
            self._runs = HeadColumns(*map(np.append, self._runs, _no_runs(self, more)))
            fresh = self.blank_inputs(more)
            self._inputs = {name: np.concatenate([firsts, fresh[name]]) for name, firsts in self._inputs.items()}
            self._states = tuple(
                accumulator.extended(states, n)
                for states, accumulator in zip(self._states, self.accumulators, strict=True)
            )

    def wants_slots(self, batch: Batch) -> bool:
        """Also return true while some group has not been met yet."""
        return super().wants_slots(batch) or not self._met.all()

    def observe(
        self, batch: Batch, inputs: Mapping[str, Array], records: Records, states: tuple[States, ...], slots: Array
    ) -> None:
        """Record the first row of each new group, and the heads that have ended."""
        if slots.shape[0] and not self._met.all():
            self._meet(batch, inputs, slots)
        watched = np.flatnonzero(self._record >= 0)
        over = watched[records.status[self._record[watched]] != OPEN]
        self._note(over, records, states)
        self._record[over] = -1
        left = np.flatnonzero(records.status == OPEN)
        place = np.full(records.group.size + 1, -1, np.int64)
        place[left] = np.arange(left.size)
        self._record = place[self._record]

    def _meet(self, batch: Batch, inputs: Mapping[str, Array], slots: Array) -> None:
        rows = np.flatnonzero(~self._met[batch.group])
        first = np.full(self._met.size, -1, np.int64)
        first[batch.group[rows[::-1]]] = rows[::-1]
        new = np.flatnonzero(first >= 0)
        at = first[new]
        self._met[new] = True
        self._record[new] = slots[at, 0]
        self._runs.status[new] = NO_HEAD
        self._runs.on[new] = batch.on[at]
        self._runs.breaks[new] = batch.breaks[at] if batch.breaks.size else False
        for name, firsts in self._inputs.items():
            firsts[new] = inputs[name][at]

    def _note(self, groups: npt.NDArray[np.int64], records: Records, states: tuple[States, ...]) -> None:
        at = self._record[groups]
        for name in ("status", "end", "count", "closed"):
            getattr(self._runs, name)[groups] = getattr(records, name)[at]
        for mine, theirs in zip(self._states, states, strict=True):
            mine.put(groups, theirs.take(at))

    def heads(self, groups: npt.NDArray[np.int64]) -> pa.Table:
        """Return the heads of some groups as a table."""
        self._note(np.flatnonzero(self._record >= 0), self.records, self.states)
        columns = columns_of("", HeadColumns(*(array[groups] for array in self._runs)))
        for name, firsts in self._inputs.items():
            columns |= array_columns(f"input.{name}", firsts[groups])
        for j, states in enumerate(self._states):
            columns |= states.take(groups).columns(f"aggregate{j}.")
        return pa.table(columns)


def read_heads(table: pa.Table, framer: Framer) -> Heads:
    """Return the heads that `HeadFramer.heads` wrote, for a framer of the same query."""
    inputs = {name: read_array(f"input.{name}", like, table) for name, like in framer.blank_inputs(0).items()}
    states = tuple(
        accumulator.empty(0).read(f"aggregate{j}.", table) for j, accumulator in enumerate(framer.accumulators)
    )
    runs: HeadColumns = fields_of("", _no_runs(framer, 0), table)
    return Heads(runs.on, runs.breaks, runs.status, runs.end, runs.count, runs.closed, inputs, states)


def extend_by_heads(framer: Framer, groups: npt.NDArray[np.int64], heads: Heads, rows: npt.NDArray[np.int64]) -> None:
    """Append each head to its group's open frame, which already counts the head's first row but not its value."""
    at = framer.groups.open[groups, 0]
    framer.records.end[at] = heads.end[rows]
    framer.records.count[at] += heads.count[rows] - 1
    size = framer.records.group.size
    into = np.concatenate([np.arange(size), at])
    extended = []
    for accumulator, mine, theirs in zip(framer.accumulators, framer.states, heads.aggregates, strict=True):
        both = mine.joined(theirs.take(rows))
        accumulator.merge(both, into, size + np.arange(rows.size))
        extended.append(both.keep(np.arange(size)))
    framer.states = tuple(extended)


def _no_runs(framer: Framer, n: int) -> HeadColumns:
    clock: Any = framer.clock.dtype
    status = np.full(n, NOT_MET, np.int8)
    return HeadColumns(
        np.zeros(n, clock), np.zeros(n, np.bool_), status, np.zeros(n, clock), np.zeros(n, np.int64), np.zeros(n, clock)
    )
