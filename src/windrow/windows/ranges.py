"""From panes to windows: a window is a range of panes; both ends only advance, so it costs a few merges.

Panes are rows ordered by group and time, one per pane that has rows. A window of any kind is a range of these rows. Two
stacks combine the ranges. Panes that enter at the back are merged into one state. Panes that leave at the front come
off a stack of states, each of which covers all panes from its own up to the point where the stack was built.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.compiled import merge_state, specialised, tag_for
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.carrying import CARRIED, last_values
from windrow.arrays import Array
from windrow.errors import DataError
from windrow.windows.specs import Shape

Indices = npt.NDArray[np.int64]


class PaneKeys(NamedTuple):
    """Panes that have rows, ordered by group and number."""

    group: Indices
    number: Indices


class Ranges(NamedTuple):
    """Windows, one per row: the panes they span, and the rows of the panes that exist.

    `start` and `end` are pane numbers, `first` and `last` are rows; `end` and `last` are exclusive.
    """

    group: Indices
    start: Indices
    end: Indices
    first: Indices
    last: Indices
    complete: npt.NDArray[np.bool_]


NEVER = np.iinfo(np.int64).min
"""The end of the last window of a group that has reported none yet."""


class Progress(NamedTuple):
    """The progress of each group, in pane numbers."""

    after: Indices
    """Windows that end here or earlier have been reported."""
    past: Indices
    """Panes before this one are complete: no further row can be in them."""


def windows_over(
    panes: PaneKeys, shape: Shape, pane: int, progress: Progress, most: int, *, final: bool = False, empty: bool = False
) -> Ranges:
    """Return the due windows of all groups that contain a row, in order, and advance `progress.after`.

    A window is due when all its panes are complete. If `final`, all other windows are due as well, marked as not
    complete. With `empty`, windows without rows between a group's first and last window are included. More than
    `most` windows are an error.
    """
    begins = np.flatnonzero(np.diff(panes.group, prepend=-1)) if panes.group.size else np.empty(0, np.int64)
    arguments = (*panes, begins, *shape.in_panes(pane), shape.unit != "time", *progress, final, empty, most)
    windows = _find(*arguments, _room(0), False)
    if windows > most:
        raise DataError(
            f"one task would report more than {most:,} windows; choose a longer step for the time that the data covers"
        )
    made = _room(windows)
    _find(*arguments, made, True)
    return made


def _room(n: int) -> Ranges:
    group, start, end, first, last = (np.empty(n, np.int64) for _ in range(5))
    return Ranges(group, start, end, first, last, np.empty(n, np.bool_))


@njit(cache=True)
def _last_end(number: int, length: int, every: int, counted: bool) -> int:
    """Return the end of the last window to report, given the last pane.

    Time windows are reported as long as they contain the last pane. Of landmark and counted windows, only the first one
    that contains it is reported: later ones would contain nothing new.
    """
    return number // every * every + every if counted or length == 0 else (number + length) // every * every


@njit(cache=True)
def _find(
    group: Any, number: Any, begins: Any, length: int, every: int, emit: int, counted: bool, after: Any, past: Any,
    final: bool, empty: bool, most: int, made: Any, write: bool,
) -> int:  # fmt: skip
    """Count the windows, and write them to `made` if `write` is true."""
    n = 0
    for b in range(begins.size):
        stop = begins[b + 1] if b + 1 < begins.size else group.size
        first, low, high = begins[b], begins[b], begins[b]
        g = group[first]
        limit = _last_end(number[stop - 1], length, every, counted)
        if not final:
            limit = min(limit, past[g])
        end = number[first] // emit * emit + emit
        if after[g] != NEVER:
            following = after[g] // emit * emit + emit
            end = following if empty else max(end, following)
        if write and end <= limit:
            after[g] = limit
        while end <= limit:
            whole = -(-end // every) * every
            start = number[first] // every * every if length == 0 else whole - length
            while high < stop and number[high] < end:
                high += 1
            while low < high and number[low] < start:
                low += 1
            if high > low or empty:
                if write:
                    made.group[n], made.start[n], made.end[n] = g, start, end
                    made.first[n], made.last[n] = low, high
                    made.complete[n] = end == whole and end <= past[g] and not (counted and start < 0)
                n += 1
                if n > most:
                    return n
                end += emit
            elif high < stop:
                end = max(end + emit, number[high] // emit * emit + emit)
            else:
                break
    return n


@njit(cache=True)
def needed_from(after: Any, length: int, every: int, emit: int, needed: Any) -> None:
    """Lower `needed`, per group, to the first pane that pending windows need separately.

    For a landmark window, these are the panes from the end of its next report on; earlier ones can be merged.
    """
    for g in range(after.size):
        if after[g] == NEVER:
            needed[g] = NEVER
        else:
            end = after[g] // emit * emit + emit
            needed[g] = min(needed[g], end if length == 0 else -(-end // every) * every - length)


def combined(accumulator: Accumulator, states: States, first: Indices, last: Indices) -> States:
    """Return the state of each range of rows; from one to the next, both ends advance or a new group starts.

    >>> import pyarrow as pa, windrow as wr
    >>> accumulator = Accumulator(wr.max("x"), pa.int64())
    >>> states = accumulator.empty(4)
    >>> accumulator.accumulate(
    ...     states, np.arange(4).reshape(-1, 1), accumulator.read(pa.array([3, 9, 2, 5]))
    ... )
    >>> accumulator.finish(
    ...     combined(accumulator, states, np.array([0, 1, 2]), np.array([2, 3, 4]))
    ... ).to_pylist()
    [9, 9, 5]
    """
    results = accumulator.empty(first.size)
    results.coding = states.coding
    if states.runs is not None:
        return _merged(accumulator, states, results, first, last)
    n, width = states.numbers.shape
    work = np.empty((2 * n + 2, width), states.numbers.dtype)
    work[:n] = states.numbers
    work[n : 2 * n] = states.numbers
    owner: Any = type(accumulator.aggregate)
    zero = accumulator.empty(1).numbers[0]
    loop = specialised(_combine, owner)
    loop(
        tag_for(accumulator.aggregate, accumulator.integral),
        states.seen,
        work,
        n,
        zero,
        first,
        last,
        results.seen,
        results.numbers,
    )
    return results


def carry_into_windows(windows: Array, panes: Array, group: Indices, ranges: Ranges) -> None:
    """Give windows without values the value that is carried into them; `windows` and `panes` are numbers of states.

    It is the value carried into the first pane or, in a window without rows, the last value of the pane before it.
    """
    undecided = np.flatnonzero(windows[:, CARRIED] == 0)
    first = ranges.first[undecided]
    has_rows = first < ranges.last[undecided]
    windows[undecided[has_rows], CARRIED:] = panes[first[has_rows], CARRIED:]
    at, before = undecided[~has_rows], first[~has_rows] - 1
    preceded = before >= 0
    preceded[preceded] = group[before[preceded]] == ranges.group[at[preceded]]
    windows[at[preceded], CARRIED:] = last_values(panes[before[preceded]])


@njit(cache=True)
def _combine(tag: Any, seen: Any, work: Any, n: int, zero: Any, first: Any, last: Any, out_seen: Any, out: Any) -> None:
    """Combine ranges; `work` holds the panes, the stack of front states, the back state and the result."""
    back, result = 2 * n, 2 * n + 1
    low = middle = high = 0
    back_seen = front_seen = 0
    work[back] = zero
    for w in range(first.size):
        if first[w] >= high or first[w] < low:
            # This range shares nothing with the previous one, or a new group starts.
            low = middle = high = first[w]
            back_seen = front_seen = 0
            work[back] = zero
        for k in range(high, last[w]):
            if seen[k]:
                back_seen += seen[k]
                merge_state(tag, work, back, k)
        high = last[w]
        if first[w] > low and first[w] >= middle:
            # The front stack is used up: rebuild it from everything at the back.
            low, middle, front_seen = first[w], high, 0
            for k in range(high - 1, low - 1, -1):
                if seen[k] or not front_seen:
                    work[n + k] = work[k]
                    if front_seen:
                        merge_state(tag, work, n + k, n + k + 1)
                else:
                    work[n + k] = work[n + k + 1]
                front_seen += seen[k]
            work[back] = zero
            back_seen = 0
        while low < first[w]:
            front_seen -= seen[low]
            low += 1
        if front_seen:
            work[result] = work[n + low]
            if back_seen:
                merge_state(tag, work, result, back)
        else:
            work[result] = work[back]
        out_seen[w] = front_seen + back_seen
        out[w] = work[result]


def _merged(accumulator: Accumulator, states: States, results: States, first: Indices, last: Indices) -> States:
    """Combine states that grow: the rows of each range are copied and merged."""
    sizes = last - first
    rows = np.repeat(first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(sizes.sum())
    n = len(results)
    both = results.joined(states.take(rows))
    into = np.concatenate([np.arange(n), np.repeat(np.arange(n), sizes)])
    accumulator.merge(both, into, np.arange(n, n + rows.size))
    return both.keep(np.arange(n))
