"""The base of rings of partials that process a batch as a whole if the retention is a count."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Array
from windrow.synopses.exact import bulk
from windrow.synopses.exact.loop import specialised
from windrow.synopses.exact.ring import HEAD, TAIL, capacity_for
from windrow.synopses.exact.stacks import PartialsRing


class BatchRing(PartialsRing):
    """A ring of partials that is, or can be viewed as, two stacks and can therefore process a batch as a whole."""

    def suits(self, n: int, every: int) -> bool:
        """Return whether a batch of `n` values, answered after every `every`-th or never, is processed as a whole."""
        return not self.span.timed

    def stacked(self) -> Any:
        """Return the window as two stacks; pass them to `unstack` after changing them."""
        return self.window

    def unstack(self, stacks: Any) -> None:
        """Resume from two stacks."""

    def _take_in(self, on: Array, x: Array) -> None:
        if self.suits(x.size, 0):
            self._take_whole(x, x.size + 1)
        else:
            super()._take_in(on, x)

    def _roll(self, on: Array, x: Array, every: int) -> Array:
        if not self.suits(x.size, every):
            return super()._roll(on, x, every)
        held, needs = self.held, self.aggregate.needs
        results = self._take_whole(x, every)
        short = (needs - 1 - held) // every if needs <= self.span.length else results.size
        if short > 0:
            results = results.astype(np.float64)
            results[:short] = np.nan
        return results

    @property
    def held(self) -> int:
        """The number of values in the window."""
        return int(self.window.cursors[TAIL] - self.window.cursors[HEAD])

    def _take_whole(self, x: Array, every: int) -> Array:
        """Add a batch and return the answer after every `every`-th value."""
        return self._take(x, self.span.length, every)

    def _take(self, x: Array, length: int, every: int) -> Array:
        """Add values, or states of panes, with room for the largest window they lead to."""
        cursors = self.window.cursors
        capacity = capacity_for(min(length, int(cursors[TAIL] - cursors[HEAD]) + len(x)))
        if capacity > len(self.window.partials):
            self.window = self._resized(self.window, capacity, int(cursors[HEAD]))
        answers = self._room(len(x) // every, sized=False)
        width = self.zero.shape[1]
        # Storing states of one or two numbers takes longer than answering from them.
        tiled = every == 1 and width > 2 and not self.integral
        tile = np.empty((2, width, bulk.TILE), self.dtype) if tiled else None
        stacks = self.stacked()
        self.compiled(bulk.roll_counted)(self._tag, stacks, length, x, every, tile, answers)
        self.unstack(stacks)
        if self.integral:
            self.aggregate.check(answers.states)
        return answers.results

    def compiled(self, loop: Any) -> Any:
        """Return a loop for this aggregate."""
        owner: Any = type(self.aggregate)
        return specialised(loop, owner)
