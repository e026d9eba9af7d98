"""The two-stacks aggregator: amortised constant time for any aggregate, without ever subtracting."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windrow.synopses import bulk
from windrow.synopses.base import Instants, Numbers
from windrow.synopses.elements import check_every
from windrow.synopses.exact import Array
from windrow.synopses.ring import HEAD, TAIL, capacity_for
from windrow.synopses.rolling import specialised
from windrow.synopses.stacks import PartialsRing, Stacks


class TwoStacks(PartialsRing):
    """Keeps a partial aggregate an element, in two stacks that share one circular buffer.

    An element costs three merges at most, and an answer one; now and then an element costs as many as are in the
    window, when the stacks flip. Nothing is ever subtracted, so it suits any aggregate, and no rounding error outlives
    the elements it came from. A retention by count takes in a batch as a whole, which is several times as fast.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Retention, TwoStacks
    >>> window = TwoStacks(wr.max("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 9., 9., 4., 4.])
    """

    source: ClassVar[str] = "In-order sliding-window aggregation in worst-case constant time (2021), two-stacks lite"
    time: ClassVar[str] = "O(1) an element, amortised, at worst O(R); O(1) an answer"
    space: ClassVar[str] = "R + 1 partials"
    positions: ClassVar[int] = 3

    def empty(self) -> Any:
        """A window without elements."""
        return self.ring(Stacks, 2)

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        if self.span.timed:
            super().update(on, x)
        else:
            _, x = self._elements(on, x)
            self._take(x, x.size + 1)

    def roll(self, on: Instants, x: Numbers, every: int) -> Array:
        """Take in elements and answer after each `every` of them."""
        if self.span.timed:
            return super().roll(on, x, every)
        check_every(every)
        held, needs = self._held, self.aggregate.needs
        _, x = self._elements(on, x)
        results = self._take(x, int(every))
        short = (needs - 1 - held) // every if needs <= self.span.length else results.size
        if short > 0:
            results = results.astype(np.float64)
            results[:short] = np.nan
        return results

    @property
    def _held(self) -> int:
        return int(self.window.cursors[TAIL] - self.window.cursors[HEAD])

    def _take(self, x: Array, every: int) -> Array:
        """Take in a batch, in a ring with room for all that will be in it at a time."""
        capacity = capacity_for(min(self.span.length, self._held + x.size))
        if capacity > len(self.window.partials):
            self.window = self._resized(self.window, capacity, int(self.window.cursors[HEAD]))
        owner: Any = type(self.aggregate)
        answers = self._room(x.size // every)
        width = self.zero.shape[1]
        # To note states of one or two numbers takes longer than to answer from them.
        tiled = every == 1 and width > 2 and not self.integral
        tile = np.empty((2, width, bulk.TILE), self.dtype) if tiled else None
        loop = specialised(bulk.roll_counted, owner)
        loop(self._tag, self.window, self.span.length, x, every, tile, answers)
        if self.integral:
            self.aggregate.check(answers.states)
        return answers.results
