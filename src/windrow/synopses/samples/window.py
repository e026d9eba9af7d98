"""The kernels' shared part: the window of a sample, its size, and the estimates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED
from windrow.synopses.due import Due, give
from windrow.synopses.histograms.exponential_buckets import Buckets, estimate, expire, has_room, insert
from windrow.synopses.jit import horizon
from windrow.synopses.samples.random import Random
from windrow.synopses.samples.slots import SIZE, Slots, moments, quantile

COUNT, SUM, MEAN, VARIANCE, STDDEV, QUANTILE = range(6)
SEEN, NEWEST = range(2)
"""The clock: the number of values so far, and the time of the newest, or the time advanced to since."""


class Common(NamedTuple):
    """The window, the items of the sample, and the aggregate to estimate."""

    by_time: bool
    length: int
    what: int
    phi: float
    clock: Array
    random: Random
    counts: Buckets
    """The number of values in a time window."""
    slots: Slots


@njit(cache=True, **INLINED)
def can_tick(common: Common) -> bool:
    """Return whether there is room to count one more value."""
    return not common.by_time or has_room(common.counts, 1)


@njit(cache=True, **INLINED)
def tick(common: Common, on: int) -> int:
    """Count one more value; return its time: its `on` in a time window, otherwise its number."""
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
    """Advance the clock without a value."""
    common.clock[NEWEST] = now
    expire(common.counts, horizon(now, common.length))


@njit(cache=True, **INLINED)
def window_size(common: Common) -> float:
    """Return the number of values in the window: exact if the retention is a count, otherwise estimated."""
    if common.by_time:
        return float(estimate(common.counts))
    return float(min(common.clock[SEEN], common.length))


@njit(cache=True, **INLINED)
def answer(common: Common) -> float:
    """Return the estimate for the window; NaN if the sample has too few items."""
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
    if n < 2.0 or window_size(common) < 2.0:  # with replacement, all slots may hold the only value
        return np.nan
    variance = spread / (n - 1.0)
    return float(np.sqrt(variance)) if what == STDDEV else float(variance)


@njit(cache=True, **INLINED)
def lags(common: Common, due: Due) -> bool:
    """Return whether the clock must advance before the answer that is due."""
    return bool(due.moments.size and due.moments[due.answered[0]] != common.clock[NEWEST])


@njit(cache=True, **INLINED)
def give_answer(common: Common, due: Due) -> None:
    """Write the estimate as the answer that is due."""
    estimate = answer(common)
    give(due, estimate, min(common.slots.cursors[SIZE], np.int64(window_size(common))))
