"""Priority sampling: a sample with replacement of any window, made of the values with the highest priorities.

Babcock, Datar, Motwani, "Sampling from a moving window over streaming data"; the thesis' section 4.5.2. Each slot is an
independent sample of one item: every value gets a random priority for it, and the item is the value with the highest
priority in the window. A slot stores the values that can still become the item, those without a later one of higher
priority. Their priorities fall from the oldest to the newest, and on average ln n of n values qualify.

Every slot processes every value, so a value costs as many random numbers as there are slots.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.synopses.base import Accuracy, Retention
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.jit import horizon
from windrow.synopses.samples.base import Sample, is_quantile, sample_size
from windrow.synopses.samples.chain import unrolled
from windrow.synopses.samples.check import check_filled, check_rings
from windrow.synopses.samples.random import uniform
from windrow.synopses.samples.slots import drop_item, put_item
from windrow.synopses.samples.window import Common, can_tick, give_answer, go_on, lags, tick

ROOM = 16


LONGEST_DRAWN, LARGEST_DRAWN = 10_000, 1_500
"""The largest windows and samples that are calibrated. Larger ones would take most of the time, and in theory the cost
per item and value is constant."""


class Stairs(NamedTuple):
    """The values per slot that can still become its item, in a ring, from the oldest to the newest."""

    stamp: Array
    value: Array
    priority: Array
    head: Array
    held: Array
    full: Array
    """Whether some slot has no more room."""


@njit(cache=True, **INLINED)
def _left(stairs: Stairs, slot: int, out: int) -> tuple[int, int]:
    """Return the place of the oldest value of a slot that is later than `out`, and how many there are."""
    room = stairs.stamp.shape[1]
    head, held = stairs.head[slot], stairs.held[slot]
    while held and stairs.stamp[slot, head] <= out:
        head = head + 1 if head + 1 < room else 0
        held -= 1
    return head, held


@njit(cache=True, **INLINED)
def _take(stairs: Stairs, common: Common, slot: int, moment: int, x: float) -> None:
    """Add one value to one slot."""
    room = stairs.stamp.shape[1]
    item = stairs.head[slot]
    head, held = _left(stairs, slot, horizon(moment, common.length))
    priority = uniform(common.random)
    end = head + held if head + held < room else head + held - room
    while held:
        last = end - 1 if end else room - 1
        if stairs.priority[slot, last] >= priority:
            break
        end = last
        held -= 1
    stairs.stamp[slot, end], stairs.value[slot, end], stairs.priority[slot, end] = moment, x, priority
    if held == 0 or head != item:
        put_item(common.slots, slot, stairs.value[slot, head])
    stairs.head[slot], stairs.held[slot] = head, held + 1
    if held + 1 == room:
        stairs.full[0] = 1


@njit(cache=True, **WITHOUT_COUNTING)
def _advance(stairs: Stairs, common: Common, now: int) -> None:
    go_on(common, now)
    for slot in range(stairs.head.size):
        head, held = _left(stairs, slot, horizon(now, common.length))
        if held == stairs.held[slot]:
            continue
        stairs.head[slot], stairs.held[slot] = head, held
        if held:
            put_item(common.slots, slot, stairs.value[slot, head])
        else:
            drop_item(common.slots, slot)


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(stairs: Stairs, common: Common, on: Array, x: Array, due: Due, at: int) -> int:
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if lags(common, due):
                _advance(stairs, common, due.moments[due.answered[0]])
            give_answer(common, due)
        if i == on.size or stairs.full[0] or not can_tick(common):
            return i
        moment = tick(common, on[i])
        for slot in range(stairs.head.size):
            _take(stairs, common, slot, moment, x[i])
    return int(on.size)


class PrioritySample(Sample):
    """A sample with replacement of any window, always of `size` items.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = PrioritySample(Mean("speed"), Retention(60, "time"), Accuracy(0.1, 0.01), size=20)
    >>> sample.update(np.arange(1000) // 3, np.arange(1000) // 3.0)
    >>> len(sample.items()), bool(sample.items().min() > 333 - 60)
    (20, True)
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.2"
    time: ClassVar[str] = (
        "O(k) per value, amortised; O(log k) per answer and change since the last one, O(k) per quantile"
    )
    space: ClassVar[str] = "O(k·log R) items, as expected"
    rings: ClassVar[tuple[str, ...]] = ("stamp", "value", "priority")

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space; a quantile sorts its items."""
        query = ("one", "k_shifted") if is_quantile(aggregate) else ("one",)
        return Complexity(("one", "k", "k_per_R_log"), query, ("one", "k", "k_log_R"))

    @classmethod
    def calibrates(cls, retention: Retention, accuracy: Accuracy) -> bool:
        """Return whether the window and the sample are small: each value draws again for every item of the sample."""
        return retention.length <= LONGEST_DRAWN and (not accuracy.delta or sample_size(accuracy) <= LARGEST_DRAWN)

    def _empty(self) -> Stairs:
        k = self.size
        return Stairs(
            np.zeros((k, ROOM), np.int64),
            np.zeros((k, ROOM)),
            np.zeros((k, ROOM)),
            np.zeros(k, np.int64),
            np.zeros(k, np.int64),
            np.zeros(1, np.int64),
        )

    def _check_sample(self, sample: Stairs, filled: Array, clock: Array) -> None:
        check_rings(sample.head, sample.held, sample.stamp.shape[1], full=bool(sample.full[0]))
        check_filled(filled, sample.held > 0)

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.sample, self.common, *elements, due, at))

    def _grow(self, elements: Elements, at: int) -> None:
        if not can_tick(self.common):
            super()._grow(elements, at)
            return
        grown = {
            name: unrolled(getattr(self.sample, name), self.sample.head) for name in ("stamp", "value", "priority")
        }
        self.sample = self.sample._replace(**grown)
        self.sample.head[:] = 0
        self.sample.full[0] = 0
