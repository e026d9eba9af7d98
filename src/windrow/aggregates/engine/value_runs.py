"""States that grow: the values of many frames, each with its count, in one pool of flat arrays.

The values of a frame are a *run*, a stretch of the pool with spare room at its end. The front of a run is sorted and
distinct; new values are appended behind it. When the run is full, the appended values are sorted into the front. Only
if that frees little room does the run move to a place twice as large at the end of the pool. A value therefore costs
its share of a comparison sort, and a run takes space for its distinct values only.

If ranks may be off by a share `eps` of all values, the front is a summary of Greenwald and Khanna instead: a value
represents `counts` values up to it, whose ranks are known within `doubts`. Values that are sorted in or merged are
compressed until counts plus doubts reach `eps` times the number of values. The first value whose counts add up to a
rank therefore has that rank within `eps`, whatever the batches and merges were. Up to 2 / eps values are all kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from windrow.aggregates.engine.gk_summary import Summary, compress, merge_summaries
from windrow.aggregates.values import is_same, precedes
from windrow.arrays import Array
from windrow.state.checks import check_that

Indices = npt.NDArray[np.int64]

BEGIN, SORTED, LENGTH, ROOM = 0, 1, 2, 3
"""The columns of `spans`: where a run begins, the length of its sorted part, its length, and its room."""
USED, LACKING = 0, 1
"""The places of `cursor`: the used part of the pool, and the additional room for which a kernel stopped."""
FEWEST = 8
"""The room of a new run."""
TOO_MANY = -1
"""The value of `LACKING` if a run has reached its limit."""


class ValueRuns(NamedTuple):
    """The pool, and the place of each state's run in it."""

    values: Array
    counts: Indices
    doubts: Indices
    """By how much the rank of each value may exceed its count; empty if all values are kept."""
    spans: Indices
    cursor: Indices
    eps: float
    """The share of all values by which a rank may be off."""
    longest: int
    """The largest number of entries in a run."""

    @property
    def lengths(self) -> Indices:
        """The number of entries in each run."""
        return self.spans[:, LENGTH]


def no_runs(n: int, dtype: np.dtype[Any], eps: float = 0.0, longest: int = 2**62) -> ValueRuns:
    """Return the runs of `n` states without values."""
    return _room_for(0, n, dtype, eps, longest)


# Kernels.


@njit(cache=True)
def _in_order(values: Array, counts: Indices) -> tuple[Array, Indices]:
    """Sort values with their counts; most often all counts are 1."""
    if (counts == 1).all():
        return np.sort(values), counts.copy()
    order = np.argsort(values)
    return values[order], counts[order]


@njit(cache=True)
def settle(runs: ValueRuns, k: int) -> None:
    """Sort run `k` and combine equal values."""
    settled, length = runs.spans[k, SORTED], runs.spans[k, LENGTH]
    if settled == length:
        return
    begin = runs.spans[k, BEGIN]
    if runs.doubts.size:
        fresh = np.sort(runs.values[begin + settled : begin + length])
        _merge_in(runs, k, Summary(fresh, np.ones(fresh.size, np.int64), np.zeros(fresh.size, np.int64)))
        return
    values, counts = runs.values[begin : begin + length], runs.counts[begin : begin + length]
    fresh, fresh_counts = _in_order(values[settled:], counts[settled:])
    i, j = settled - 1, fresh.size - 1
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
def _merge_in(runs: ValueRuns, k: int, other: Summary) -> None:
    """Merge a summary into the front of run `k`, which has room for it, and compress it as far as `eps` allows."""
    spans = runs.spans
    begin, settled = spans[k, BEGIN], spans[k, SORTED]
    room = settled + other.value.size
    front = Summary(
        runs.values[begin : begin + settled].copy(),
        runs.counts[begin : begin + settled].copy(),
        runs.doubts[begin : begin + settled].copy(),
    )
    whole = Summary(
        runs.values[begin : begin + room], runs.counts[begin : begin + room], runs.doubts[begin : begin + room]
    )
    merge_summaries(front, settled, other, other.value.size, whole)
    size = compress(whole, room, whole.g.sum(), runs.eps, np.empty(room, np.int8))
    spans[k, SORTED] = spans[k, LENGTH] = size


