"""Panes: the window in pieces that are aggregated once (thesis, section 4.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.checks import check_every
from windrow.synopses.costs import Complexity
from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at
from windrow.synopses.exact.batch_ring import BatchRing
from windrow.synopses.exact.bulk import sum_up
from windrow.synopses.exact.loop import MOVES, Moves
from windrow.synopses.exact.ring import HEAD, SMALLEST, TAIL
from windrow.synopses.exact.stacks import BACK, ZERO, both, partials_are_full, pop
from windrow.synopses.jit import horizon

HELD, LENGTH, OPEN_PANE, OPEN_SIZE = 3, 4, 5, 6
"""Cursors: values in closed panes, the length of a pane, the open pane, and values in it."""
OPEN = 2
"""Row of states: that of the open pane."""


class PaneStacks(NamedTuple):
    """One partial aggregate per closed pane, in two stacks, and that of the open pane.

    By time, pane p holds the values after `p * length`, up to `(p + 1) * length`. The first value after it closes it.
    Each pane has its number and size. By count, panes are consecutive and close when full.
    """

    panes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    partials: npt.NDArray[Any]
    numbers: npt.NDArray[Any]
    cursors: npt.NDArray[np.int64]


def _leaves(window: Any, span: Any, now: Any) -> Any:
    """Return whether a part of the oldest pane has left the window; panes leave as a whole."""
    cursors = window.cursors
    if not span.timed:
        return cursors[HELD] + cursors[OPEN_SIZE] >= span.length
    head = cursors[HEAD]
    if head < cursors[TAIL]:
        oldest = window.panes[head & (window.panes.size - 1)]
    elif cursors[OPEN_SIZE]:
        oldest = cursors[OPEN_PANE]
    else:
        return False
    length = cursors[LENGTH]
    if oldest < 0:
        # The start of the pane may exceed 64 bits; its end does not.
        return (oldest + 1) * length < horizon(now, span.length - length)
    return oldest * length < horizon(now, span.length)


def _evict(tag: Any, window: Any) -> None:
    cursors = window.cursors
    head = cursors[HEAD]
    if head < cursors[TAIL]:
        cursors[HELD] -= window.sizes[head & (window.sizes.size - 1)] if window.sizes.size else cursors[LENGTH]
        pop(tag, window)
    else:
        _open(tag, window)


@move
def _open(tag: Any, window: Any) -> None:
    """Start an empty pane."""
    window.cursors[OPEN_SIZE] = 0
    put_state(tag, window.numbers, OPEN, state_at(tag, window.numbers, ZERO))


@move
def _close(tag: Any, window: Any) -> None:
    """Push the open pane onto the back stack and start an empty one."""
    cursors, numbers, partials = window.cursors, window.numbers, window.partials
    tail = cursors[TAIL]
    place = tail & (partials.shape[0] - 1)
    if window.sizes.size:
        window.panes[place] = cursors[OPEN_PANE]
        window.sizes[place] = cursors[OPEN_SIZE]
    whole = state_at(tag, numbers, OPEN)
    put_state(tag, partials, place, whole)
    put_state(tag, numbers, BACK, merged(tag, numbers, state_at(tag, numbers, BACK), whole))
    cursors[HELD] += cursors[OPEN_SIZE]
    cursors[TAIL] = tail + 1
    _open(tag, window)


def _insert(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    cursors, numbers = window.cursors, window.numbers
    if span.timed:
        pane = (now - 1) // cursors[LENGTH]
        if cursors[OPEN_SIZE] and pane != cursors[OPEN_PANE]:
            _close(tag, window)
        cursors[OPEN_PANE] = pane
    cursors[OPEN_SIZE] += 1
    put_state(tag, numbers, OPEN, added(tag, numbers, state_at(tag, numbers, OPEN), x))
    if not span.timed and cursors[OPEN_SIZE] == cursors[LENGTH]:
        _close(tag, window)


def _answer(tag: Any, window: Any) -> Any:
    return merged(tag, window.numbers, both(tag, window), state_at(tag, window.numbers, OPEN))


def _size(window: Any) -> Any:
    return window.cursors[HELD] + window.cursors[OPEN_SIZE]


MOVES[PaneStacks] = Moves(_leaves, _evict, partials_are_full, _insert, _answer, _size)


class Panes(BatchRing):
    """A synopsis with one partial aggregate per pane, where panes divide `every` values, or `every` of time.

    The length of a pane is the greatest common divisor of `every` and the retention. Answers are exact where a pane
    ends: after every `every`-th value, or where the newest `on` is a multiple of `every`. In between, the oldest pane
    has left as a whole: up to one pane of values is missing, and no expired value is counted. The panes are in two
    stacks, so an answer takes two merges, regardless of their number. With a retention by count, a batch is processed
    as a whole if all answers are due where panes end. With short panes, this is several times faster.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Panes, Retention
    >>> window = Panes(wr.mean("speed"), Retention(8), every=4)
    >>> window.roll(np.arange(12), np.array([8.0, 10, 6, 4, 7, 11, 2, 1, 3, 12, 5, 9]), every=4)
    array([7.   , 6.125, 6.25 ])
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.4"
    time: ClassVar[str] = "O(1) per value, amortised; O(1) per answer"
    space: ClassVar[str] = "one partial per pane"
    error: ClassVar[str] = "none where a pane ends; in between up to one pane of values is missing"
    rings: ClassVar[tuple[str, ...]] = ("panes", "sizes", "partials")
    positions: ClassVar[int] = 3
    version: ClassVar[int] = 3

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "per_P"), ("one",), ("one", "room_panes"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        integral: bool = False,
        every: int = 1,
    ) -> None:
        check_every(every)
        self.every = int(every)
        super().__init__(aggregate, retention, accuracy, seed=seed, integral=integral)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "every": self.every}

    def check(self, window: Any) -> None:
        """Raise if the cursors of a saved window are out of range, or if sizes do not match its panes."""
        super().check(window)
        head, tail = (int(cursor) for cursor in window.cursors[:2])
        held, length, _, opened = (int(cursor) for cursor in window.cursors[HELD:])
        check_that(length == self.empty().cursors[LENGTH], f"panes of {self.empty().cursors[LENGTH]}, got {length}")
        if self.span.timed:
            sizes = window.sizes[np.arange(head, tail) & (len(window.sizes) - 1)]
            check_that((sizes > 0).all() and held == sizes.sum(), "as many values as its panes have")
            check_that(opened >= 0, "no fewer than 0 values in the open pane")
        else:
            check_that(held == length * (tail - head) and 0 <= opened < length, "as many values as its panes have")

    def empty(self) -> PaneStacks:
        """Return an empty window."""
        cursors = np.zeros(7, np.int64)
        cursors[LENGTH] = math.gcd(self.every, self.span.length)
        times = np.empty((2, SMALLEST if self.span.timed else 0), np.int64)
        partials = np.empty((SMALLEST, self.zero.shape[1]), self.dtype)
        return PaneStacks(times[0], times[1], partials, np.repeat(self.zero, 3, axis=0), cursors)

    def suits(self, n: int, every: int) -> bool:
        """Return whether a batch is processed as a whole: it fills a pane, and answers are due where panes end."""
        pane = int(self.window.cursors[LENGTH])
        at_ends = every % pane == 0 and not (every and self.window.cursors[OPEN_SIZE])
        return super().suits(n, every) and n >= pane and at_ends

    @property
    def held(self) -> int:
        """The number of values in the window."""
        return int(self.window.cursors[HELD] + self.window.cursors[OPEN_SIZE])

    def unstack(self, stacks: PaneStacks) -> None:
        """Resume from two stacks of panes, all of the same length."""
        cursors = stacks.cursors
        cursors[HELD] = (cursors[TAIL] - cursors[HEAD]) * cursors[LENGTH]

    def _take_whole(self, x: Array, every: int) -> Array:
        """Complete the open pane, add whole panes, then add the remaining values to a new one."""
        pane = int(self.window.cursors[LENGTH])
        begin = min(-self.held % pane, x.size)
        panes = (x.size - begin) // pane
        end = begin + panes * pane
        self._one_by_one(x[:begin])
        results = self._take(self._summed_up(x[begin:end], pane), self.span.length // pane, -(-every // pane))
        self._one_by_one(x[end:])
        return results

    def _summed_up(self, x: Array, pane: int) -> Array:
        """Return the states of whole panes, or the values themselves if each is a pane."""
        if pane == 1:
            return x
        states = np.empty((x.size // pane, self.zero.shape[1]), self.dtype)
        self.compiled(sum_up)(self._tag, x, pane, states)
        return states

    def _one_by_one(self, x: Array) -> None:
        if x.size:
            super(BatchRing, self)._take_in(np.zeros(x.size, np.int64), x)
