"""The framer: runs a scheme over batches of ordered rows of many groups and aggregates its frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator, described, naming
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.carrying import LastValues
from windrow.aggregates.over_time.clock import Extents
from windrow.arrays import ALL_VALID, Array, Values
from windrow.framing.nulls import settle_nulls
from windrow.framing.records import DROPPED, FINAL, OPEN, PART, WAITING, Batch, Groups, Records, successors
from windrow.framing.results import finish_frames, finish_guesses
from windrow.framing.schemes.base import Scheme
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch


@dataclass(frozen=True)
class Frames:
    """Frames that have ended, with their aggregates.

    `closed` shows which ones a row ended; where it is false, the stream ended first, and `records.closed` is undefined.
    """

    records: Records
    aggregates: tuple[pa.Array, ...]
    closed: npt.NDArray[np.bool_]
    errors: pa.Array | None = None
    """For guesses (see `Framer.is_guess`): the error that each frame raises if it stands, or null."""

    def __len__(self) -> int:
        return int(self.records.group.size)


class State(NamedTuple):
    """The complete state of some groups: the numbers stored per group, the open frames, and their aggregates.

    If the scheme searches for frames from the left, also the rows that are held: see `Framer.held`.
    """

    groups: Groups
    records: Records
    aggregates: tuple[States, ...]
    held: RowBatch
    last_values: tuple[Array, ...] = ()
    """Per aggregate that carries values into frames, the last value of each group."""


class Framer:
    """A running scheme: rows in, frames out, state in between.

    All rows of a frame have the same values in the columns of the first `labels` aggregates, so that only the row that
    opens a frame is aggregated.

    >>> import numpy as np, pyarrow as pa, windrow as wr
    >>> framer = Framer(wr.Threshold("hot"), Clock.of(pa.int64(), "t"), {}, [])
    >>> hot = Values(np.array([True, True, False, True]), np.empty(0, bool))
    >>> done = framer.process(RowBatch(np.zeros(4, int), np.arange(4), {"hit": hot}, []))
    >>> done.records.start.tolist(), done.records.end.tolist(), done.records.closed.tolist()
    ([0], [1], [2])
    >>> framer.finish().records.start.tolist()
    [3]
    """

    def __init__(
        self,
        scheme: Scheme,
        clock: Clock,
        types: Mapping[str, pa.DataType],
        aggregates: Sequence[AggregateFunction],
        labels: int = 0,
    ) -> None:
        self.scheme = scheme
        self.labels = labels
        self.clock = clock
        self.automaton = scheme.bind(clock, types)
        self._widths = {name: label.width(types[label.column]) for name, label in scheme.label_columns.items()}
        self.accumulators = [Accumulator.of(aggregate, types, clock) for aggregate in aggregates]
        self.carrying = [j for j, accumulator in enumerate(self.accumulators) if accumulator.carries]
        self.clear()

    is_guess: bool = False
    """Whether frames may turn out not to be frames, so that errors in their aggregates are kept and not raised."""
    directory: Directory | None = None
    """The keys of the groups, for error messages."""
    held: RowBatch
    """If the scheme searches for frames from the left: the rows of frames that may still miss a minimum.

    Such a frame is not carried over as an open record. Its rows, which are the last ones of their group, are read again
    at the start of the next batch. So an open record is certain to be a frame, and its rows need not be stored.
    """

    def clear(self) -> None:
        """Forget all groups."""
        automaton = self.automaton
        memo = np.empty((0, automaton.group_memo.size), automaton.group_memo.dtype)
        self.groups = Groups(np.empty(0, np.int64), np.empty((0, automaton.width), np.int64), memo)
        self.records = self.room(0)
        self.states = tuple(accumulator.empty(0) for accumulator in self.accumulators)
        self.held = self.no_rows()
        self.last_values = {j: LastValues() for j in self.carrying}

    def grow(self, n: int) -> None:
        """Make room for groups 0 to n - 1."""
        more = n - self.groups.next.size
        if more > 0:
            fresh = Groups(
                np.zeros(more, np.int64),
                np.full((more, self.automaton.width), -1, np.int64),
                np.tile(self.automaton.group_memo, (more, 1)),
            )
            self.groups = Groups(*(np.concatenate(pair) for pair in zip(self.groups, fresh, strict=True)))
        for last in self.last_values.values():
            last.grow(n)

    def process(self, rows: RowBatch) -> Frames:
        """Frame the next rows, which must be in order per group and follow those of earlier batches."""
        if rows.group.size:
            self.grow(int(rows.group.max()) + 1)
        rows, breaks = settle_nulls(self.scheme, self._with_carried(rows))
        if self.held.on.size:
            rows, before = self.held.joined(rows), self.held.on.size
            breaks = np.concatenate([np.zeros(before, np.bool_), breaks]) if breaks.size else breaks
        inputs = {name: values.numbers for name, values in rows.inputs.items()}
        return self._run(Batch(rows.group, rows.on, breaks), inputs, rows)

    def _with_carried(self, rows: RowBatch) -> RowBatch:
        """Return the rows, each with the last value before it, whether or not that is in a frame."""
        values = list(rows.values)
        for j, last in self.last_values.items():
            values[j] = last.carried(rows.group, values[j])
        return rows._replace(values=values)

    def finish(self, groups: npt.NDArray[np.int64] | None = None) -> Frames:
        """End the streams of the given groups, or of all: cut their open frames and return those that remain frames."""
        busy, latest = self.latest()
        mine = np.ones(busy.size, np.bool_) if groups is None else np.isin(busy, groups)
        batch, inputs = self._breaks(busy[mine], latest[mine])
        return self._run(batch._replace(is_end=True), inputs, None)

    def latest(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the groups with open frames or held rows, and the `on` of the last row in any of them."""
        return latest_rows(self.groups.next.size, self.records, self.held, self.clock)

    def cut(self, groups: npt.NDArray[np.int64], on: Array) -> Frames:
        """End the open frames of some groups at the given instants, as a break would; held rows are in no frame."""
        return self.advance(*self._breaks(groups, on))

    def _breaks(self, groups: npt.NDArray[np.int64], on: Array) -> tuple[Batch, dict[str, Array]]:
        """Drop the held rows of some groups, and return a row per group that only ends frames."""
        if self.held.on.size:
            self.held = self.held.where(~np.isin(self.held.group, groups))
        return Batch(groups, on, np.ones(groups.size, np.bool_)), self.blank_inputs(groups.size)

    def blank_inputs(self, n: int) -> dict[str, Array]:
        """Return what the scheme reads, for `n` rows whose values do not matter."""
        truths = (*self.scheme.predicates, *self.scheme.masks)
        inputs: dict[str, Array] = {name: np.zeros(n, np.bool_) for name in truths}
        inputs |= {name: np.zeros(n) for name in self.scheme.attributes}
        return inputs | {name: np.zeros((n, width), np.int64) for name, width in self._widths.items()}

    def advance(self, batch: Batch, inputs: Mapping[str, Array]) -> Frames:
        """Frame rows without aggregating their values."""
        return self._run(batch, inputs, None)

    def room(self, n: int) -> Records:
        """Return uninitialised records for `n` frames."""
        automaton = self.automaton
        return Records.make(n, self.clock.dtype, automaton.labels, automaton.memo, automaton.memo_type)

    def no_rows(self) -> RowBatch:
        """Return a batch without rows."""
        inputs = {name: Values(numbers, ALL_VALID) for name, numbers in self.blank_inputs(0).items()}
        values = [accumulator.no_values() for accumulator in self.accumulators]
        return RowBatch(np.empty(0, np.int64), np.empty(0, self.clock.dtype), inputs, values)

    def _run(self, batch: Batch, inputs: Mapping[str, Array], rows: RowBatch | None) -> Frames:
        carried = self.records.group.size
        room = carried + batch.on.size * self.automaton.width
        records = self.room(room)
        for column, before in zip(records, self.records, strict=True):
            column[:carried] = before
        if self.automaton.searches:
            batch = batch._replace(following=successors(batch.group, self.groups.next.size))
        if self.automaton.searches or self.labels:
            batch = batch._replace(first=np.empty(room, np.int64))
        slotted = batch.on.size if self.wants_slots(batch) and rows is not None else 0
        slots = np.full((slotted, self.automaton.width), -1, np.int64)
        used = self.automaton.kernel(batch, inputs, self.groups, records, carried, slots)
        records = Records(*(column[:used] for column in records))
        if rows is not None and self.automaton.searches:
            self._hold(rows, records, batch.first)
        states = self._aggregate(records, slots, batch.first[carried:used], None if rows is None else rows.values)
        done = np.flatnonzero(records.status == FINAL)
        left = np.flatnonzero((records.status == OPEN) | (records.status == WAITING))
        finished = records.take(done)
        # A frame that waited for its number was closed by a row, even if the stream ends now.
        closed = (
            np.append(self.records.status, records.status[carried:])[done] == WAITING if batch.is_end else done >= 0
        )
        errors = None
        with self._naming(finished):
            extents = Extents(records.start, records.end)
            if self.is_guess:
                aggregates, errors = finish_guesses(self.accumulators, states, done, extents)
            else:
                aggregates = finish_frames(self.accumulators, states, done, extents)
        self.observe(batch, inputs, records, states, slots)
        self._carry(records, states, left)
        return Frames(finished, aggregates, closed, errors)

    def _hold(self, rows: RowBatch, records: Records, first: Array) -> None:
        """Hold the rows of open frames that may still miss a minimum, instead of their records."""
        is_open = np.flatnonzero(records.status == OPEN)
        undecided = is_open[~self.scheme.is_sure(records.take(is_open), self.clock)]
        begin = np.full(self.groups.next.size, rows.on.size)
        begin[records.group[undecided]] = first[undecided]
        self.held = rows.where(np.arange(rows.on.size) >= begin[rows.group])
        records.status[undecided] = DROPPED
        self.groups.open[records.group[undecided], 0] = -1

    def wants_slots(self, batch: Batch) -> bool:
        """Return whether the kernel must record which record each row is in."""
        return len(self.accumulators) > self.labels

    def observe(
        self, batch: Batch, inputs: Mapping[str, Array], records: Records, states: tuple[States, ...], slots: Array
    ) -> None:
        """Inspect a batch while all its records still exist; a hook for subclasses."""

    def _aggregate(
        self, records: Records, slots: Array, first: Array, values: Sequence[Values] | None
    ) -> tuple[States, ...]:
        """Add the values of rows to the states of the records, the last of which were opened by the rows `first`."""
        opened = np.arange(records.group.size - first.size, records.group.size)
        parts = np.flatnonzero(records.status == PART)
        out = []
        for j, accumulator in enumerate(self.accumulators):
            states = accumulator.extended(self.states[j], records.group.size)
            with self._naming(records):
                if values is not None and j < self.labels:
                    accumulator.accumulate(states, opened[:, None], values[j].at(first))
                elif values is not None:
                    accumulator.accumulate(states, slots, values[j])
                if parts.size:
                    accumulator.merge(states, records.into, parts)
            out.append(states)
        return tuple(out)

    def _naming(self, records: Records) -> AbstractContextManager[None]:
        """Return a context that adds the frame to the error about a state with too many values."""

        def which(k: int) -> str:
            start = self.clock.write(pa.array(records.start[k : k + 1]))[0].as_py()
            key = () if self.directory is None else self.directory.key(int(records.group[k]))
            return described("the frame", key, start)

        return naming(which)

    def _carry(self, records: Records, states: tuple[States, ...], left: npt.NDArray[np.int64]) -> None:
        place = np.full(records.group.size + 1, -1, np.int64)
        place[left] = np.arange(left.size)
        self.groups.open[:] = place[self.groups.open]
        self.records = records.take(left)
        self.records.into[:] = np.arange(left.size)
        self.states = tuple(each.keep(left) for each in states)

    def export(self, groups: npt.NDArray[np.int64]) -> State:
        """Return the state of some groups, numbered in the given order."""
        code = np.full(self.groups.next.size + 1, -1, np.int64)
        code[groups] = np.arange(groups.size)
        mine = np.flatnonzero(code[self.records.group] >= 0)
        place = np.full(self.records.group.size + 1, -1, np.int64)
        place[mine] = np.arange(mine.size)
        records = self.records.take(mine)
        records.group[:] = code[records.group]
        records.into[:] = np.arange(mine.size)
        exported = Groups(self.groups.next[groups], place[self.groups.open[groups]], self.groups.memo[groups])
        held = self.held.where(code[self.held.group] >= 0)
        held.group[:] = code[held.group]
        last_values = tuple(last.numbers[groups] for last in self.last_values.values())
        return State(exported, records, tuple(states.take(mine) for states in self.states), held, last_values)

    def adopt(self, groups: npt.NDArray[np.int64], state: State) -> None:
        """Take over the state of some groups, none of which may have an open frame here."""
        if groups.size:
            self.grow(int(groups.max()) + 1)
        held = self.records.group.size
        records = Records(*(column.copy() for column in state.records))
        records.group[:] = groups[records.group]
        records.into[:] = np.arange(records.group.size) + held
        self.groups.next[groups] = state.groups.next
        self.groups.memo[groups] = state.groups.memo
        self.groups.open[groups] = np.where(state.groups.open >= 0, state.groups.open + held, -1)
        self.records = Records(*(np.concatenate(pair) for pair in zip(self.records, records, strict=True)))
        self.states = tuple(mine.joined(theirs) for mine, theirs in zip(self.states, state.aggregates, strict=True))
        for last, theirs in zip(self.last_values.values(), state.last_values, strict=True):
            last.numbers[groups] = theirs
        if state.held.on.size:
            self.held = self.held.joined(state.held._replace(group=groups[state.held.group]))

    def forget(self, groups: npt.NDArray[np.int64]) -> None:
        """Drop the state of some groups, as if they had never been seen."""
        gone = np.zeros(self.groups.next.size, np.bool_)
        gone[groups] = True
        left = np.flatnonzero(~gone[self.records.group])
        self.groups.next[groups] = 0
        self.groups.open[groups] = -1
        self.groups.memo[groups] = self.automaton.group_memo
        self._carry(self.records, self.states, left)
        for last in self.last_values.values():
            last.forget(groups)
        if self.held.on.size:
            self.held = self.held.where(~gone[self.held.group])


def latest_rows(groups: int, records: Records, held: RowBatch, clock: Clock) -> tuple[npt.NDArray[np.int64], Array]:
    """Return which of the groups have open frames or held rows, and the `on` of the last row in any of them."""
    latest = np.full(groups, clock.lowest, clock.dtype)
    np.maximum.at(latest, records.group, records.end)
    np.maximum.at(latest, held.group, held.on)
    busy = np.unique(np.concatenate([records.group, held.group]))
    return busy, latest[busy]
