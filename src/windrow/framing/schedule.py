"""Reporting schedule: the pieces of frames are cut at multiples of a length of event time (000 §5.2).

The first piece of a frame ends with the row that makes the frame certain to qualify. After that, rows between two
multiples form a piece. A row exactly on a multiple belongs to the later piece. Which rows a piece has depends on the
rows of the frame alone, not on how they fell into batches. With `min_count=2` and pieces of 10:

    rows of the frame      3   8   9    11  14   19    25              x   the row that ends the frame
    pieces                [3   8] [9]  [11  14   19]  [25 ............ ]
    reported with row          8        11             25              x

A piece is reported when it is certain to be whole: the first one at once, another with the first row of the frame
after it, the last one when the frame ends. If that is the first one, an empty last piece follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.clock import Extents
from windrow.arrays import Array, Values
from windrow.errors import SpecError, UnsupportedError, quoted
from windrow.framing.fragments import COUNT, FRAGMENT, START, FragmentFramer, Fragments, fragment_numbers
from windrow.framing.framer import Frames
from windrow.framing.records import Records
from windrow.framing.schemes.base import Scheme
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.duration import Duration, to_clock
from windrow.rows.query import RowBatch

Indices = npt.NDArray[np.int64]


def check_schedule(scheme: Scheme, clock: Clock, types: Mapping[str, pa.DataType]) -> None:
    """Reject schemes whose rows or labels may be settled long after they arrived, so that batches would show."""
    minimum = getattr(scheme, "has_minimum", False)
    if minimum and scheme.bind(clock, types).width > 1:
        raise UnsupportedError(
            f"fragments: pieces of a fixed length are not available for {type(scheme).__name__} with a minimum, whose "
            "frames overlap or are segments; drop the minimum, or pass fragments=True"
        )
    if scheme.labels_change:
        raise UnsupportedError(
            f"fragments: pieces of a fixed length are not available for {type(scheme).__name__} with labels, which may "
            "change while a frame grows; drop labels=, or pass fragments=True"
        )


def schedule_of(every: Duration, clock: Clock) -> int | float:
    """Return the length of pieces in the unit of the clock.

    >>> schedule_of("1 minute", Clock.of(pa.timestamp("us", "UTC"), "ts"))
    60000000
    """
    length = to_clock(every, clock.kind, "fragments")
    if length <= 0:
        raise SpecError(f"fragments: {quoted(every)} must be greater than zero")
    if clock.dtype == np.int64 and length != int(length):
        unit = "day" if clock.kind == "date" else "unit"
        raise SpecError(f"fragments: `on` is in whole {unit}s, so expected whole {unit}s, got {quoted(every)}")
    return min(int(length), LARGEST) if clock.dtype == np.int64 else float(length)


def cells(on: Array, every: int | float) -> Array:
    """Return the number of the stretch between two multiples that each `on` is in.

    >>> cells(np.array([-1, 0, 9, 10]), 10).tolist(), cells(np.array([0.25, 0.5]), 0.5).tolist()
    ([-1, 0, 0, 1], [0.0, 1.0])
    """
    if on.dtype == np.int64:
        return on // np.int64(every)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.floor(on / every)
        # The quotient may round across a multiple, so the definition corrects it.
        near = np.where(near * every > on, near - 1, near)
        return np.where((near + 1) * every <= on, near + 1, near)


@dataclass(frozen=True)
class Cuts:
    """How the rows of a batch are divided into pieces, and which pieces are whole.

    States of whole pieces have the slots after those of the records. `row` and `slot` have one entry per row and record
    that it is in, sorted by `turn`, the number of its piece among those of the record in this batch. `record`, `order`
    and `end` have one entry per whole piece: its record, its turn, and the `on` of its last row. `many` counts the
    whole pieces of each record.
    """

    row: Indices
    slot: Indices
    turn: Indices
    record: Indices
    order: Indices
    end: Array
    many: Indices

    @property
    def first(self) -> Indices:
        """The position of each record's first piece."""
        before: Indices = np.cumsum(self.many) - self.many
        return before


