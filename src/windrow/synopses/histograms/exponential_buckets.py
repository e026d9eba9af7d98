"""The exponential histogram: counts, sums and means of a window, from buckets that double in size with age.

Datar, Gionis, Indyk, Motwani, "Maintaining stream statistics over sliding windows"; the thesis' section 4.6.1. A value
v counts as v ones at the same time. A bucket holds a power of two of ones and the time of its newest one. When too many
buckets have one size, the two oldest of them merge into one of twice the size. A bucket leaves when its newest one
leaves, so only the oldest bucket can be partly outside the window: half of it is subtracted from the total.

With k = ceil(1 / eps), at most k + 1 buckets of size 1 and ceil(k / 2) + 1 of each other size keep the error within
eps: merging leaves k and ceil(k / 2) of them, so at least k / 2 · 2^j ones follow a bucket of size 2^j, and half of it
is at most eps of these. The thesis' cap of ceil(k / 2) + 1 for size 1 as well is too small.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_indices, check_that
from windrow.synopses.due import Due, give, is_due
from windrow.synopses.jit import horizon

TOTAL, TOP, EARLIEST, HORIZON = range(4)
"""Cursors: all ones in buckets, the level of the oldest bucket (-1: none), the first time ever, the latest time that
has left.
"""
LEVELS = 8
MOST_LEVELS = 64
LARGEST = int(np.iinfo(np.int64).max)


class Buckets(NamedTuple):
    """The buckets of a histogram: per level, whose buckets have size 2^level, a ring of runs of buckets of one time."""

    stamp: Array
    many: Array
    first: Array
    runs: Array
    buckets: Array
    caps: Array
    cursors: Array
    come: Array
    """Scratch space for the buckets that pass from one level to the next."""

    @classmethod
    def make(cls, caps: tuple[int, int], levels: int = LEVELS) -> Buckets:
        """Return an empty histogram."""
        width = max(caps) + 2
        stamp, many = np.zeros((2, levels, width), np.int64)
        first, runs, buckets = np.zeros((3, levels), np.int64)
        limits = np.iinfo(np.int64)
        cursors = np.array([0, -1, limits.max, limits.min], np.int64)
        come = np.zeros((4, 2 * width), np.int64)
        return cls(stamp, many, first, runs, buckets, np.array(caps, np.int64), cursors, come)

    def grown(self) -> Buckets:
        """Return the same buckets with room for twice as many levels."""
        grown = Buckets.make((int(self.caps[0]), int(self.caps[1])), 2 * self.first.size)
        for old, new in zip(self[:5], grown[:5], strict=True):
            new[: old.shape[0]] = old
        return grown._replace(cursors=self.cursors)


def check_buckets(saved: Buckets, caps: Array) -> None:
    """Raise if saved buckets are outside their rings, or if there are too many of a size."""
    levels = saved.first.size
    check_that(levels in (8, 16, 32, MOST_LEVELS), f"from {LEVELS} to {MOST_LEVELS} levels, got {levels}")
    check_that((saved.caps == caps).all(), f"at most {caps} buckets of a size, got {saved.caps}")
    for name, array in Buckets.make((int(caps[0]), int(caps[1])), levels)._asdict().items():
        shape = getattr(saved, name).shape
        check_that(shape == array.shape, f"array {name!r} of {array.shape}, got {shape}")
    width, places = saved.stamp.shape[1], np.arange(saved.stamp.shape[1])
    check_indices("the first runs of levels", saved.first, width)
    used = (places - saved.first[:, None]) % width < saved.runs[:, None]
    many, most = np.where(used, saved.many, 0), np.where(np.arange(levels), caps[1], caps[0])
    check_that((saved.runs >= 0).all() and (saved.runs <= most).all(), "runs within the limits of their sizes")
    check_that((many[used] >= 1).all() and (many <= most[:, None]).all(), "buckets in each run")
    check_that(
        (saved.buckets == many.sum(axis=1)).all() and (saved.buckets <= most).all(), "as many buckets as in runs"
    )
    total = sum(number << level for level, number in enumerate(saved.buckets.tolist()))
    check_that(saved.cursors[TOTAL] == total < 1 << min(levels, 63), f"{total} ones, got {saved.cursors[TOTAL]}")
    top = int(np.flatnonzero(saved.runs).max(initial=-1))
    check_that(saved.cursors[TOP] == top, f"the oldest bucket at level {top}, got {saved.cursors[TOP]}")


def caps_for(eps: float) -> tuple[int, int]:
    """Return how many buckets of size 1, and of each other size, keep the error of a count within eps.

    >>> caps_for(0.1)
    (11, 6)
    """
    k = math.ceil(1 / eps)
    return k + 1, math.ceil(k / 2) + 1


@njit(cache=True, **INLINED)
def has_room(buckets: Buckets, amount: int) -> bool:
    """Return whether there are enough levels for `amount` more ones."""
    levels = buckets.first.size
    most = LARGEST if levels > 62 else (np.int64(1) << levels) - 1
    return bool(buckets.cursors[TOTAL] <= most - amount)


@njit(cache=True, **INLINED)
def insert(buckets: Buckets, stamp: int, amount: int) -> None:
    """Add `amount` ones of one time."""
    cursors = buckets.cursors
    cursors[EARLIEST] = min(cursors[EARLIEST], stamp)
    cursors[TOTAL] += amount
    stamps, many = buckets.come[0], buckets.come[1]
    next_stamps, next_many = buckets.come[2], buckets.come[3]
    stamps[0], many[0] = stamp, amount
    coming, level = 1, 0
    while coming:
        leaving = 0
        for j in range(coming):
            _append(buckets, level, stamps[j], many[j])
            excess = buckets.buckets[level] - buckets.caps[min(level, 1)]
            if excess > 0:
                leaving = _merge_oldest(buckets, level, (excess + 1) // 2, next_stamps, next_many, leaving)
        stamps, next_stamps = next_stamps, stamps
        many, next_many = next_many, many
        coming, level = leaving, level + 1


@njit(cache=True, **INLINED)
def _wrapped(at: int, width: int) -> int:
    return at - width if at >= width else at


@njit(cache=True, **INLINED)
def _append(buckets: Buckets, level: int, stamp: int, many: int) -> None:
    """Append buckets after the newest of a level."""
    width = buckets.stamp.shape[1]
    runs, first = buckets.runs[level], buckets.first[level]
    last = _wrapped(first + runs - 1, width)
    if runs and buckets.stamp[level, last] == stamp:
        buckets.many[level, last] += many
    else:
        last = _wrapped(first + runs, width)
        buckets.stamp[level, last], buckets.many[level, last] = stamp, many
        buckets.runs[level] += 1
    buckets.buckets[level] += many
    buckets.cursors[TOP] = max(buckets.cursors[TOP], level)


@njit(cache=True, **INLINED)
def _merge_oldest(buckets: Buckets, level: int, pairs: int, stamps: Array, many: Array, leaving: int) -> int:
    """Merge pairs of the oldest buckets of a level, and pass the results to the level above."""
    while pairs:
        oldest = buckets.first[level]
        alike = min(buckets.many[level, oldest] // 2, pairs)
        if alike:
            stamp = buckets.stamp[level, oldest]
            _drop_oldest(buckets, level, 2 * alike)
        else:
            alike = 1
            _drop_oldest(buckets, level, 1)
            stamp = buckets.stamp[level, buckets.first[level]]
            _drop_oldest(buckets, level, 1)
        pairs -= alike
        if leaving and stamps[leaving - 1] == stamp:
            many[leaving - 1] += alike
        else:
            stamps[leaving], many[leaving] = stamp, alike
            leaving += 1
    return leaving


@njit(cache=True, **INLINED)
def _drop_oldest(buckets: Buckets, level: int, many: int) -> None:
    """Remove buckets from the oldest run of a level."""
    oldest = buckets.first[level]
    buckets.buckets[level] -= many
    buckets.many[level, oldest] -= many
    if buckets.many[level, oldest] == 0:
        buckets.first[level] = _wrapped(oldest + 1, buckets.stamp.shape[1])
        buckets.runs[level] -= 1


@njit(cache=True, **INLINED)
def expire(buckets: Buckets, out: int) -> None:
    """Drop the buckets that are entirely outside the window."""
    cursors = buckets.cursors
    cursors[HORIZON] = out
    while cursors[TOP] >= 0:
        top = cursors[TOP]
        if buckets.runs[top] == 0:
            cursors[TOP] -= 1
            continue
        oldest = buckets.first[top]
        if buckets.stamp[top, oldest] > out:
            return
        many = buckets.many[top, oldest]
        cursors[TOTAL] -= many << top
        _drop_oldest(buckets, top, many)


@njit(cache=True, **INLINED)
def estimate(buckets: Buckets) -> float:
    """Return the estimated number of ones in the window: the oldest bucket counts half, unless known to be whole."""
    total, top = buckets.cursors[TOTAL], buckets.cursors[TOP]
    if top < 1 or buckets.cursors[EARLIEST] > buckets.cursors[HORIZON]:
        return float(total)
    return float(total - (np.int64(1) << top) / 2.0)


SEEN, LATEST = range(2)
"""The clock: the number of values so far, and the time of the newest."""
COUNT, SUM, MEAN = range(3)


@njit(cache=True, **INLINED)
def answer(counts: Buckets, sums: Buckets, clock: Array, by_time: bool, length: int, what: int) -> float:
    """Return the count, sum or mean of the window."""
    if what == COUNT:
        return float(estimate(counts))
    if clock[SEEN] == 0 or clock[LATEST] <= sums.cursors[HORIZON]:
        return np.nan
    if what == SUM:
        return float(estimate(sums))
    return float(estimate(sums) / (estimate(counts) if by_time else min(clock[SEEN], length)))


@njit(cache=True, **WITHOUT_COUNTING)
def roll(
    counts: Buckets,
    sums: Buckets,
    clock: Array,
    by_time: bool,
    length: int,
    what: int,
    on: Array,
    amounts: Array,
    x: Array,
    due: Due,
    at: int,
) -> int:
    """Add values from `at` on while there are levels, and give the answers that are due; return the next position."""
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if due.moments.size:
                out = horizon(due.moments[due.answered[0]], length)
                expire(counts, out)
                expire(sums, out)
            give(due, answer(counts, sums, clock, by_time, length, what), 0)
        if i == on.size:
            return i
        stamp = on[i] if by_time else clock[SEEN] + 1
        expire(counts, horizon(stamp, length))
        expire(sums, horizon(stamp, length))
        if not (has_room(counts, amounts[i]) and has_room(sums, x[i])):
            return i
        clock[SEEN] += 1
        clock[LATEST] = stamp
        if amounts[i]:
            insert(counts, stamp, amounts[i])
        if x[i]:
            insert(sums, stamp, x[i])
    return int(on.size)
