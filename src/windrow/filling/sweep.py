"""Filling frames: which tuples of another stream lie in which frames, found in one sweep over both, sorted together.

A tuple u is in frame f of its group when `f.start <= u.on <= f.end`. Frames and tuples come in the order of group and
time, a frame at its start and before the tuples of that time. A frame is open from there on until a tuple is past its
end. A look at an open frame either finds a pair or ends the frame for good, so the sweep costs a step a row and a step
a pair, however the frames overlap; and what it remembers from batch to batch is the open frames of one group.
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
from windrow.arrays import Array, Values

PAIRS_AT_ONCE = 1 << 17
"""How many pairs are found before they are handed on: many frames may be open at one time."""

Indices = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Frames and tuples, sorted by group and time; at the same time frames come first.

    Groups are contiguous, and group 0 is the one that the batch before ended with.
    """

    group: Indices
    on: Array
    """The start of a frame, the `on` of a tuple."""
    opens: npt.NDArray[np.bool_]
    """Whether the row is a frame."""
    end: Array
    """The end of each frame, in order, and nothing for tuples."""


class Placed(NamedTuple):
    """Where tuples are, or where frames begin: their group and their `on`."""

    group: Indices
    on: Array


class Pairs(NamedTuple):
    """Tuples, by their row, and the frames they are in, by their slot."""

    row: Indices
    slot: Indices


class Sweep:
    """The frames that are open, from batch to batch.

    In a batch, frames are told apart by *slots*: first those that were carried here from the batch before, then those
    of the batch, in order. `left` has the slots that are carried on, in the order in which they are numbered next.

    >>> sweep = Sweep(np.dtype(np.int64))
    >>> frames, tuples = [True, True], [False, False]
    >>> rows = Rows(np.zeros(4, int), np.array([1, 2, 3, 5]), np.array(frames + tuples), np.array([3, 9]))
    >>> [(pairs.row.tolist(), pairs.slot.tolist()) for pairs in sweep.pairs(rows)]
    [([2, 2, 3], [0, 1, 1])]
    >>> sweep.left.tolist()
    [1]
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.end: Array = np.empty(0, dtype)
        self.left = np.empty(0, np.int64)

    def pairs(self, rows: Rows) -> Iterator[Pairs]:
        """All pairs of a batch, tuple by tuple, in pieces of bounded size; take them all before the next batch."""
        held = self.end.size
        end = np.concatenate([self.end, rows.end])
        slot = np.where(rows.opens, np.cumsum(rows.opens) + (held - 1), -1)
        active = np.empty(end.size, np.int64)
        active[:held] = np.arange(held)
        at, size = 0, held
        while at < rows.on.size:
            room = max(PAIRS_AT_ONCE, size)
            found = Pairs(np.empty(room, np.int64), np.empty(room, np.int64))
            at, size, n = _sweep(rows.group, rows.on, slot, end, active, size, at, found.row, found.slot)
            if n:
                yield Pairs(found.row[:n], found.slot[:n])
        active = active[:size]
        self.left = active[end[active] >= rows.on[-1]] if rows.on.size else active
        self.end = end[self.left]


@njit(cache=True)
def _sweep(
    group: Any, on: Any, slot: Any, end: Any, active: Any, size: int, at: int, row: Any, into: Any
) -> tuple[int, int, int]:
    """Go on from row `at` until the room for pairs may not suffice: the next row, the open frames, the pairs found."""
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


def pairs_of(tuples: Placed, frames: Placed, end: Array) -> Iterator[Pairs]:
    """All pairs of tuples and frames, in the order of group and time; tuples of one instant stay in their order.

    >>> tuples = Placed(np.zeros(3, int), np.array([1, 4, 8]))
    >>> frames = Placed(np.zeros(2, int), np.array([7, 1]))
    >>> [(pairs.row.tolist(), pairs.slot.tolist()) for pairs in pairs_of(tuples, frames, np.array([9, 4]))]
    [([0, 1, 2], [1, 1, 0])]
    """
    n = frames.group.size
    group, on = (np.concatenate(columns) for columns in zip(frames, tuples, strict=True))
    opens = np.arange(group.size) < n
    # A stable sort: at one time frames come first, and tied tuples stay in their order.
    order = np.lexsort((on, group))
    slots = order[opens[order]]
    sweep = Sweep(end.dtype)
    for pairs in sweep.pairs(Rows(group[order], on[order], opens[order], end[slots])):
        yield Pairs(order[pairs.row] - n, slots[pairs.slot])


class Tagger:
    """Tells for each tuple the numbers of the frames it is in."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._sweep = Sweep(dtype)
        self._number = np.empty(0, np.int64)

    def tag(self, rows: Rows, number: Indices) -> Iterator[tuple[Indices, Indices]]:
        """Rows of tuples, each as often as it has frames, and those frames' numbers; `number` has one a frame row."""
        number = np.concatenate([self._number, number])
        for pairs in self._sweep.pairs(rows):
            yield pairs.row, number[pairs.slot]
        self._number = number[self._sweep.left]


class Summary:
    """Aggregates the tuples of each frame; a frame comes out once no further tuple can be in it."""

    def __init__(
        self,
        accumulators: Sequence[Accumulator],
        dtype: np.dtype[Any],
        keys: Sequence[str] = (),
        start: str | None = None,
    ) -> None:
        self._keepers = accumulators
        self._sweep = Sweep(dtype)
        self._keys, self._start = keys, start
        """The columns of a frame by which errors name it."""
        self._frames: pa.Table | None = None
        self._states = [accumulator.empty(0) for accumulator in accumulators]

    def add(self, rows: Rows, frames: pa.Table, values: Sequence[Values]) -> pa.Table:
        """The frames that ended, with an aggregate a keeper after the columns of `frames`, which has the frame rows.

        `values` has for each keeper what it reads, for all rows.
        """
        if self._frames is not None:
            frames = pa.concat_tables([self._frames, frames])
        states = [
            accumulator.extended(kept, len(frames))
            for kept, accumulator in zip(self._states, self._keepers, strict=True)
        ]
        for pairs in self._sweep.pairs(rows):
            for accumulator, kept, column in zip(self._keepers, states, values, strict=True):
                with self._naming(frames):
                    accumulator.accumulate(kept, pairs.slot.reshape(-1, 1), taken(column, pairs.row))
        left = self._sweep.left
        done = np.delete(np.arange(len(frames)), left)
        self._frames = frames.take(left)
        ended = self._finished(frames.take(done), [kept.take(done) for kept in states])
        self._states = [kept.keep(left) for kept in states]
        return ended

    def finish(self) -> pa.Table | None:
        """The frames that were open at the end; None if there never was a row."""
        return None if self._frames is None else self._finished(self._frames, self._states)

    def _finished(self, frames: pa.Table, states: Sequence[States]) -> pa.Table:
        for j, (accumulator, kept) in enumerate(zip(self._keepers, states, strict=True)):
            with self._naming(frames):
                frames = frames.append_column(f"aggregate{j}", accumulator.finish(kept))
        return frames

    def _naming(self, frames: pa.Table) -> AbstractContextManager[None]:
        """Say which frame has too many values."""

        def which(k: int) -> str:
            start = None if self._start is None else frames[self._start][k].as_py()
            return described("the frame", [frames[name][k].as_py() for name in self._keys], start)

        return naming(which)


def taken(values: Values, rows: Indices) -> Values:
    """Some of the values."""
    return Values(values.numbers[rows], values.valid[rows] if values.valid.size else values.valid)
