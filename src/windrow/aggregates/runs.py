"""States that grow: the values of many frames, each with how often it came, in one pool of flat arrays.

A frame's values are a *run*, a stretch of the pool with some room behind it. Its front part is in order and has each
value once; what came since waits behind it. When a run is full its waiting part is sorted into the front, and only if
that did not make much room, the run moves to a place twice as large at the end of the pool. So a value costs one
comparison sort's share, and a run takes space by its different values, not by all of them. NaN is greater than any
other value, and equal to itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from windrow.saved import check_that

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

BEGIN, SORTED, LENGTH, ROOM = 0, 1, 2, 3
"""The columns of `spans`: where a run begins, how much of it is in order, how long it is, how long it may become."""
USED, WANTED = 0, 1
"""The places of `cursor`: how much of the pool is given away, and how much more a kernel stopped for."""
FEWEST = 8
"""The room of a run that has just begun."""


class Runs(NamedTuple):
    """The pool, and where in it each state's run is."""

    values: Array
    counts: Indices
    spans: Indices
    cursor: Indices

    @property
    def lengths(self) -> Indices:
        """How many entries each run has."""
        return self.spans[:, LENGTH]


def no_runs(n: int, dtype: np.dtype[Any]) -> Runs:
    """The runs of `n` states without values."""
    return Runs(np.empty(0, dtype), np.empty(0, np.int64), np.zeros((n, 4), np.int64), np.zeros(2, np.int64))


# Kernels.


@njit(cache=True)
def precedes(a: Any, b: Any) -> bool:
    """Whether a value is less than another; NaN is the greatest."""
    return bool(a < b or (b != b and a == a))


@njit(cache=True)
def is_same(a: Any, b: Any) -> bool:
    """Whether two values are equal; NaN is equal to itself."""
    return bool(a == b or (a != a and b != b))


@njit(cache=True)
def _in_order(values: Array, counts: Indices) -> tuple[Array, Indices]:
    """Values in order, with their counts; most often all counts are 1."""
    if (counts == 1).all():
        return np.sort(values), counts.copy()
    order = np.argsort(values)
    return values[order], counts[order]


@njit(cache=True)
def settle(runs: Runs, k: int) -> None:
    """Put run `k` in order, each value once."""
    known, length = runs.spans[k, SORTED], runs.spans[k, LENGTH]
    if known == length:
        return
    begin = runs.spans[k, BEGIN]
    values, counts = runs.values[begin : begin + length], runs.counts[begin : begin + length]
    fresh, fresh_counts = _in_order(values[known:], counts[known:])
    i, j = known - 1, fresh.size - 1
    for to in range(length - 1, -1, -1):
        if j < 0:
            break
        if i >= 0 and precedes(fresh[j], values[i]):
            values[to], counts[to] = values[i], counts[i]
            i -= 1
        else:
            values[to], counts[to] = fresh[j], fresh_counts[j]
            j -= 1
    last = 0
    for at in range(1, length):
        if is_same(values[last], values[at]):
            counts[last] += counts[at]
        else:
            last += 1
            values[last], counts[last] = values[at], counts[at]
    runs.spans[k, SORTED] = runs.spans[k, LENGTH] = last + 1


@njit(cache=True)
def _make_room(runs: Runs, k: int, more: int) -> bool:
    """Room in run `k` for more entries; false if the pool has not enough, and the cursor then says what is wanted."""
    spans, cursor = runs.spans, runs.cursor
    if spans[k, LENGTH] + more <= spans[k, ROOM]:
        return True
    settle(runs, k)
    length = spans[k, LENGTH]
    if length + more <= spans[k, ROOM] and 2 * length <= spans[k, ROOM]:
        return True
    room = max(FEWEST, 2 * (length + more))
    if cursor[USED] + room > runs.values.size:
        cursor[WANTED] = room
        return False
    begin, to = spans[k, BEGIN], cursor[USED]
    runs.values[to : to + length] = runs.values[begin : begin + length]
    runs.counts[to : to + length] = runs.counts[begin : begin + length]
    spans[k, BEGIN], spans[k, ROOM] = to, room
    cursor[USED] += room
    return True


