"""Bounded-space priority sampling: a sample without replacement of any window, in space for twice its size.

Gemulla, Lehner, "Sampling time-based sliding windows in bounded space"; the thesis' section 4.5.2. Every value gets a
random priority. The candidates are at most `size` values of the window, those with the highest priorities among the
values that arrived while there was a place for them. Candidates that leave the window stay for one more window length
as tests: values that arrived in their time with a lower priority may have been rejected because of them. The sample is
the candidates among the `size` highest priorities of candidates and tests together. It has at most `size` items,
possibly none.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.jit import LEAST, horizon
from windrow.synopses.samples.base import Sample
from windrow.synopses.samples.check import check_links
from windrow.synopses.samples.random import uniform
from windrow.synopses.samples.slots import drop_item, put_item
from windrow.synopses.samples.sorting import select
from windrow.synopses.samples.window import Common, can_tick, give_answer, go_on, lags, tick

HELD, OLDEST, NEWEST = range(3)
"""Cursors of a set: the number of values, the place of the oldest and of the newest (-1: none)."""


class Ranked(NamedTuple):
    """A set of values in numbered places, linked in time order, and in a heap with the lowest priority on top.

    The part of the heap past its end lists the free places.
    """

    stamp: Array
    value: Array
    priority: Array
    older: Array
    newer: Array
    heap: Array
    rank: Array
    """The position in the heap of the value at each place."""
    cursors: Array

    @classmethod
    def make(cls, size: int) -> Ranked:
        """Return an empty set with room for `size` values."""
        whole = np.zeros((4, size), np.int64)
        places = np.arange(size)
        return cls(
            whole[0], np.zeros(size), np.zeros(size), whole[1], whole[2], places, whole[3], np.array([0, -1, -1])
        )


class Sets(NamedTuple):
    """Candidates and tests, in this order, and whether they have changed since the sample was last computed."""

    stamp: Array
    value: Array
    priority: Array
    older: Array
    newer: Array
    heap: Array
    rank: Array
    cursors: Array
    changed: Array
    scratch: Array


@njit(cache=True, **INLINED)
def _set_heap(s: Ranked, at: int, place: int) -> None:
    s.heap[at] = place
    s.rank[place] = at


@njit(cache=True, **INLINED)
def _rise(s: Ranked, at: int) -> int:
    place = s.heap[at]
    while at and s.priority[s.heap[(at - 1) // 2]] > s.priority[place]:
        _set_heap(s, at, s.heap[(at - 1) // 2])
        at = (at - 1) // 2
    _set_heap(s, at, place)
    return at


@njit(cache=True, **INLINED)
def _sink(s: Ranked, at: int) -> None:
    place, held = s.heap[at], s.cursors[HELD]
    while 2 * at + 1 < held:
        child = 2 * at + 1
        if child + 1 < held and s.priority[s.heap[child + 1]] < s.priority[s.heap[child]]:
            child += 1
        if s.priority[s.heap[child]] >= s.priority[place]:
            break
        _set_heap(s, at, s.heap[child])
        at = child
    _set_heap(s, at, place)


@njit(cache=True, **INLINED)
def _add(s: Ranked, moment: int, x: float, priority: float) -> None:
    """Add the newest value to a set that has room for it."""
    at, newest = s.cursors[HELD], s.cursors[NEWEST]
    place = s.heap[at]
    s.stamp[place], s.value[place], s.priority[place] = moment, x, priority
    s.older[place], s.newer[place] = newest, -1
    if newest >= 0:
        s.newer[newest] = place
    else:
        s.cursors[OLDEST] = place
    s.cursors[NEWEST] = place
    s.cursors[HELD] += 1
    _rise(s, at)


@njit(cache=True, **INLINED)
def _remove(s: Ranked, place: int) -> None:
    """Remove the value at a place; its fields stay readable until the next one is added."""
    older, newer = s.older[place], s.newer[place]
    if older >= 0:
        s.newer[older] = newer
    else:
        s.cursors[OLDEST] = newer
    if newer >= 0:
        s.older[newer] = older
    else:
        s.cursors[NEWEST] = older
    s.cursors[HELD] -= 1
    at, end = s.rank[place], s.cursors[HELD]
    last = s.heap[end]
    _set_heap(s, end, place)
    if at < end:
        _set_heap(s, at, last)
        _sink(s, _rise(s, at))


@njit(cache=True, **INLINED)
def _offer(s: Ranked, moment: int, x: float, priority: float) -> int:
    """Add a value if there is room, or instead of one of lower priority; return its place (-1: none)."""
    if s.cursors[HELD] == s.heap.size:
        lowest = s.heap[0]
        if priority <= s.priority[lowest]:
            return -1
        _remove(s, lowest)
    _add(s, moment, x, priority)
    return int(s.cursors[NEWEST])


@njit(cache=True, **INLINED)
def _expire(candidates: Ranked, tests: Ranked, common: Common, moment: int) -> bool:
    """Drop the tests that left the window a length ago, and turn the candidates that have left since into tests.

    All tests were candidates at the same time, a length ago, so there is always room for them. This requires dropping
    the expired ones first: if one of them blocked a new test, the sample would be biased.
    """
    changed = False
    out = horizon(moment, common.length)
    doubly_out = horizon(out, common.length)
    while tests.cursors[OLDEST] >= 0 and tests.stamp[tests.cursors[OLDEST]] <= doubly_out:
        _remove(tests, tests.cursors[OLDEST])
        changed = True
    while candidates.cursors[OLDEST] >= 0 and candidates.stamp[candidates.cursors[OLDEST]] <= out:
        place = candidates.cursors[OLDEST]
        _remove(candidates, place)
        if common.slots.filled[place]:
            drop_item(common.slots, place)
        if candidates.stamp[place] > doubly_out:
            _add(tests, candidates.stamp[place], candidates.value[place], candidates.priority[place])
        changed = True
    return changed


@njit(cache=True, **WITHOUT_COUNTING)
def _report(candidates: Ranked, tests: Ranked, scratch: Array, common: Common) -> None:
    """Make the sample the candidates that are among the highest priorities of candidates and tests together."""
    c, t, size = candidates.cursors[HELD], tests.cursors[HELD], candidates.heap.size
    least = 0.0
    if c + t > size:
        for j in range(c):
            scratch[j] = candidates.priority[candidates.heap[j]]
        for j in range(t):
            scratch[c + j] = tests.priority[tests.heap[j]]
        least = select(scratch, c + t, c + t - size)
    for j in range(c):
        place = candidates.heap[j]
        reported = candidates.priority[place] >= least
        if reported and not common.slots.filled[place]:
            put_item(common.slots, place, candidates.value[place])
        elif common.slots.filled[place] and not reported:
            drop_item(common.slots, place)


@njit(cache=True, **WITHOUT_COUNTING)
def _refresh(candidates: Ranked, tests: Ranked, changed: Array, scratch: Array, common: Common) -> None:
    """Recompute the items of the sample if anything has changed."""
    if changed[0]:
        _report(candidates, tests, scratch, common)
        changed[0] = 0


@njit(cache=True, **WITHOUT_COUNTING)
def _advance(candidates: Ranked, tests: Ranked, changed: Array, common: Common, now: int) -> None:
    go_on(common, now)
    if _expire(candidates, tests, common, now):
        changed[0] = 1


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(
    candidates: Ranked,
    tests: Ranked,
    changed: Array,
    scratch: Array,
    common: Common,
    on: Array,
    x: Array,
    due: Due,
    at: int,
) -> int:
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if lags(common, due):
                _advance(candidates, tests, changed, common, due.moments[due.answered[0]])
            _refresh(candidates, tests, changed, scratch, common)
            give_answer(common, due)
        if i == on.size or not can_tick(common):
            return i
        moment = tick(common, on[i])
        if _expire(candidates, tests, common, moment):
            changed[0] = 1
        place = _offer(candidates, moment, x[i], uniform(common.random))
        if place >= 0:
            # The place may have held an item of the sample, which is now gone.
            if common.slots.filled[place]:
                drop_item(common.slots, place)
            changed[0] = 1
    return int(on.size)


class BoundedPrioritySample(Sample):
    """A sample without replacement of any window, of at most `size` items, possibly none.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample. `estimate` returns the number of items along with the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = BoundedPrioritySample(
    ...     Mean("speed"), Retention(60, "time"), Accuracy(0.1, 0.01), size=20
    ... )
    >>> sample.update(np.arange(1000) // 3, np.full(1000, 50.0))
    >>> sample.estimate()
    Estimate(value=50.0, size=11)
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.2"
    time: ClassVar[str] = "O(log k) per value, O(k) per answer"
    space: ClassVar[str] = "2k items"
    error: ClassVar[str] = "as of k items, but there may be fewer, or none"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_k", "enters_log"), ("one", "m", "m_shifted", "m_log_m"), ("one", "k"))

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Return why the error is not guaranteed: the size of the sample is not."""
        return "it may have fewer items than its error takes, or none"

    def _empty(self) -> Sets:
        both = [np.stack(pair) for pair in zip(Ranked.make(self.size), Ranked.make(self.size), strict=True)]
        return Sets._make([*both, np.zeros(1, np.int64), np.zeros(2 * self.size)])

    def _parts(self) -> tuple[Ranked, Ranked, Array, Array, Common]:
        candidates, tests = (Ranked(*(array[j] for array in self.sample[:-2])) for j in (0, 1))
        return candidates, tests, self.sample.changed, self.sample.scratch, self.common

    def _check_sample(self, sample: Sets, filled: Array, clock: Array) -> None:
        candidates, tests = (Ranked(*(array[j] for array in sample[:-2])) for j in (0, 1))
        for ranked in (candidates, tests):
            _check_ranked(ranked)
        members = np.zeros(self.size, np.bool_)
        members[candidates.heap[: candidates.cursors[HELD]]] = True
        check_that(not (filled & ~members).any(), "items that are candidates")
        _check_room(candidates, tests, self.length)

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(*self._parts(), *elements, due, at))


def _check_ranked(s: Ranked) -> None:
    """Raise unless the heap and the links of a saved set hold each of its values once."""
    size, (held, oldest, newest) = s.heap.size, s.cursors.tolist()
    check_that(0 <= held <= size, f"at most {size} values, got {held}")
    check_that((np.sort(s.heap) == np.arange(size)).all(), "each place once in the heap")
    members = s.heap[:held]
    check_that((s.rank[members] == np.arange(held)).all(), "the place in the heap of each value")
    chance = s.priority[members]
    check_that(((chance > 0) & (chance < 1)).all(), "priorities from 0 to 1")  # NaN would never be selected
    check_links(s.older, s.newer, oldest, newest, members)


def _check_room(candidates: Ranked, tests: Ranked, length: int) -> None:
    """Raise for sets of which more values would be tests at a time than there is room for."""
    became = np.sort(candidates.stamp[candidates.heap[: candidates.cursors[HELD]]])
    every = np.sort(np.concatenate([tests.stamp[tests.heap[: tests.cursors[HELD]]], became]))
    out = np.where(became >= LEAST + length, became - length, LEAST)
    together = np.searchsorted(every, became, "right") - np.searchsorted(every, out, "right")
    most = int(together.max(initial=0))
    check_that(most <= tests.heap.size, f"at most {tests.heap.size} tests at a time, got {most}")