class ScheduledFramer(FragmentFramer):
    """A framer that reports frames in pieces cut at multiples of `every`."""

    def __init__(
        self,
        scheme: Scheme,
        clock: Clock,
        types: Mapping[str, pa.DataType],
        aggregates: Sequence[AggregateFunction],
        every: int | float,
    ) -> None:
        super().__init__(scheme, clock, types, aggregates)
        self.every = every
        self._whole: Fragments | None = None

    def process(self, rows: RowBatch) -> Frames:
        """Frame the next rows; `report` then returns the pieces that are whole."""
        self._whole = None
        return super().process(rows)

    def report(self) -> Fragments:
        """Return the pieces that the rows of the last batch made whole, once."""
        whole, self._whole = self._whole, None
        if whole is None:
            nothing = tuple(accumulator.finish(accumulator.empty(0)) for accumulator in self.accumulators)
            frames = Frames(self.records.take(np.empty(0, np.int64)), nothing, np.empty(0, np.bool_))
            whole = self.ended(frames, final=False)
        return whole

    def _aggregate(
        self, records: Records, slots: Array, first: Array, values: Sequence[Values] | None
    ) -> tuple[States, ...]:
        if values is None:
            return super()._aggregate(records, slots, first, None)
        cuts = self._cut(records, slots, values[START].numbers)
        self._number(records, cuts)
        own = len(self.accumulators) + START
        with self._naming(records):
            states = [
                self._states(accumulator, self.states[j], cuts, values[j], of_piece=j >= own)
                for j, accumulator in enumerate(self.accumulators[:FRAGMENT])
            ]
        pieces = records.group.size + np.arange(cuts.record.size)
        fragments = self._fragments(records.group.size, cuts)
        extents = Extents(records.start[cuts.record], cuts.end)
        results = [
            accumulator.finish(each.take(pieces), extents)
            for accumulator, each in zip(self.accumulators, states, strict=False)
        ]
        base = np.where(fragments.seen > 0, fragments.numbers[:, 1], 0) - cuts.many
        results.append(pa.array(base[cuts.record] + cuts.order))
        shown = records.take(cuts.record)
        shown.end[:], shown.complete[:] = cuts.end, False
        self._whole = self.ended(Frames(shown, tuple(results), np.zeros(shown.end.size, np.bool_)), final=False)
        return (*(each.keep(np.arange(records.group.size)) for each in states), fragments)

    def _cut(self, records: Records, slots: Array, on: Array) -> Cuts:
        """Divide the rows of a batch into pieces."""
        carried = self.records
        size = records.group.size
        at, column = np.nonzero(slots >= 0)
        k = slots[at, column]
        sort = np.argsort(k, kind="stable")
        at, k = at[sort], k[sort]
        begins = np.diff(k, prepend=-1) != 0
        before = np.zeros(size, np.int64)
        before[: carried.count.size] = carried.count
        was_sure = np.zeros(size, np.bool_)
        was_sure[: carried.count.size] = self.scheme.is_sure(carried, self.clock)
        pending = np.zeros(size, np.bool_)
        pending[: carried.count.size] = self.states[COUNT].seen > 0
        t = on[at]
        sure = self._sure(records, k, t, before, begins) | was_sure[k]
        earlier = np.where(begins, was_sure[k], _shifted(sure, False))
        settles = sure & ~earlier
        cell = cells(t, self.every)
        last_end = np.zeros(size, on.dtype)
        last_end[: carried.count.size] = carried.end
        cell_before = np.where(begins, cells(last_end, self.every)[k], _shifted(cell, 0))
        crosses = earlier & (cell != cell_before) & (~begins | pending[k])
        breaks = crosses | (~begins & _shifted(settles, False))
        ends = np.append(begins[1:], True) if k.size else begins
        many = np.bincount(k[breaks], minlength=size) + np.bincount(k[ends & settles], minlength=size)
        first = np.cumsum(many) - many
        passed = np.cumsum(breaks)
        order = passed - (passed - breaks)[begins][np.cumsum(begins) - 1] if k.size else passed
        record = np.repeat(np.arange(size), many)
        own = np.arange(record.size) - first[record]
        end = np.empty(record.size, on.dtype)
        whole = np.flatnonzero(breaks)
        # A piece that ends before the first row of the batch ends where its record ended.
        end[first[k[whole]] + order[whole] - 1] = np.where(begins[whole], last_end[k[whole]], t[whole - 1])
        tail = np.flatnonzero(ends & settles)
        end[first[k[tail]] + order[tail]] = t[tail]
        slot = np.where(order < many[k], size + first[k] + order, k)
        turns = np.argsort(order, kind="stable")
        return Cuts(at[turns], slot[turns], order[turns], record, own, end, many)

    def _sure(self, records: Records, k: Indices, t: Array, before: Indices, begins: Any) -> npt.NDArray[np.bool_]:
        """Return whether the frame of each row is certain to qualify once it has the row, given all rows in order."""
        number = np.cumsum(begins) - 1
        rank = np.arange(k.size) - np.flatnonzero(begins)[number] if k.size else k
        seen = records.take(k)
        seen.end[:], seen.count[:] = t, before[k] + rank + 1
        # Once certain, always certain.
        highest = np.maximum.accumulate(2 * number + self.scheme.is_sure(seen, self.clock))
        return np.asarray(highest % 2 == 1)

    def _number(self, records: Records, cuts: Cuts) -> None:
        """Assign numbers to frames that are reported for the first time, in the order in which they opened."""
        fresh = np.flatnonzero((cuts.many > 0) & (records.number < 0))
        fresh = fresh[np.argsort(records.group[fresh], kind="stable")]
        group = records.group[fresh]
        records.number[fresh] = self.groups.next[group] + np.arange(fresh.size) - np.searchsorted(group, group)
        np.add.at(self.groups.next, group, 1)

    def _states(
        self, accumulator: Accumulator, carried: States, cuts: Cuts, values: Values, *, of_piece: bool
    ) -> States:
        """Return the states of the records, then those of the pieces: of all rows up to the end of each.

        If `of_piece`, the states are those of the rows of each piece alone.
        """
        size = cuts.many.size
        held = len(carried)
        states = accumulator.extended(carried, size + cuts.record.size)
        moved = np.flatnonzero(cuts.many[:held] > 0)
        if moved.size:
            states.put(size + cuts.first[moved], states.take(moved))
            states.put(moved, accumulator.empty(moved.size))
        begins = np.searchsorted(cuts.turn, np.arange(int(cuts.many.max(initial=0)) + 2))
        for turn, (a, b) in enumerate(pairwise(begins.tolist())):
            if turn and not of_piece:
                # A piece continues where the one before it ended, so that sums are rounded as in any other batch.
                records = np.flatnonzero(cuts.many >= turn)
                previous = size + cuts.first[records] + turn - 1
                states.put(np.where(cuts.many[records] > turn, previous + 1, records), states.take(previous))
            if a < b:
                accumulator.accumulate(states, cuts.slot[a:b].reshape(-1, 1), values.at(cuts.row[a:b]))
        return states

    def _fragments(self, size: int, cuts: Cuts) -> States:
        """Return, per record, the number of its piece in progress; nothing before the first has been reported."""
        accumulator = self.accumulators[FRAGMENT]
        states = accumulator.extended(self.states[FRAGMENT], size)
        changed = np.flatnonzero(cuts.many)
        numbers = np.where(states.seen[changed] > 0, states.numbers[changed, 1], 0) + cuts.many[changed]
        states.put(changed, fragment_numbers(numbers))
        return states


def _shifted(values: Array, first: Any) -> Array:
    """Return each row's predecessor, `first` for the first row."""
    shifted = np.empty_like(values)
    shifted[:1] = first
    shifted[1:] = values[:-1]
    return shifted