@njit(cache=True)
def _append(runs: Runs, seen: Indices, slots: Indices, numbers: Array, valid: Array, at: int) -> int:
    """Add values from place `at` of `slots` on, until the pool is full: the place to go on from."""
    spans, width = runs.spans, slots.shape[1]
    positive_zero = numbers.dtype.type(0)
    for i in range(at // width, slots.shape[0]):
        if valid.size and not valid[i]:
            continue
        for w in range(max(0, at - i * width), width):
            k = slots[i, w]
            if k < 0:
                continue
            if not _make_room(runs, k, 1):
                return int(i * width + w)
            to = spans[k, BEGIN] + spans[k, LENGTH]
            # A negative zero plus zero is zero: the two are one value.
            runs.values[to] = numbers[i] + positive_zero
            runs.counts[to] = 1
            spans[k, LENGTH] += 1
            seen[k] += 1
    return int(slots.size)


@njit(cache=True)
def _append_parts(runs: Runs, seen: Indices, into: Indices, parts: Indices, at: int) -> int:
    """Add the runs of parts to those they are parts of, from `parts[at]` on, until the pool is full."""
    spans = runs.spans
    for p in range(at, parts.size):
        part = parts[p]
        k = into[part]
        settle(runs, part)
        length = spans[part, LENGTH]
        if not _make_room(runs, k, length):
            return p
        begin, to = spans[part, BEGIN], spans[k, BEGIN] + spans[k, LENGTH]
        runs.values[to : to + length] = runs.values[begin : begin + length]
        runs.counts[to : to + length] = runs.counts[begin : begin + length]
        spans[k, LENGTH] += length
        seen[k] += seen[part]
    return parts.size


@njit(cache=True)
def _settle_all(runs: Runs) -> None:
    for k in range(runs.spans.shape[0]):
        settle(runs, k)


@njit(cache=True)
def _copy(runs: Runs, rows: Indices, to: Runs, at: int, keep_room: bool) -> None:
    """Copy some runs to the end of another pool, which has the room, as its runs from `at` on."""
    for j in range(rows.size):
        begin, length = runs.spans[rows[j], BEGIN], runs.spans[rows[j], LENGTH]
        place = to.cursor[USED]
        to.values[place : place + length] = runs.values[begin : begin + length]
        to.counts[place : place + length] = runs.counts[begin : begin + length]
        to.spans[at + j] = runs.spans[rows[j]]
        to.spans[at + j, BEGIN] = place
        if not keep_room:
            to.spans[at + j, ROOM] = length
        to.cursor[USED] += to.spans[at + j, ROOM]


# What States do with runs. Those that give runs back may have used up the ones they were given.


def append(runs: Runs, seen: Indices, slots: Indices, numbers: Array, valid: Array) -> Runs:
    """The runs with each row's value added to the runs of the frames that the row is in."""
    at = _append(runs, seen, slots, numbers, valid, 0)
    while at < slots.size:
        runs = _with_room(runs, int(runs.cursor[WANTED]))
        at = _append(runs, seen, slots, numbers, valid, at)
    return runs


def append_parts(runs: Runs, seen: Indices, into: Indices, parts: Indices) -> Runs:
    """The runs with each part's values added to the run it is a part of."""
    at = _append_parts(runs, seen, into, parts, 0)
    while at < parts.size:
        runs = _with_room(runs, int(runs.cursor[WANTED]))
        at = _append_parts(runs, seen, into, parts, at)
    return runs


def _with_room(runs: Runs, wanted: int) -> Runs:
    """The same runs in a pool without gaps, with as much room again and what is wanted on top."""
    size = 2 * int(runs.spans[:, ROOM].sum()) + wanted
    made = _room_for(size, runs.spans.shape[0], runs.values.dtype)
    _copy(runs, np.arange(runs.spans.shape[0]), made, 0, True)
    return made


def _room_for(size: int, n: int, dtype: np.dtype[Any]) -> Runs:
    return Runs(np.empty(size, dtype), np.empty(size, np.int64), np.zeros((n, 4), np.int64), np.zeros(2, np.int64))


def copied(runs: Runs, rows: Indices) -> Runs:
    """Some of the runs, in a pool of their own."""
    made = _room_for(int(runs.spans[rows, LENGTH].sum()), rows.size, runs.values.dtype)
    _copy(runs, rows, made, 0, False)
    return made


def kept(runs: Runs, rows: Indices) -> Runs:
    """Only some of the runs, none of them twice; the pool stays unless most of it has become useless."""
    left = Runs(runs.values, runs.counts, runs.spans[rows], runs.cursor)
    return _with_room(left, 0) if runs.values.size > 1024 + 8 * int(left.spans[:, ROOM].sum()) else left


def more_runs(runs: Runs, n: int) -> Runs:
    """The runs, and empty ones up to `n`."""
    return runs._replace(spans=np.concatenate([runs.spans, np.zeros((n - len(runs.spans), 4), np.int64)]))


def joined(runs: Runs, others: Runs) -> Runs:
    """The runs followed by others."""
    n, more = len(runs.spans), int(others.lengths.sum())
    if runs.cursor[USED] + more > runs.values.size:
        runs = _with_room(runs, more)
    runs = more_runs(runs, n + len(others.spans))
    _copy(others, np.arange(len(others.spans)), runs, n, False)
    return runs


def settle_all(runs: Runs) -> None:
    """Put all runs in order."""
    _settle_all(runs)


def as_columns(runs: Runs) -> dict[str, pa.Array]:
    """The runs as two columns of lists, one row a state."""
    settle_all(runs)
    dense = copied(runs, np.arange(len(runs.spans)))
    ends = pa.array(np.concatenate([[0], np.cumsum(dense.lengths)]))
    return {
        "values": pa.LargeListArray.from_arrays(ends, pa.array(dense.values)),
        "counts": pa.LargeListArray.from_arrays(ends, pa.array(dense.counts)),
    }


def from_columns(values: pa.ChunkedArray, counts: pa.ChunkedArray, dtype: np.dtype[Any]) -> Runs:
    """The runs of `as_columns`."""
    values, counts = values.combine_chunks(), counts.combine_chunks()
    length = np.asarray(pc.list_value_length(values)).astype(np.int64)
    check_that((length == np.asarray(pc.list_value_length(counts))).all(), "a count for each value")
    begin = np.cumsum(length) - length
    spans = np.column_stack([begin, length, length, length])
    cursor = np.array([length.sum(), 0], np.int64)
    flat, often = (np.array(lists.flatten().to_numpy(zero_copy_only=False)) for lists in (values, counts))
    check_that(flat.size == often.size and flat.dtype.kind in "if" and (often > 0).all(), "values with their counts")
    return Runs(flat.astype(dtype), often.astype(np.int64), spans, cursor)


def totals(runs: Runs) -> Indices:
    """How many values each run stands for, if runs lie one behind the other."""
    before = np.concatenate([[0], np.cumsum(runs.counts)])
    begin = runs.spans[:, BEGIN]
    counted: Indices = before[begin + runs.lengths] - before[begin]
    return counted
