"""Biased reservoir sampling: a sample that prefers recent elements, and needs to know nothing about the window.

Aggarwal, "On biased reservoir sampling in the presence of stream evolution"; the thesis' section 4.5.3. Every element
enters a reservoir of ceil(1 / (1 - exp(-λ))) places. With a probability of the filled fraction of it, it takes the
place of a random item, else a free place. So an element of age a is in it with probability exp(-λ · a), about.

A reservoir of fewer places than λ asks for lets an element in only with the probability by which it is too small.

Nothing makes an item leave when it leaves the window, so a reservoir as large as the window, or larger, tells in good
part of elements that are no longer in it. That is why the thesis saw errors above eps (table 6.9). So the moments of
the items are kept, and those that have left the window are not told of, unless asked for by `forget=False`.
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
from windrow.state.checks import check_indices
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.exact.algebra import WITHOUT_COUNTING
from windrow.synopses.jit import INLINED, horizon
from windrow.synopses.samples.base import Sample
from windrow.synopses.samples.check import check_links
from windrow.synopses.samples.random import below, uniform
from windrow.synopses.samples.slots import drop_item, put_item
from windrow.synopses.samples.window import Common, can_tick, give_answer, go_on, lags, tick

FILLED, OLDEST, NEWEST = range(3)
"""The cursors: places filled, and the oldest and newest item in the window (-1: none)."""


class Reservoir(NamedTuple):
    """The moments of the items, and the links between those in the window, in the order of time."""

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
    """Let an element enter: a random place is taken if it is filled, else the next free one."""
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
                _advance(reservoir, common, forget, due.moments[due.given[0]])
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
    """A sample that prefers recent elements, of those in the window.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample; `size` is the number of places.
    rate
        λ: how fast elements lose their chance to be in the sample. Without it, so fast that the `size` places are just
        enough, about 1 / size. With it, there are ceil(1 / (1 - exp(-λ))) places, or `size` if that is fewer.
    forget
        Whether items that have left the window are no longer told of.

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
    time: ClassVar[str] = "O(1) an element; an answer O(log k) a change since the last, a quantile O(k)"
    space: ClassVar[str] = "k items"
    error: ClassVar[str] = "as of other samples if values do not depend on their age; no bound if they do"

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
        wanted = capacity_for(rate)
        super().__init__(aggregate, retention, accuracy, seed=seed, size=min(size or wanted, wanted))
        self.admission = min(1.0, self.size * -math.expm1(-rate))

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What a saved state must have been made with, to go on from it."""
        return {**super().arguments, "rate": self.rate, "forget": self.forget}

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Why the error is no bound: older elements are seldom in it."""
        return "its error has no bound where values depend on their age"

    def _empty(self) -> Reservoir:
        stamp, older, newer = np.zeros((3, self.size), np.int64)
        return Reservoir(stamp, older, newer, np.array([0, -1, -1]))

    def _check_kept(self, kept: Reservoir, filled: Array, clock: Array) -> None:
        places, oldest, newest = kept.cursors.tolist()
        check_indices("filled places", kept.cursors[[FILLED]], self.size + 1)
        members = np.flatnonzero(filled)
        check_indices("places of items", members, places)
        check_links(kept.older, kept.newer, oldest, newest, members)

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.kept, self.common, self.admission, self.forget, *elements, due, at))


def capacity_for(rate: float) -> int:
    """How many places a reservoir has whose items lose their chance at this rate.

    >>> capacity_for(0.5)
    3
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.floating) or not 1e-9 <= rate <= 1:
        raise SpecError(f"rate: {rate!r} must be a number from 1e-9 to 1")
    return math.ceil(1 / -math.expm1(-rate))
