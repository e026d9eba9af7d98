"""What the kernels of all samples share: the window that the sample is of, its size, and the estimates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.synopses.due import Due, give
from windrow.synopses.histograms.exponential_buckets import Buckets, estimate, expire, has_room, insert
from windrow.synopses.jit import INLINED, horizon
from windrow.synopses.samples.random import Random
from windrow.synopses.samples.slots import SIZE, Slots, moments, quantile

COUNT, SUM, MEAN, VARIANCE, STDDEV, QUANTILE = range(6)
SEEN, NEWEST = range(2)
"""The clock: how many elements there were, and the moment of the newest, or the one that time went on to since."""


class Common(NamedTuple):
    """The window, the items of the sample, and what is to be told of it."""

    by_time: bool
    length: int
    what: int
    phi: float
    clock: Array
    random: Random
    counts: Buckets
    """The number of elements in a window of time."""
    slots: Slots


@njit(cache=True, **INLINED)
def can_tick(common: Common) -> bool:
    """Whether there is room to count one more element."""
    return not common.by_time or has_room(common.counts, 1)


@njit(cache=True, **INLINED)
def tick(common: Common, on: int) -> int:
    """One more element: its moment, which is its `on` in a window of time, and its number in one of a count."""
    common.clock[SEEN] += 1
    moment = common.clock[SEEN]
    if common.by_time:
        moment = on
        expire(common.counts, horizon(moment, common.length))
        insert(common.counts, moment, 1)
    common.clock[NEWEST] = moment
    return int(moment)


@njit(cache=True, **INLINED)
def go_on(common: Common, now: int) -> None:
    """Let time go on without an element."""
    common.clock[NEWEST] = now
    expire(common.counts, horizon(now, common.length))


@njit(cache=True, **INLINED)
def window_size(common: Common) -> float:
    """How many elements are in the window: known if it is one of a count, else estimated."""
    if common.by_time:
        return float(estimate(common.counts))
    return float(min(common.clock[SEEN], common.length))


@njit(cache=True, **INLINED)
def answer(common: Common) -> float:
    """What the sample tells of the window; not a number if it has too few items."""
    what, items = common.what, common.slots.cursors[SIZE]
    if what == COUNT:
        return float(window_size(common))
    if items == 0:
        return np.nan
    if what == QUANTILE:
        return float(quantile(common.slots, common.phi))
    n, mean, spread = moments(common.slots)
    if what == MEAN:
        return float(mean)
    if what == SUM:
        return float(mean * window_size(common))
    if n < 2.0 or window_size(common) < 2.0:  # slots with replacement may all hold the one element that there is
        return np.nan
    variance = spread / (n - 1.0)
    return float(np.sqrt(variance)) if what == STDDEV else float(variance)


@njit(cache=True, **INLINED)
def lags(common: Common, due: Due) -> bool:
    """Whether time must advance before the answer that is due."""
    return bool(due.moments.size and due.moments[due.given[0]] != common.clock[NEWEST])


@njit(cache=True, **INLINED)
def give_answer(common: Common, due: Due) -> None:
    """Write down what the sample tells as the answer that is due."""
    told = answer(common)
    give(due, told, min(common.slots.cursors[SIZE], np.int64(window_size(common))))
