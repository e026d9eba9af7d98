"""Reservoir sampling by panes: one reservoir per part of the stream, merged on query for the window.

Vitter, "Random sampling with a reservoir"; Li, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))";
the thesis' section 4.5.3, which leaves the merge open. A pane is a fixed length of the stream, by count or by time. Its
reservoir is a sample without replacement of its values; the number of values skipped between two that enter is drawn at
once. A merge draws how many of `size` items come from each pane, by the hypergeometric distribution, as in a sample of
the whole; then it draws that many at random from the pane's reservoir.

A part of the oldest pane may have left the window. It takes part in the merge as a whole, and then the items that have
left are dropped: the rest of a sample of more than the window is a smaller sample of the window. So the sample has
`size` items when the window starts with a pane, and in between fewer, by less than a pane's share. A pane whose
reservoir holds all of its values takes part only with those in the window, and none are lost.

The draws of a merge depend only on the seed and the number of values so far, so a query changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Retention, check_whole
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.jit import horizon
from windrow.synopses.samples.base import Sample
from windrow.synopses.samples.check import check_rings
from windrow.synopses.samples.random import Random, below, failures, scramble, uniform
from windrow.synopses.samples.slots import drop_item, put_item
from windrow.synopses.samples.window import NEWEST, SEEN, Common, can_tick, give_answer, go_on, lags, tick

FIRST, HELD = range(2)
"""Cursors: the place of the oldest pane, and the number of panes."""


class Panes(NamedTuple):
    """The panes in a ring: per pane its number, its number of values, the newest time, and its reservoir."""

    number: Array
    elements: Array
    newest: Array
    entering: Array
    """The number of the next value of the pane that enters."""
    threshold: Array
    """The largest random key among the items, as if each value had a key."""
    stamp: Array
    value: Array
    cursors: Array
    scratch: Array


@njit(cache=True, **INLINED)
def _drop(panes: Panes, moment: int, length: int) -> None:
    """Drop the panes that have left the window."""
    cursors, ring = panes.cursors, panes.number.size
    while cursors[HELD] and panes.newest[cursors[FIRST]] <= horizon(moment, length):
        cursors[FIRST] = (cursors[FIRST] + 1) % ring
        cursors[HELD] -= 1


@njit(cache=True, **INLINED)
def _open(panes: Panes, number: int) -> int:
    """Return the place of the pane with this number, opening it if it is new."""
    cursors, ring = panes.cursors, panes.number.size
    last = (cursors[FIRST] + cursors[HELD] - 1 + ring) % ring
    if cursors[HELD] and panes.number[last] == number:
        return int(last)
    last = (last + 1) % ring
    cursors[HELD] += 1
    panes.number[last], panes.elements[last], panes.entering[last], panes.threshold[last] = number, 0, 0, 1.0
    return int(last)


@njit(cache=True, **INLINED)
def _pass_over(panes: Panes, random: Random, pane: int) -> None:
    """Draw which value of a pane enters its full reservoir next."""
    panes.threshold[pane] *= np.exp(np.log(uniform(random)) / panes.stamp.shape[1])
    panes.entering[pane] = panes.elements[pane] + failures(random, panes.threshold[pane])


@njit(cache=True, **INLINED)
def _take(panes: Panes, random: Random, pane: int, moment: int, x: float) -> None:
    """Add one value to a pane."""
    size = panes.stamp.shape[1]
    i = panes.elements[pane]
    panes.elements[pane] += 1
    panes.newest[pane] = moment
    if i < size:
        panes.stamp[pane, i], panes.value[pane, i] = moment, x
        if i == size - 1:
            _pass_over(panes, random, pane)
    elif i == panes.entering[pane]:
        place = below(random, size)
        panes.stamp[pane, place], panes.value[pane, place] = moment, x
        _pass_over(panes, random, pane)


@njit(cache=True, **INLINED)
def hypergeometric(random: Random, marked: int, others: int, draws: int) -> int:
    """Return how many of `draws` without replacement from `marked + others` are marked."""
    drawn = 0
    for _ in range(draws):
        if uniform(random) * (marked + others) < marked:
            drawn += 1
            marked -= 1
        else:
            others -= 1
    return drawn


@njit(cache=True, **INLINED)
def _list_items(panes: Panes, pane: int, out: int) -> int:
    """List the places of the items with which a pane takes part in a merge; return how many there are."""
    elements, size = panes.elements[pane], panes.stamp.shape[1]
    items = 0
    for i in range(min(elements, size)):
        if elements > size or panes.stamp[pane, i] > out:
            panes.scratch[items] = i
            items += 1
    return items


@njit(cache=True, **WITHOUT_COUNTING)
def _merge(panes: Panes, common: Common, random: Random) -> None:
    """Make the items of the sample a merge of all reservoirs."""
    slots, cursors, ring, size = common.slots, panes.cursors, panes.number.size, panes.stamp.shape[1]
    out = horizon(common.clock[NEWEST], common.length)
    left = 0
    for j in range(cursors[HELD]):
        pane = (cursors[FIRST] + j) % ring
        items = _list_items(panes, pane, out)
        left += panes.elements[pane] if panes.elements[pane] > size else items
    missing, put = min(slots.values.size, left), 0
    for j in range(cursors[HELD]):
        pane = (cursors[FIRST] + j) % ring
        items = _list_items(panes, pane, out)
        elements = panes.elements[pane] if panes.elements[pane] > size else items
        left -= elements
        drawn = hypergeometric(random, elements, left, missing)
        missing -= drawn
        for taken in range(drawn):
            at = taken + below(random, items - taken)
            i = panes.scratch[at]
            panes.scratch[at] = panes.scratch[taken]
            if panes.stamp[pane, i] > out:
                put_item(slots, put, panes.value[pane, i])
                put += 1
    for slot in range(put, slots.values.size):
        if slots.filled[slot]:
            drop_item(slots, slot)


@njit(cache=True, **WITHOUT_COUNTING)
def _refresh(panes: Panes, common: Common, random: Random) -> None:
    """Recompute the items of the sample by a merge of the current reservoirs."""
    random[0] = scramble(common.random[0] ^ np.uint64(common.clock[SEEN]))
    _merge(panes, common, random)


@njit(cache=True, **WITHOUT_COUNTING)
def _advance(panes: Panes, common: Common, now: int) -> None:
    go_on(common, now)
    _drop(panes, now, common.length)


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(
    panes: Panes,
    common: Common,
    random: Random,
    span: int,
    on: Array,
    x: Array,
    due: Due,
    at: int,
) -> int:
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if lags(common, due):
                _advance(panes, common, due.moments[due.answered[0]])
            _refresh(panes, common, random)
            give_answer(common, due)
        if i == on.size or not can_tick(common):
            return i
        moment = tick(common, on[i])
        _drop(panes, moment, common.length)
        pane = _open(panes, (moment - 1) // span)
        _take(panes, common.random, pane, moment, x[i])
    return int(on.size)


class PaneReservoirs(Sample):
    """A sample without replacement of any window, merged from one reservoir per pane.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample; each pane has a reservoir of `size` items.
    panes
        The number of panes per window.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = PaneReservoirs(Mean("speed"), Retention(10_000), Accuracy(0.1, 0.01), seed=1)
    >>> sample.update(np.arange(25_000), np.arange(25_000.0))
    >>> len(sample.items()), bool(sample.items().min() >= 15_000)
    (997, True)
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.3"
    time: ClassVar[str] = "O(1) per value, O(panes·k) per answer"
    space: ClassVar[str] = "(panes + 2)·k items"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "enters"), ("one", "k", "m", "in_panes", "in_panes_log"), ("one", "k", "in_panes"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        size: int | None = None,
        panes: int = 8,
    ) -> None:
        self.panes = check_whole("panes", panes, 1)
        self.span = -(-int(retention.length) // self.panes)
        super().__init__(aggregate, retention, accuracy, seed=seed, size=size)
        self._draws = np.zeros(1, np.uint64)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "panes": self.panes}

    def _empty(self) -> Panes:
        ring, size = self.panes + 2, self.size if self.by_time else min(self.size, self.span)
        number, elements, newest, entering = np.zeros((4, ring), np.int64)
        return Panes(
            number,
            elements,
            newest,
            entering,
            np.ones(ring),
            np.zeros((ring, size), np.int64),
            np.zeros((ring, size)),
            np.zeros(2, np.int64),
            np.zeros(size, np.int64),
        )

    def _check_sample(self, sample: Panes, filled: Array, clock: Array) -> None:
        (first, held), ring, seen = sample.cursors.tolist(), sample.number.size, int(clock[SEEN])
        check_rings(sample.cursors[[FIRST]], sample.cursors[[HELD]], ring, full=True)
        panes = (first + np.arange(held)) % ring
        number, elements, newest = sample.number[panes], sample.elements[panes], sample.newest[panes]
        check_that((number[1:] > number[:-1]).all(), "panes in order")
        check_that(((newest - 1) // self.span == number).all(), "the newest value of each pane")
        check_that((newest <= clock[NEWEST]).all(), f"values up to {clock[NEWEST]}")
        check_that((elements > 0).all() and sum(elements.tolist()) <= seen, f"panes of {seen} values at most")
        if not self.by_time:
            check_that((elements == newest - number * self.span).all(), "all values of each pane")
            check_that(bool(held) == bool(seen) and (newest[-1:] == seen).all(), f"panes up to value {seen}")

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.sample, self.common, self._draws, self.span, *elements, due, at))
