"""The sweep: matches rows with frames in one pass over both, sorted together.

A row u is in frame f of its group if `f.start <= u.on <= f.end`. Frames and rows are sorted by group and time; a frame
is placed at its start, before the rows of that time. It stays open until a row is past its end. Each look at an open
frame either finds a pair or ends the frame for good, so the sweep takes one step per row and one per pair, however the
frames overlap. Between batches it stores only the open frames of one group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.aggregates.engine.accumulator import Accumulator, described, naming
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.carrying import CARRIED, ROW, LastValues
from windrow.aggregates.over_time.clock import Extents
from windrow.arrays import Array, Values
from windrow.tuning import Tuning, current_tuning

Indices = npt.NDArray[np.int64]


class SweepBatch(NamedTuple):
    """Frames and rows, sorted by group and time; at the same time, frames come first.

    Groups are contiguous, and group 0 is the last group of the previous batch.
    """

    group: Indices
    on: Array
    """The start of a frame, or the `on` of a row."""
    opens: npt.NDArray[np.bool_]
    """Whether the entry is a frame."""
    end: Array
    """The end of each frame, in order, with no entries for rows."""


class Placed(NamedTuple):
    """The group and `on` of rows, or of the starts of frames."""

    group: Indices
    on: Array


class Pairs(NamedTuple):
    """Rows, by position, and the frames that contain them, by slot."""

    row: Indices
    slot: Indices


class Sweep:
    """A sweep over batches that carries the open frames from one to the next.

    Within a batch, *slots* identify frames: first those carried over from the previous batch, then those of the batch,
    in order. `left` lists the slots that are carried over to the next batch, in the order of their new numbers.

    >>> sweep = Sweep(np.dtype(np.int64))
    >>> opens = np.array([True, True, False, False])
    >>> batch = SweepBatch(np.zeros(4, int), np.array([1, 2, 3, 5]), opens, np.array([3, 9]))
    >>> [(pairs.row.tolist(), pairs.slot.tolist()) for pairs in sweep.pairs(batch)]
    [([2, 2, 3], [0, 1, 1])]
    >>> sweep.left.tolist()
    [1]
    """

    def __init__(self, dtype: np.dtype[Any], tuning: Tuning | None = None) -> None:
        self._tuning = tuning or current_tuning()
        self.end: Array = np.empty(0, dtype)
        self.left = np.empty(0, np.int64)

    def pairs(self, batch: SweepBatch) -> Iterator[Pairs]:
        """Yield all pairs of a batch, row by row, in parts of bounded size; exhaust it before the next batch."""
        carried = self.end.size
        end = np.concatenate([self.end, batch.end])
        slot = np.where(batch.opens, np.cumsum(batch.opens) + (carried - 1), -1)
        active = np.empty(end.size, np.int64)
        active[:carried] = np.arange(carried)
        at, size = 0, carried
        while at < batch.on.size:
            room = max(self._tuning.pairs_per_result, size)
            pairs = Pairs(np.empty(room, np.int64), np.empty(room, np.int64))
            at, size, n = _sweep(batch.group, batch.on, slot, end, active, size, at, pairs.row, pairs.slot)
            if n:
                yield Pairs(pairs.row[:n], pairs.slot[:n])
        active = active[:size]
        self.left = active[end[active] >= batch.on[-1]] if batch.on.size else active
        self.end = end[self.left]


@njit(cache=True)
def _sweep(
    group: Any, on: Any, slot: Any, end: Any, active: Any, size: int, at: int, row: Any, into: Any
) -> tuple[int, int, int]:
    """Continue from row `at` while pairs fit; return the next row, the number of open frames and of pairs."""
    n = 0
    while at < on.size:
        if group[at] != (group[at - 1] if at else 0):
            size = 0
        if slot[at] >= 0:
            active[size] = slot[at]
            size += 1
        else:
            if n + size > row.size:
                break
            open_before, size = size, 0
            for a in range(open_before):
                k = active[a]
                if end[k] >= on[at]:
                    active[size] = k
                    size += 1
                    row[n] = at
                    into[n] = k
                    n += 1
        at += 1
    return at, size, n


def pairs_of(rows: Placed, frames: Placed, end: Array, tuning: Tuning | None = None) -> Iterator[Pairs]:
    """Yield all pairs of rows and frames, ordered by group and time; rows with equal `on` keep their order.

    >>> rows = Placed(np.zeros(3, int), np.array([1, 4, 8]))
    >>> frames = Placed(np.zeros(2, int), np.array([7, 1]))
    >>> [
    ...     (pairs.row.tolist(), pairs.slot.tolist())
    ...     for pairs in pairs_of(rows, frames, np.array([9, 4]))
    ... ]
    [([0, 1, 2], [1, 1, 0])]
    """
    n = frames.group.size
    group, on = (np.concatenate(columns) for columns in zip(frames, rows, strict=True))
    opens = np.arange(group.size) < n
    # The sort is stable: at the same time frames come first, and tied rows keep their order.
    order = np.lexsort((on, group))
    slots = order[opens[order]]
    sweep = Sweep(end.dtype, tuning)
    for pairs in sweep.pairs(SweepBatch(group[order], on[order], opens[order], end[slots])):
        yield Pairs(order[pairs.row] - n, slots[pairs.slot])


class Tagger:
    """A sweep that tags each row with the numbers of the frames that contain it."""

    def __init__(self, dtype: np.dtype[Any], tuning: Tuning | None = None) -> None:
        self._sweep = Sweep(dtype, tuning)
        self._number = np.empty(0, np.int64)

    def tag(self, batch: SweepBatch, number: Indices) -> Iterator[tuple[Indices, Indices]]:
        """Yield rows, each once per frame that contains it, and the frame numbers; `number` has one entry per frame."""
        number = np.concatenate([self._number, number])
        for pairs in self._sweep.pairs(batch):
            yield pairs.row, number[pairs.slot]
        self._number = number[self._sweep.left]


class Summary:
    """A sweep that aggregates the rows of each frame and emits the frame when no further row can be in it."""

    def __init__(
        self,
        accumulators: Sequence[Accumulator],
        dtype: np.dtype[Any],
        keys: Sequence[str] = (),
        start: str | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self._accumulators = accumulators
        self._sweep = Sweep(dtype, tuning)
        self._keys, self._start = keys, start
        """The columns by which error messages identify a frame."""
        self._frames: pa.Table | None = None
        self._extents = Extents(np.empty(0, dtype), np.empty(0, dtype))
        """The starts and ends of these frames."""
        self._last = [LastValues() for _ in accumulators]
        """The last value of the group that the next batch starts with, for each aggregate."""
        self._states = [accumulator.empty(0) for accumulator in accumulators]

    def add(self, batch: SweepBatch, frames: pa.Table, values: Sequence[Values]) -> pa.Table:
        """Return the frames that ended: the columns of `frames`, then one aggregate per accumulator.

        `frames` has one row per frame of the batch. `values` holds the input of each accumulator, for all rows.
        """
        before = len(self._states[0]) if self._states else 0
        if self._frames is not None:
            frames = pa.concat_tables([self._frames, frames])
        states = [
            accumulator.extended(state, len(frames))
            for state, accumulator in zip(self._states, self._accumulators, strict=True)
        ]
        extents = Extents(*map(np.append, self._extents, (batch.on[batch.opens], batch.end)))
        values = self._carried(batch, values, states, before)
        for pairs in self._sweep.pairs(batch):
            for accumulator, state, column in zip(self._accumulators, states, values, strict=True):
                with self._naming(frames):
                    accumulator.accumulate(state, pairs.slot.reshape(-1, 1), column.at(pairs.row))
        left = self._sweep.left
        done = np.delete(np.arange(len(frames)), left)
        self._frames = frames.take(left)
        ended = self._finished(frames.take(done), [state.take(done) for state in states], extents.take(done))
        self._states = [state.keep(left) for state in states]
        self._extents = extents.take(left)
        return ended

    def finish(self) -> pa.Table | None:
        """Return the frames that are open at the end, or None if there never was a row."""
        return None if self._frames is None else self._finished(self._frames, self._states, self._extents)

    def _carried(
        self, batch: SweepBatch, values: Sequence[Values], states: Sequence[States], before: int
    ) -> list[Values]:
        """Give the frames of a batch the values that are carried into them, and return the values of its rows.

        At the same time frames come before rows, so the value is from before the start.
        """
        read = list(values)
        for j, accumulator in enumerate(self._accumulators):
            if accumulator.carries:
                column, last = values[j], self._last[j]
                valid = ~batch.opens & column.valid if column.valid.size else ~batch.opens
                read[j] = last.carried(batch.group, column._replace(valid=valid))
                states[j].numbers[before:, CARRIED:] = read[j].numbers[batch.opens, ROW:]
                # The last group of this batch is group 0 of the next one.
                self._last[j] = LastValues(last.numbers[batch.group[-1:]])
        return read

    def _finished(self, frames: pa.Table, states: Sequence[States], extents: Extents) -> pa.Table:
        for j, (accumulator, state) in enumerate(zip(self._accumulators, states, strict=True)):
            with self._naming(frames):
                frames = frames.append_column(f"aggregate{j}", accumulator.finish(state, extents))
        return frames

    def _naming(self, frames: pa.Table) -> AbstractContextManager[None]:
        """Return a context that adds the frame to the error about too many values."""

        def which(k: int) -> str:
            start = None if self._start is None else frames[self._start][k].as_py()
            return described("the frame", [frames[name][k].as_py() for name in self._keys], start)

        return naming(which)