@njit(cache=True)
def _make_room(runs: ValueRuns, k: int, more: int) -> bool:
    """Make room in run `k` for more entries; if the pool is too small, set `LACKING` and return False."""
    spans, cursor = runs.spans, runs.cursor
    if spans[k, LENGTH] + more <= spans[k, ROOM]:
        return True
    settle(runs, k)
    length = spans[k, LENGTH]
    if length + more <= spans[k, ROOM] and 2 * length <= spans[k, ROOM]:
        return True
    if length > runs.longest:
        cursor[LACKING] = TOO_MANY
        return False
    room = max(FEWEST, 2 * (length + more))
    if cursor[USED] + room > runs.values.size:
        cursor[LACKING] = room
        return False
    begin, to = spans[k, BEGIN], cursor[USED]
    runs.values[to : to + length] = runs.values[begin : begin + length]
    runs.counts[to : to + length] = runs.counts[begin : begin + length]
    if runs.doubts.size:
        runs.doubts[to : to + length] = runs.doubts[begin : begin + length]
    spans[k, BEGIN], spans[k, ROOM] = to, room
    cursor[USED] += room
    return True


@njit(cache=True)
def _append(runs: ValueRuns, seen: Indices, slots: Indices, numbers: Array, valid: Array, at: int) -> int:
    """Add values from place `at` of `slots` on until the pool is full, and return the place to resume from."""
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
def _append_parts(runs: ValueRuns, seen: Indices, into: Indices, parts: Indices, at: int) -> int:
    """Add the runs of parts to the runs they belong to, from `parts[at]` on, until the pool is full."""
    spans = runs.spans
    for p in range(at, parts.size):
        part = parts[p]
        k = into[part]
        settle(runs, part)
        length = spans[part, LENGTH]
        if not _make_room(runs, k, length):
            return p
        begin, to = spans[part, BEGIN], spans[k, BEGIN] + spans[k, LENGTH]
        end = begin + length
        # Values that represent only themselves are appended behind the front, as if they arrived one by one.
        if runs.doubts.size and not ((runs.counts[begin:end] == 1).all() and (runs.doubts[begin:end] == 0).all()):
            settle(runs, k)
            _merge_in(runs, k, Summary(runs.values[begin:end], runs.counts[begin:end], runs.doubts[begin:end]))
        else:
            runs.values[to : to + length] = runs.values[begin:end]
            runs.counts[to : to + length] = runs.counts[begin:end]
            spans[k, LENGTH] += length
        seen[k] += seen[part]
    return parts.size


@njit(cache=True)
def _settle_all(runs: ValueRuns) -> None:
    for k in range(runs.spans.shape[0]):
        settle(runs, k)


@njit(cache=True)
def _copy(runs: ValueRuns, rows: Indices, to: ValueRuns, at: int, keep_room: bool) -> None:
    """Copy some runs to the end of another pool, which has the room, as its runs from `at` on."""
    for j in range(rows.size):
        begin, length = runs.spans[rows[j], BEGIN], runs.spans[rows[j], LENGTH]
        place = to.cursor[USED]
        to.values[place : place + length] = runs.values[begin : begin + length]
        to.counts[place : place + length] = runs.counts[begin : begin + length]
        if runs.doubts.size:
            to.doubts[place : place + length] = runs.doubts[begin : begin + length]
        to.spans[at + j] = runs.spans[rows[j]]
        to.spans[at + j, BEGIN] = place
        if not keep_room:
            to.spans[at + j, ROOM] = length
        to.cursor[USED] += to.spans[at + j, ROOM]


class TooManyValuesError(Exception):
    """A state that would have more values than its limit."""

    def __init__(self, state: int) -> None:
        super().__init__(state)
        self.state = state


# Operations of States on runs. Functions that return runs may have consumed the runs they were given.


def append(runs: ValueRuns, seen: Indices, slots: Indices, numbers: Array, valid: Array) -> ValueRuns:
    """Add each row's value to the runs of the frames that contain the row, and return the runs."""
    at = _append(runs, seen, slots, numbers, valid, 0)
    while at < slots.size:
        if runs.cursor[LACKING] == TOO_MANY:
            raise TooManyValuesError(int(slots.reshape(-1)[at]))
        runs = _with_room(runs, int(runs.cursor[LACKING]))
        at = _append(runs, seen, slots, numbers, valid, at)
    return runs


def append_parts(runs: ValueRuns, seen: Indices, into: Indices, parts: Indices) -> ValueRuns:
    """Add each part's values to the run it belongs to, and return the runs."""
    at = _append_parts(runs, seen, into, parts, 0)
    while at < parts.size:
        if runs.cursor[LACKING] == TOO_MANY:
            raise TooManyValuesError(int(into[parts[at]]))
        runs = _with_room(runs, int(runs.cursor[LACKING]))
        at = _append_parts(runs, seen, into, parts, at)
    return runs


