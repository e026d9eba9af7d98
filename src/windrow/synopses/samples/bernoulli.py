"""Bernoulli sampling over a window: each value is in the sample with the same probability, independently of all others.

The thesis' section 4.5.1. The number of values skipped until the next one is taken is drawn at once, so a skipped value
costs almost nothing. Items leave the sample when they leave the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.errors import SpecError
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Retention, Synopsis
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.jit import horizon
from windrow.synopses.samples.base import Sample, check_probability, is_quantile
from windrow.synopses.samples.check import check_filled, check_rings
from windrow.synopses.samples.random import failures
from windrow.synopses.samples.slots import Slots, drop_item, put_item
from windrow.synopses.samples.window import SEEN, Common, can_tick, give_answer, go_on, lags, tick

FIRST, HELD, NEXT = range(3)
"""Cursors: the slot of the oldest item, the number of items, and the number of the next value taken."""
ROOM = 64


class Ring(NamedTuple):
    """The times of the items, which are in the slots in ring order."""

    stamp: Array
    cursors: Array


@njit(cache=True, **INLINED)
def _drop(ring: Ring, common: Common, moment: int) -> None:
    """Drop the items that have left the window."""
    cursors = ring.cursors
    while cursors[HELD] and ring.stamp[cursors[FIRST]] <= horizon(moment, common.length):
        drop_item(common.slots, cursors[FIRST])
        cursors[FIRST] = (cursors[FIRST] + 1) % ring.stamp.size
        cursors[HELD] -= 1


@njit(cache=True, **WITHOUT_COUNTING)
def _advance(ring: Ring, common: Common, now: int) -> None:
    go_on(common, now)
    _drop(ring, common, now)


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(ring: Ring, common: Common, probability: float, on: Array, x: Array, due: Due, at: int) -> int:
    cursors, room = ring.cursors, ring.stamp.size
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if lags(common, due):
                _advance(ring, common, due.moments[due.answered[0]])
            give_answer(common, due)
        if i == on.size or cursors[HELD] == room or not can_tick(common):
            return i
        moment = tick(common, on[i])
        _drop(ring, common, moment)
        if common.clock[SEEN] > cursors[NEXT]:
            slot = (cursors[FIRST] + cursors[HELD]) % room
            ring.stamp[slot] = moment
            put_item(common.slots, slot, x[i])
            cursors[HELD] += 1
            cursors[NEXT] += 1 + failures(common.random, probability)
    return int(on.size)


class BernoulliSample(Sample):
    """A sample that contains each value of the window with the same probability, independently of all others.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample; `size` is the expected number of items.
    probability
        The probability of a value to be in the sample. By default, `size` divided by the number of values in the
        window. Required for a time window, whose number of values is not known in advance.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = BernoulliSample(Mean("speed"), Retention(10_000), Accuracy(0.1, 0.01), seed=1)
    >>> sample.update(np.arange(20_000), np.full(20_000, 7.0))
    >>> sample.query(), 800 < len(sample.items()) < 1200
    (7.0, True)
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.1"
    time: ClassVar[str] = "O(1) per value; O(log k) per answer and change since the last one, O(k) per quantile"
    space: ClassVar[str] = "k items, as expected"
    rings: ClassVar[tuple[str, ...]] = ("stamp",)
    needs_size: ClassVar[bool] = True

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space; a quantile sorts its items."""
        query = ("one", "m_shifted") if is_quantile(aggregate) else ("one",)
        return Complexity(("one", "enters", "enters_log"), query, ("one", "room_m"))

    @classmethod
    def example(cls, retention: Retention, **options: Any) -> Synopsis:
        """Return an empty example over a retention; over time, a probability replaces the number of values."""
        return super().example(retention, **({"probability": 0.5} if retention.kind == "time" else {}) | options)

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        size: int | None = None,
        probability: float | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed, size=size)
        if probability is None and self.by_time:
            raise SpecError(
                f"probability: the number of values in {retention} is unknown in advance; pass the probability that a "
                "value is in the sample"
            )
        if probability is None:
            self.probability = min(1.0, self.size / self.length)
        else:
            self.probability = check_probability("probability", probability)
        self.sample.cursors[NEXT] = failures(self.common.random, self.probability)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "probability": self.probability}

    def _empty(self) -> Ring:
        return Ring(np.zeros(ROOM, np.int64), np.zeros(3, np.int64))

    def _capacity(self) -> int:
        return ROOM

    def _slots(self, sample: Ring) -> int:
        return sample.stamp.size

    def _check_sample(self, sample: Ring, filled: Array, clock: Array) -> None:
        (first, held, following), room = sample.cursors.tolist(), sample.stamp.size
        check_rings(sample.cursors[[FIRST]], sample.cursors[[HELD]], room, full=True)
        check_filled(filled, (np.arange(room) - first) % room < held)
        check_that(following >= clock[SEEN], f"the next item after {clock[SEEN]} values, got {following}")

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.sample, self.common, self.probability, *elements, due, at))

    def _grow(self, elements: Elements, at: int) -> None:
        if not can_tick(self.common):
            super()._grow(elements, at)
            return
        stamp, (first, held, _) = self.sample.stamp, self.sample.cursors
        order = (first + np.arange(held)) % stamp.size
        room = 2 * stamp.size
        grown, values, filled = np.zeros(room, np.int64), np.zeros(room), np.zeros(room, np.bool_)
        grown[:held], values[:held], filled[:held] = stamp[order], self.common.slots.values[order], True
        self.sample.cursors[FIRST] = 0
        self.sample = self.sample._replace(stamp=grown)
        self.common = self.common._replace(slots=Slots.filled_with(values, filled, self._ordered))
