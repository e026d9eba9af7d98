"""Biased reservoir sampling: a sample that prefers recent values and needs to know nothing about the window.

Aggarwal, "On biased reservoir sampling in the presence of stream evolution"; the thesis' section 4.5.3. Every value
enters a reservoir of ceil(1 / (1 - exp(-λ))) places. With a probability equal to the filled fraction, it replaces a
random item, otherwise it takes a free place. A value of age a is thus in the reservoir with a probability of about
exp(-λ · a).

A reservoir with fewer places than λ requires admits each value with the ratio of the two sizes as its probability.

Items do not leave the reservoir when they leave the window. In a reservoir at least as large as the window, many items
are therefore from before it, which is why the thesis saw errors above eps (table 6.9). Windrow stores the times of the
items and ignores those that have left the window, unless `forget=False`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.errors import SpecError
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_indices
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.jit import horizon
from windrow.synopses.samples.base import Sample, is_quantile
from windrow.synopses.samples.check import check_links
from windrow.synopses.samples.random import below, uniform
from windrow.synopses.samples.slots import drop_item, put_item
from windrow.synopses.samples.window import Common, can_tick, give_answer, go_on, lags, tick

FILLED, OLDEST, NEWEST = range(3)
"""Cursors: places filled, and the oldest and newest item in the window (-1: none)."""


class Reservoir(NamedTuple):
    """The times of the items, and links between those in the window, in time order."""

    stamp: Array
    older: Array
    newer: Array
    cursors: Array


@njit(cache=True, **INLINED)
def _append(reservoir: Reservoir, place: int, moment: int) -> None:
    cursors = reservoir.cursors
    reservoir.stamp[place] = moment
    reservoir.older[place], reservoir.newer[place] = cursors[NEWEST], -1
    if cursors[NEWEST] >= 0:
        reservoir.newer[cursors[NEWEST]] = place
    else:
        cursors[OLDEST] = place
    cursors[NEWEST] = place


@njit(cache=True, **INLINED)
def _unlink(reservoir: Reservoir, place: int) -> None:
    cursors = reservoir.cursors
    older, newer = reservoir.older[place], reservoir.newer[place]
    if older >= 0:
        reservoir.newer[older] = newer
    else:
        cursors[OLDEST] = newer
    if newer >= 0:
        reservoir.older[newer] = older
    else:
        cursors[NEWEST] = older


@njit(cache=True, **INLINED)
def _enter(reservoir: Reservoir, common: Common, moment: int, x: float) -> None:
    """Add a value: it replaces the item at a random place if that is filled, otherwise it takes the next free one."""
    cursors = reservoir.cursors
    place = below(common.random, reservoir.stamp.size)
    if place >= cursors[FILLED]:
        place = cursors[FILLED]
        cursors[FILLED] += 1
    elif common.slots.filled[place]:
        _unlink(reservoir, place)
    _append(reservoir, place, moment)
    put_item(common.slots, place, x)


@njit(cache=True, **INLINED)
def _forget(reservoir: Reservoir, common: Common, moment: int) -> None:
    """Drop the items that have left the window."""
    cursors = reservoir.cursors
    while cursors[OLDEST] >= 0 and reservoir.stamp[cursors[OLDEST]] <= horizon(moment, common.length):
        drop_item(common.slots, cursors[OLDEST])
        _unlink(reservoir, cursors[OLDEST])


@njit(cache=True, **WITHOUT_COUNTING)
def _advance(reservoir: Reservoir, common: Common, forget: bool, now: int) -> None:
    go_on(common, now)
    if forget:
        _forget(reservoir, common, now)


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(
    reservoir: Reservoir,
    common: Common,
    admission: float,
    forget: bool,
    on: Array,
    x: Array,
    due: Due,
    at: int,
) -> int:
    for i in range(at, on.size + 1):
        while is_due(due, i):
            if lags(common, due):
                _advance(reservoir, common, forget, due.moments[due.answered[0]])
            give_answer(common, due)
        if i == on.size or not can_tick(common):
            return i
        moment = tick(common, on[i])
        if forget:
            _forget(reservoir, common, moment)
        if admission >= 1.0 or uniform(common.random) < admission:
            _enter(reservoir, common, moment, x[i])
    return int(on.size)


class BiasedReservoir(Sample):
    """A sample of the values in the window that prefers recent ones.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample; `size` is the number of places.
    rate
        λ: how fast values lose their chance to be in the sample. By default, so fast that the `size` places just
        suffice, about 1 / size. If given, there are ceil(1 / (1 - exp(-λ))) places, or `size` if that is fewer.
    forget
        Whether to ignore items that have left the window.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = BiasedReservoir(Mean("speed"), Retention(10_000), Accuracy(0.1, 0.01), rate=0.01)
    >>> sample.size
    101
    >>> sample.update(np.arange(20_000), np.full(20_000, 7.0))
    >>> sample.query()
    7.0
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.3"
    time: ClassVar[str] = "O(1) per value; O(log k) per answer and change since the last one, O(k) per quantile"
    space: ClassVar[str] = "k items"
    error: ClassVar[str] = "as of other samples if values do not depend on their age; no bound if they do"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space; a quantile sorts its items."""
        query = ("one", "m", "m_shifted", "all_shifted") if is_quantile(aggregate) else ("one",)
        return Complexity(("one", "log_k", "enters_log"), query, ("one", "k"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        size: int | None = None,
        rate: float | None = None,
        forget: bool = True,
    ) -> None:
        self.rate, self.forget, self.admission = rate, forget, 1.0
        if rate is None:
            super().__init__(aggregate, retention, accuracy, seed=seed, size=size)
            return
        capacity = capacity_for(rate)
        super().__init__(aggregate, retention, accuracy, seed=seed, size=min(size or capacity, capacity))
        self.admission = min(1.0, self.size * -math.expm1(-rate))

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "rate": self.rate, "forget": self.forget}

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Return why the error is not guaranteed: older values are underrepresented."""
        return "its error has no bound where values depend on their age"

    def _empty(self) -> Reservoir:
        stamp, older, newer = np.zeros((3, self.size), np.int64)
        return Reservoir(stamp, older, newer, np.array([0, -1, -1]))

    def _check_sample(self, sample: Reservoir, filled: Array, clock: Array) -> None:
        places, oldest, newest = sample.cursors.tolist()
        check_indices("filled places", sample.cursors[[FILLED]], self.size + 1)
        members = np.flatnonzero(filled)
        check_indices("places of items", members, places)
        check_links(sample.older, sample.newer, oldest, newest, members)

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.sample, self.common, self.admission, self.forget, *elements, due, at))


def capacity_for(rate: float) -> int:
    """Return the number of places of a reservoir whose items lose their chance at this rate.

    >>> capacity_for(0.5)
    3
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.floating) or not 1e-9 <= rate <= 1:
        raise SpecError(f"rate: expected a number from 1e-9 to 1, got {rate!r}")
    return math.ceil(1 / -math.expm1(-rate))