def _with_room(runs: ValueRuns, lacking: int) -> ValueRuns:
    """Return the same runs in a pool without gaps, with twice the room plus `lacking`."""
    size = 2 * int(runs.spans[:, ROOM].sum()) + lacking
    made = _like(runs, size, runs.spans.shape[0])
    _copy(runs, np.arange(runs.spans.shape[0]), made, 0, True)
    return made


def _room_for(size: int, n: int, dtype: np.dtype[Any], eps: float, longest: int) -> ValueRuns:
    counts, doubts = np.empty(size, np.int64), np.empty(size if eps else 0, np.int64)
    return ValueRuns(
        np.empty(size, dtype), counts, doubts, np.zeros((n, 4), np.int64), np.zeros(2, np.int64), eps, longest
    )


def _like(runs: ValueRuns, size: int, n: int) -> ValueRuns:
    return _room_for(size, n, runs.values.dtype, runs.eps, runs.longest)


def copied(runs: ValueRuns, rows: Indices) -> ValueRuns:
    """Return a copy of some of the runs, in a pool of their own."""
    made = _like(runs, int(runs.spans[rows, LENGTH].sum()), rows.size)
    _copy(runs, rows, made, 0, False)
    return made


def chosen(runs: ValueRuns, rows: Indices) -> ValueRuns:
    """Return the given runs, which must be distinct; the pool is reused unless most of it has become unused."""
    left = runs._replace(spans=runs.spans[rows])
    return _with_room(left, 0) if runs.values.size > 1024 + 8 * int(left.spans[:, ROOM].sum()) else left


def more_runs(runs: ValueRuns, n: int) -> ValueRuns:
    """Return the runs, extended by empty ones to `n`."""
    return runs._replace(spans=np.concatenate([runs.spans, np.zeros((n - len(runs.spans), 4), np.int64)]))


def joined(runs: ValueRuns, others: ValueRuns) -> ValueRuns:
    """Return the runs followed by others."""
    n, more = len(runs.spans), int(others.lengths.sum())
    if runs.cursor[USED] + more > runs.values.size:
        runs = _with_room(runs, more)
    runs = more_runs(runs, n + len(others.spans))
    _copy(others, np.arange(len(others.spans)), runs, n, False)
    return runs


def settle_all(runs: ValueRuns) -> None:
    """Sort all runs."""
    _settle_all(runs)


def check_lengths(runs: ValueRuns) -> None:
    """Sort all runs, and raise if one is too long."""
    settle_all(runs)
    if runs.lengths.max(initial=0) > runs.longest:
        raise TooManyValuesError(int(runs.lengths.argmax()))


def as_columns(runs: ValueRuns) -> dict[str, pa.Array]:
    """Return the runs as two columns of lists, or three with doubts, one row per state."""
    settle_all(runs)
    dense = copied(runs, np.arange(len(runs.spans)))
    ends = pa.array(np.concatenate([[0], np.cumsum(dense.lengths)]))
    names = ("values", "counts", "doubts") if runs.eps else ("values", "counts")
    return {name: pa.LargeListArray.from_arrays(ends, pa.array(getattr(dense, name))) for name in names}


def from_columns(columns: Mapping[str, pa.ChunkedArray], like: ValueRuns) -> ValueRuns:
    """Read runs that `as_columns` wrote, of the same kind as `like`."""
    lists = {name: column.combine_chunks() for name, column in columns.items()}
    lengths = [np.asarray(pc.list_value_length(column)).astype(np.int64) for column in lists.values()]
    length = lengths[0]
    check_that(all((length == other).all() for other in lengths), "a count for each value")
    flat = {name: column.flatten().to_numpy(zero_copy_only=False) for name, column in lists.items()}
    fine = all(part.size == length.sum() and part.dtype.kind in "if" for part in flat.values())
    check_that(fine and (flat["counts"] > 0).all(), "values with their counts")
    check_that((flat.get("doubts", length) >= 0).all(), "no doubt below 0")
    made = _like(like, int(length.sum()), length.size)
    for name, part in flat.items():
        getattr(made, name)[:] = part
    made.spans[:] = np.column_stack([np.cumsum(length) - length, length, length, length])
    made.cursor[USED] = length.sum()
    return made


def totals(runs: ValueRuns) -> Indices:
    """Return the number of values that each run represents; runs must be contiguous."""
    before = np.concatenate([[0], np.cumsum(runs.counts)])
    begin = runs.spans[:, BEGIN]
    counted: Indices = before[begin + runs.lengths] - before[begin]
    return counted
