"""The variance histogram: the variance of a window, from buckets whose spread is small compared with all that follows.

Babcock, Datar, Motwani, O'Callaghan, "Maintaining variance and k-medians over data stream windows"; the thesis' section
4.6.2. A bucket holds the count n, the mean μ and the sum of squared distances V of consecutive values, and the time of
the newest. B*(i) is the union of all buckets after B(i). Two neighbours merge if k · V(i, i-1) <= V*(i-1) with k = 9 /
eps². Only the oldest bucket B(m) can have lost values. It contributes the number ñ of its values still in the window,
its mean, and half of its V:

    V_m / 2 + V*_m + ñ · n* / (ñ + n*) · (μ_m - μ*_m)²

Over the last R values, ñ = R - n* is known. The third term is then off by at most 2 sqrt(V_m · V) + V_m, the first by
V_m / 2, and V_m <= eps² / 9 · V makes that less than eps · V.

Over time, ñ is unknown; it is estimated as half of n_m, as the thesis proposes without a proof. Here two more
conditions for a merge, n <= a · n* and n · (μ - μ*)² <= a · V* with a = eps / 5, bound the error there too. Later
values can move μ* only by some s with n* · s² at most what they add to V*, so both together keep n_m · (μ_m - μ*)² <=
2a · V* until the bucket leaves. With V_m <= V* / k and k at least 30 / eps, all terms that depend on the rest of the
bucket stay below 0.7 eps · V, and the number of values is right within 0.1 eps.

Nothing is ever subtracted. B*(m) is the union of a tail, one per bucket and computed once for all older buckets, and of
the values since. Tails are recomputed when the older buckets are used up or merged, which is rare enough to cost
little.

Infinities and NaN are in no bucket, since a bucket with one could never merge. While one is in the window, the variance
is NaN.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.due import Due, give, is_due
from windrow.synopses.jit import horizon

Moments: TypeAlias = tuple[float, float, float]

SEEN, FRONT, MIDDLE, END, MADE, QUOTA, EARLIEST, HORIZON, STRANGE, STRANGE_BEFORE = range(10)
"""Cursors: values so far; the oldest bucket, the end of the tails, the end of the buckets; buckets made since the last
merge, and how many may be; the first time ever, and the latest that has left; the times of the last two values that are
infinite or NaN.
"""
ROOM = 64
LEAST_QUOTA = 32


class VarianceBuckets(NamedTuple):
    """Buckets from the oldest to the newest, and the moments of all that follows the older ones."""

    stamp: Array
    moments: Array
    """The count, mean and sum of squared distances of each bucket."""
    tail: Array
    """The moments of each bucket before MIDDLE, combined with those that follow it up to MIDDLE."""
    fresh: Array
    """The moments of all buckets from MIDDLE on, which always include the newest."""
    cursors: Array

    @classmethod
    def make(cls, room: int = ROOM) -> VarianceBuckets:
        """Return an empty histogram."""
        limits = np.iinfo(np.int64)
        cursors = np.array([0, 0, 0, 0, 0, LEAST_QUOTA, limits.max, *[limits.min] * 3], np.int64)
        return cls(np.zeros(room, np.int64), np.zeros((room, 3)), np.zeros((room, 3)), np.zeros((1, 3)), cursors)

    def grown(self) -> VarianceBuckets:
        """Return the same buckets with twice the room."""
        grown = VarianceBuckets.make(2 * self.stamp.size)
        for old, new in zip(self[:3], grown[:3], strict=True):
            new[: old.shape[0]] = old
        return grown._replace(fresh=self.fresh, cursors=self.cursors)


def check_buckets(saved: VarianceBuckets) -> None:
    """Raise if saved buckets are outside their arrays."""
    room = saved.stamp.size
    check_that(room >= ROOM, f"room for at least {ROOM} buckets, got {room}")
    for name, shape in (("moments", (room, 3)), ("tail", (room, 3)), ("fresh", (1, 3))):
        size = getattr(saved, name).shape
        check_that(size == shape, f"array {name!r} of {shape}, got {size}")
    front, middle, end = (int(saved.cursors[k]) for k in (FRONT, MIDDLE, END))
    check_that(0 <= front <= end <= room and 0 <= middle <= end, f"places up to {room}, got {front}, {middle}, {end}")


class Rules(NamedTuple):
    """When buckets may merge, how often that is attempted, and the window."""

    by_time: bool
    length: int
    k: float
    share: float
    merge_after: int
    """The number of new buckets after which merging is attempted; 0: as many as the last attempt left."""

    @classmethod
    def of(cls, eps: float, by_time: bool, length: int, merge_after: int) -> Rules:
        """Return the rules that keep the error within eps."""
        return cls(by_time, length, max(9 / eps**2, 30 / eps) if by_time else 9 / eps**2, eps / 5, merge_after)


@njit(cache=True, **INLINED)
def _row(array: Array, i: int) -> Moments:
    return array[i, 0], array[i, 1], array[i, 2]


@njit(cache=True, **INLINED)
def _set(array: Array, i: int, moments: Moments) -> None:
    array[i, 0], array[i, 1], array[i, 2] = moments


@njit(cache=True, **INLINED)
def combine(a: Moments, b: Moments) -> Moments:
    """Return the moments of the union of two sets of values."""
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    n = a[0] + b[0]
    delta = b[1] - a[1]
    return n, a[1] + delta * (b[0] / n), a[2] + b[2] + delta * delta * (a[0] * b[0] / n)


@njit(cache=True, **INLINED)
def _may_merge(rules: Rules, joined: Moments, after: Moments) -> bool:
    if not (rules.k * joined[2] <= after[2]):  # also false if either is NaN
        return False
    if not rules.by_time:
        return True
    apart = joined[0] * (joined[1] - after[1]) ** 2
    return joined[0] <= rules.share * after[0] and apart <= rules.share * after[2]


@njit(cache=True, **WITHOUT_COUNTING)
def _merge(b: VarianceBuckets, rules: Rules) -> None:
    """Merge neighbours, from the newest to the oldest, until no two may merge."""
    front, end = b.cursors[FRONT], b.cursors[END]
    write = end - 2
    if end - front > 2:
        after = _row(b.moments, end - 1)
        current, stamp = _row(b.moments, write), b.stamp[write]
        for i in range(end - 3, front - 1, -1):
            joined = combine(_row(b.moments, i), current)
            if _may_merge(rules, joined, after):
                current = joined
                continue
            _set(b.moments, write, current)
            b.stamp[write] = stamp
            write -= 1
            after = combine(after, current)
            current, stamp = _row(b.moments, i), b.stamp[i]
        _set(b.moments, write, current)
        b.stamp[write] = stamp
        b.cursors[FRONT] = write
        _retail(b)
    b.cursors[MADE] = 0
    b.cursors[QUOTA] = rules.merge_after or max(LEAST_QUOTA, b.cursors[END] - b.cursors[FRONT])


@njit(cache=True, **WITHOUT_COUNTING)
def _retail(b: VarianceBuckets) -> None:
    """Recompute all tails."""
    front, newest = b.cursors[FRONT], b.cursors[END] - 1
    b.cursors[MIDDLE] = newest
    _set(b.fresh, 0, _row(b.moments, newest))
    tail = (0.0, 0.0, 0.0)
    for i in range(newest - 1, front - 1, -1):
        tail = combine(_row(b.moments, i), tail)
        _set(b.tail, i, tail)


@njit(cache=True, **INLINED)
def _expire(b: VarianceBuckets, out: int) -> None:
    """Drop the buckets that are entirely outside the window."""
    cursors = b.cursors
    cursors[HORIZON] = out
    while cursors[FRONT] < cursors[END] and b.stamp[cursors[FRONT]] <= out:
        cursors[FRONT] += 1
    if cursors[FRONT] >= cursors[MIDDLE] and cursors[END] - cursors[FRONT] > 1:
        _retail(b)


@njit(cache=True, **INLINED)
def _has_room(b: VarianceBuckets) -> bool:
    """Return whether there is room for one more bucket, moving the buckets to the start of their arrays if needed."""
    front, end, room = b.cursors[FRONT], b.cursors[END], b.stamp.size
    if end < room:
        return True
    if 2 * front < room:
        return False
    for i in range(front, end):
        b.stamp[i - front] = b.stamp[i]
        _set(b.moments, i - front, _row(b.moments, i))
        _set(b.tail, i - front, _row(b.tail, i))
    b.cursors[FRONT] = 0
    b.cursors[MIDDLE] = max(0, b.cursors[MIDDLE] - front)
    b.cursors[END] = end - front
    return True


@njit(cache=True, **INLINED)
def _take(b: VarianceBuckets, rules: Rules, stamp: int, x: float) -> None:
    """Add one value."""
    cursors = b.cursors
    _expire(b, horizon(stamp, rules.length))
    if not np.isfinite(x):
        cursors[STRANGE_BEFORE] = cursors[STRANGE]
        cursors[STRANGE] = stamp
        return
    cursors[EARLIEST] = min(cursors[EARLIEST], stamp)
    newest = cursors[END] - 1
    one = (1.0, x, 0.0)
    if newest < cursors[FRONT]:
        cursors[MIDDLE] = cursors[END]
        _set(b.fresh, 0, (0.0, 0.0, 0.0))
    elif not rules.by_time and b.moments[newest, 1] == x and b.moments[newest, 2] == 0.0:
        b.moments[newest, 0] += 1.0
        b.stamp[newest] = stamp
        _add_fresh(b, one)
        return
    newest = cursors[END]
    cursors[END] += 1
    b.stamp[newest] = stamp
    _set(b.moments, newest, one)
    _add_fresh(b, one)
    if cursors[FRONT] >= cursors[MIDDLE] and newest > cursors[FRONT]:
        _retail(b)
    cursors[MADE] += 1
    if cursors[MADE] >= cursors[QUOTA]:
        _merge(b, rules)


@njit(cache=True, **INLINED)
def _add_fresh(b: VarianceBuckets, one: Moments) -> None:
    _set(b.fresh, 0, combine(_row(b.fresh, 0), one))


@njit(cache=True, **INLINED)
def estimate(b: VarianceBuckets, rules: Rules) -> tuple[float, float]:
    """Return the number of values in the window and the sum of their squared distances from their mean."""
    cursors = b.cursors
    front, end = cursors[FRONT], cursors[END]
    if front == end:
        return 0.0, 0.0
    n, mean, spread = _row(b.moments, front)
    after = (0.0, 0.0, 0.0)
    if front + 1 < end:
        after = _row(b.fresh, 0)
        if front + 1 < cursors[MIDDLE]:
            after = combine(_row(b.tail, front + 1), after)
    left = n
    if cursors[EARLIEST] <= cursors[HORIZON] and n > 1.0:
        left = n / 2.0 if rules.by_time else min(n, rules.length - after[0])
    whole = combine((left, mean, spread if left == n else spread / 2.0), after)
    return whole[0], whole[2]


@njit(cache=True, **INLINED)
def _strange(b: VarianceBuckets) -> int:
    """Return how many values in the window are infinite or NaN: 0, 1, or 2 for more than one."""
    out = b.cursors[HORIZON]
    return int(b.cursors[STRANGE] > out) + int(b.cursors[STRANGE_BEFORE] > out)


@njit(cache=True, **INLINED)
def answer(b: VarianceBuckets, rules: Rules, root: bool) -> float:
    """Return the variance or its square root; NaN for fewer than two values."""
    n, spread = estimate(b, rules)
    if n < 2.0 or _strange(b):
        return np.nan
    variance = spread / (n - 1.0)
    return float(np.sqrt(variance)) if root else variance


@njit(cache=True, **WITHOUT_COUNTING)
def roll(b: VarianceBuckets, rules: Rules, root: bool, on: Array, x: Array, due: Due, at: int) -> int:
    """Add values from `at` on while there is room, and give the answers that are due; return the next position."""
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if due.moments.size:
                _expire(b, horizon(due.moments[due.answered[0]], rules.length))
            give(due, answer(b, rules, root), int(estimate(b, rules)[0]) + _strange(b))
        if i == on.size or not _has_room(b):
            return i
        b.cursors[SEEN] += 1
        _take(b, rules, on[i] if rules.by_time else b.cursors[SEEN], x[i])
    return int(on.size)
